#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/capture_library.h"
#include "preload/jumps.h"
#include "preload/seccomp_filters.h"
#include "ring/shut_out_file.h"

/* What such a filter forbids may end the process, and it cannot be queried before. */
static int is_under_filter_of_its_own(void) {
  const char* recorder = getenv("ULPSCOPE_SECCOMP_FILTERS");
  return recorder && ulpscope_seccomp_filters() > strtoul(recorder, NULL, 10);
}

/* Needs nothing but libc: it is loaded into every process of a recorded command. Where LibTorch is
 * mapped it brings in the capture library; elsewhere it does nothing. */
static void say_shut_out(const char* socket_path) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s" ULPSCOPE_SHUT_OUT_SUFFIX, socket_path);
  if (length <= 0 || (size_t)length >= sizeof path) return;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) close(file);
}

__attribute__((constructor)) static void enter(void) {
  const char* directory = getenv("ULPSCOPE_CAPTURE_LIBRARY");
  const char* socket_path = getenv("ULPSCOPE_SOCKET");
  if (!directory || !socket_path) return;
  if (ulpscope_torch_version().major == 0) return;
  if (is_under_filter_of_its_own()) {
    say_shut_out(socket_path);
    return;
  }
  void* capture = ulpscope_open_capture(directory);
  if (!capture) return;
  UlpscopeCaptureStart* start = (UlpscopeCaptureStart*)dlsym(capture, "ulpscope_capture_start");
  if (start) ulpscope_start_with_jumps(start, socket_path);
}
