/* Preloaded into the writer: calls on files below FAULTS_DIRECTORY fail.
 *
 *   FAULTS_PROCESS    only a program of this name (ulpscope)
 *   FAULTS_DIRECTORY  where the disk fails; without it nothing does
 *   FAULTS_CALL       the number of the call that fails, from 1; 0: none, but all are counted
 *   FAULTS_ERRNO      with this error; 0: a write is short, half of the requested bytes
 *   FAULTS_LASTS      1: every later call fails too
 *   FAULTS_COUNT      a file of eight bytes, for the number of calls so far
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char directory[PATH_MAX];
static long failing_call;
static int failure;
static int lasts;
static atomic_long own_calls;
static atomic_long* calls = &own_calls;

__attribute__((constructor)) static void begin(void) {
  const char* process = getenv("FAULTS_PROCESS");
  const char* below = getenv("FAULTS_DIRECTORY");
  if (!process || !below || strcmp(process, program_invocation_short_name) != 0) return;
  const char* call = getenv("FAULTS_CALL");
  const char* error = getenv("FAULTS_ERRNO");
  const char* persistence = getenv("FAULTS_LASTS");
  failing_call = call ? atol(call) : 0;
  failure = error ? atoi(error) : EIO;
  lasts = persistence && persistence[0] == '1';
  const char* count = getenv("FAULTS_COUNT");
  const int file = count ? open(count, O_RDWR | O_CLOEXEC) : -1;
  if (file >= 0) {
    void* memory = mmap(NULL, sizeof own_calls, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) calls = memory;
    close(file);
  }
  snprintf(directory, sizeof directory, "%s", below);
}

static int is_below(const char* path) {
  return directory[0] && strncmp(path, directory, strlen(directory)) == 0;
}

static int is_file_below(int descriptor) {
  char link[64];
  char path[PATH_MAX];
  if (!directory[0]) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return is_below(path);
}

/* Counts a call and says whether it is to fail. */
static int fails(void) {
  const long call = atomic_fetch_add(calls, 1) + 1;
  return failing_call != 0 && (call == failing_call || (lasts && call > failing_call));
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* What a write may do: all, fail with the error, or half of it. */
#define WRITE_LIKE(name, bytes, arguments, short_arguments) \
  do {                                                      \
    const int saved = errno;                                \
    if (is_file_below(descriptor) && fails()) {             \
      if (failure != 0) {                                   \
        errno = failure;                                    \
        return -1;                                          \
      }                                                     \
      errno = saved;                                        \
      if ((bytes) > 1) return NEXT(name) short_arguments;   \
    }                                                       \
    errno = saved;                                          \
    return NEXT(name) arguments;                            \
  } while (0)

ssize_t write(int descriptor, const void* data, size_t bytes) {
  WRITE_LIKE(write, bytes, (descriptor, data, bytes), (descriptor, data, bytes / 2));
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  WRITE_LIKE(pwrite, bytes, (descriptor, data, bytes, offset),
             (descriptor, data, bytes / 2, offset));
}

ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t offset) {
  WRITE_LIKE(pwrite64, bytes, (descriptor, data, bytes, offset),
             (descriptor, data, bytes / 2, offset));
}

ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  WRITE_LIKE(writev, count, (descriptor, parts, count), (descriptor, parts, count / 2));
}

/* What has no half: it is done or it fails. */
#define WHOLE(name, below, arguments)         \
  do {                                        \
    const int saved = errno;                  \
    if ((below) && fails() && failure != 0) { \
      errno = failure;                        \
      return -1;                              \
    }                                         \
    errno = saved;                            \
    return NEXT(name) arguments;              \
  } while (0)

int fsync(int descriptor) { WHOLE(fsync, is_file_below(descriptor), (descriptor)); }
int ftruncate(int descriptor, off_t size) {
  WHOLE(ftruncate, is_file_below(descriptor), (descriptor, size));
}
int ftruncate64(int descriptor, off64_t size) {
  WHOLE(ftruncate64, is_file_below(descriptor), (descriptor, size));
}
int rename(const char* from, const char* to) { WHOLE(rename, is_below(to), (from, to)); }
int unlink(const char* path) { WHOLE(unlink, is_below(path), (path)); }
int remove(const char* path) { WHOLE(remove, is_below(path), (path)); }
int mkdir(const char* path, mode_t mode) { WHOLE(mkdir, is_below(path), (path, mode)); }

/* Network file systems report failed earlier writes here; the descriptor is closed nevertheless. */
int close(int descriptor) {
  const int failed = is_file_below(descriptor) && fails() && failure != 0;
  const int result = NEXT(close)(descriptor);
  if (!failed) return result;
  errno = failure;
  return -1;
}

/* Only calls that create or write are counted: reading does not fail here. */
#define OPEN_LIKE(name)                               \
  mode_t mode = 0;                                    \
  if ((flags & O_CREAT) != 0) {                       \
    va_list arguments;                                \
    va_start(arguments, flags);                       \
    mode = va_arg(arguments, mode_t);                 \
    va_end(arguments);                                \
  }                                                   \
  const int writes = (flags & O_ACCMODE) != O_RDONLY; \
  WHOLE(name, writes&& is_below(path), (path, flags, mode))

int open(const char* path, int flags, ...) { OPEN_LIKE(open); }
int open64(const char* path, int flags, ...) { OPEN_LIKE(open64); }
