#define _GNU_SOURCE
#include "preload/capture_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A mapped object whose file name begins with `prefix`; empty path: there is none. */
struct Wanted {
  const char* prefix;
  const char* path;
};

static int look(struct dl_phdr_info* info, size_t size, void* wanted) {
  (void)size;
  struct Wanted* search = wanted;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash ? slash + 1 : info->dlpi_name;
  if (strncmp(name, search->prefix, strlen(search->prefix)) != 0) return 0;
  search->path = info->dlpi_name;
  return 1;
}

static void* open_mapped(const char* prefix) {
  struct Wanted wanted = {prefix, NULL};
  dl_iterate_phdr(look, &wanted);
  return wanted.path ? dlopen(wanted.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

struct UlpscopeTorchVersion ulpscope_torch_version(void) {
  /* Packed as major, minor, patch in the three highest bytes
   * (torch/csrc/inductor/aoti_torch/c/shim.h). */
  typedef uint64_t AbiVersion(void);
  struct UlpscopeTorchVersion version = {0, 0};
  void* torch = open_mapped("libtorch_cpu.so");
  if (!torch) return version;
  AbiVersion* abi_version = (AbiVersion*)dlsym(torch, "aoti_torch_abi_version");
  if (abi_version) {
    const uint64_t packed = abi_version();
    version.major = (unsigned)(packed >> 56);
    version.minor = (unsigned)(packed >> 48 & 0xff);
  }
  dlclose(torch);
  return version;
}

void* ulpscope_mapped_capture(void) { return open_mapped("libulpscope_capture-"); }

void* ulpscope_open_capture(const char* directory) {
  const struct UlpscopeTorchVersion version = ulpscope_torch_version();
  if (version.major == 0) return NULL;
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/libulpscope_capture-%u.%u.so", directory,
                              version.major, version.minor);
  if (length <= 0 || (size_t)length >= sizeof path) return NULL;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}
