#include "capture/library_beside.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace ulpscope::capture {

void* function_beside(const char* library, const char* function) noexcept {
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&function_beside), &here) == 0) return nullptr;
  try {
    const auto path = std::filesystem::path(here.dli_fname).parent_path() / library;
    void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return opened == nullptr ? nullptr : dlsym(opened, function);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace ulpscope::capture
