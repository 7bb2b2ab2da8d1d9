#define _GNU_SOURCE
#include "preload/entry.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/capture_library.h"
#include "preload/jumps.h"
#include "preload/seccomp_filters.h"
#include "ring/shut_out_file.h"

static _Atomic(void*) recording_library;

/* What such a filter forbids may end the process, and it cannot be queried before. */
static int is_under_filter_of_its_own(void) {
  const char* recorder = getenv("ULPSCOPE_SECCOMP_FILTERS");
  return recorder && ulpscope_seccomp_filters() > strtoul(recorder, NULL, 10);
}

static void say_shut_out(const char* socket_path) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s" ULPSCOPE_SHUT_OUT_SUFFIX, socket_path);
  if (length <= 0 || (size_t)length >= sizeof path) return;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) close(file);
}

static void begin(void) {
  const char* directory = getenv("ULPSCOPE_CAPTURE_LIBRARY");
  const char* socket_path = getenv("ULPSCOPE_SOCKET");
  if (!directory || !socket_path) return;
  if (is_under_filter_of_its_own()) {
    say_shut_out(socket_path);
    return;
  }
  void* capture = ulpscope_open_capture(directory);
  if (!capture) return;
  UlpscopeCaptureStart* start = (UlpscopeCaptureStart*)dlsym(capture, "ulpscope_capture_start");
  if (start && ulpscope_start_with_jumps(start, socket_path) == 0)
    atomic_store(&recording_library, capture);
}

void ulpscope_begin_recording(void) {
  enum { not_begun, begins, has_begun };
  static atomic_int state = not_begun;
  static __thread int is_inside __attribute__((tls_model("initial-exec"))) = 0;
  if (is_inside) return;
  int expected = not_begun;
  if (atomic_compare_exchange_strong(&state, &expected, begins)) {
    is_inside = 1;
    begin();
    is_inside = 0;
    atomic_store(&state, has_begun);
  }
  while (atomic_load(&state) != has_begun) sched_yield();
}

void* ulpscope_recording_library(void) { return atomic_load(&recording_library); }
