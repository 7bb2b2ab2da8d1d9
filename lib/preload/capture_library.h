#pragma once

/* Finding the capture library that matches the LibTorch of this process. */

#ifdef __cplusplus
extern "C" {
#endif

struct UlpscopeTorchVersion {
  unsigned major; /* 0: no LibTorch is mapped, or one without a known version */
  unsigned minor;
};

__attribute__((visibility("hidden"))) struct UlpscopeTorchVersion ulpscope_torch_version(void);

/* dlopen's handle of libulpscope_capture-MAJOR.MINOR.so in `directory`, null if none matches. */
__attribute__((visibility("hidden"))) void* ulpscope_open_capture(const char* directory);

/* The handle of one that is in the process already, null if there is none. */
__attribute__((visibility("hidden"))) void* ulpscope_mapped_capture(void);

#ifdef __cplusplus
}
#endif
