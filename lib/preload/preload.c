#include <dlfcn.h>
#include <stdlib.h>

#include "preload/capture_library.h"
#include "preload/jumps.h"

/* Needs nothing but libc: it is loaded into every process of a recorded command. Where LibTorch is
 * mapped it brings in the capture library; elsewhere it does nothing. */
__attribute__((constructor)) static void enter(void) {
  const char* directory = getenv("ULPSCOPE_CAPTURE_LIBRARY");
  const char* socket_path = getenv("ULPSCOPE_SOCKET");
  if (!directory || !socket_path) return;
  void* capture = ulpscope_open_capture(directory);
  if (!capture) return;
  UlpscopeCaptureStart* start = (UlpscopeCaptureStart*)dlsym(capture, "ulpscope_capture_start");
  if (start) ulpscope_start_with_jumps(start, socket_path);
}
