#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* How many seccomp filters a process is under, given its /proc/PID/status, which a process that has
 * ended keeps until it is waited for. Before Linux 5.9: its mode. 0 where nothing says. */
__attribute__((visibility("hidden"))) unsigned ulpscope_seccomp_filters(const char* status_path);

#ifdef __cplusplus
}
#endif
