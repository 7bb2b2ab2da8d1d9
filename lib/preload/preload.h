#pragma once

#include <stddef.h>

/* What the object that enters a program hands to the capture library. */

#ifdef __cplusplus
extern "C" {
#endif

/* One interposed function: calls to `name` jump to what `*slot` holds. */
struct UlpscopeSymbol {
  const char* name;
  void** slot;
};

/* The capture library's entry, `ulpscope_capture_start`: records for the writer that listens at
 * `socket_path`. Each slot holds the next definition of its function, or null if this LibTorch has
 * none; the library may put a wrapper of the same signature in its place. Returns 0 when recording
 * has begun. */
typedef int UlpscopeCaptureStart(const char* socket_path, const struct UlpscopeSymbol* symbols,
                                 size_t count);

#ifdef __cplusplus
}
#endif
