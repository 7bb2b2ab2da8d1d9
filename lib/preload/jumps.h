#pragma once

#include "preload/preload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Exports the names of symbols.def as jumps to LibTorch's definitions. The object that holds them has
 * to be found by the loader before LibTorch: preloaded, or before it in the program's link order. */

/* Hands the slots to the capture library's entry. Its result. */
__attribute__((visibility("hidden"))) int ulpscope_start_with_jumps(UlpscopeCaptureStart* start,
                                                                     const char* socket_path);

/* Has a function called before the first op of a LibTorch that is loaded later. Threads may call it
 * at once, and it may run ops itself. */
__attribute__((visibility("hidden"))) void ulpscope_call_before_first_op(void (*function)(void));

#ifdef __cplusplus
}
#endif
