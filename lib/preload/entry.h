#pragma once

/* Entering a process of a recorded command. */

#ifdef __cplusplus
extern "C" {
#endif

/* Brings in the capture library that matches the LibTorch of this process, once. Threads that call
 * it meanwhile wait; a call from inside returns at once. */
__attribute__((visibility("hidden"))) void ulpscope_begin_recording(void);

/* dlopen's handle of the capture library, null until it records. For the Python hooks. */
__attribute__((visibility("default"))) void* ulpscope_recording_library(void);

#ifdef __cplusplus
}
#endif
