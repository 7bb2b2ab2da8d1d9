#include "progress.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace faults {
namespace {

Progress* map_progress() {
  const char* path = std::getenv("FAULTS_PROGRESS");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  const int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, flags, file, 0);
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<Progress*>(memory);
}

}  // namespace

Progress& progress() {
  static Progress* const mapped = map_progress();
  return *mapped;
}

void say(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  const auto end = static_cast<std::size_t>(std::min<int>(length, sizeof line - 2));
  line[end] = '\n';
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, line, end + 1);
}

}  // namespace faults
