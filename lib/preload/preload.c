#include <stdlib.h>

#include "preload/capture_library.h"
#include "preload/entry.h"
#include "preload/jumps.h"

/* Needs nothing but libc: it is loaded into every process of a recorded command. Where LibTorch is
 * mapped it brings in the capture library; elsewhere that waits for the first op of a LibTorch that
 * is loaded later. */
__attribute__((constructor)) static void enter(void) {
  if (!getenv("ULPSCOPE_CAPTURE_LIBRARY") || !getenv("ULPSCOPE_SOCKET")) return;
  if (ulpscope_torch_version().major != 0)
    ulpscope_begin_recording();
  else
    ulpscope_call_before_first_op(ulpscope_begin_recording);
}
