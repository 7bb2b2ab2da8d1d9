#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* How many seccomp filters this process is under; before Linux 5.9 its mode. 0 if nothing says.
 */
__attribute__((visibility("hidden"))) unsigned ulpscope_seccomp_filters(void);

#ifdef __cplusplus
}
#endif
