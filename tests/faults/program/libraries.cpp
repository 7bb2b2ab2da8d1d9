#include <dlfcn.h>

#include <cstdlib>

#include "hazards.hpp"
#include "progress.hpp"
#include "training.hpp"

namespace faults {
namespace {

/// A plugin with its own module and ops is loaded and unloaded between the steps.
void plugin_comes_and_goes() {
  const char* path = std::getenv("FAULTS_PLUGIN");
  if (path == nullptr) std::abort();
  Training training;
  for (int i = 0; i < 8; ++i) {
    void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      say("dlopen: %s", dlerror());
      std::abort();
    }
    using Run = double (*)(int);
    const auto run = reinterpret_cast<Run>(dlsym(plugin, "faults_plugin_run"));
    say("plugin %.9g", run(i));
    dlclose(plugin);
    training.step();
  }
  say("%s", training.digest().c_str());
}

/// The HDF5 of a different package, whose symbols are global.
void other_hdf5() {
  const char* path = std::getenv("FAULTS_HDF5");
  if (path == nullptr) std::abort();
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    say("dlopen: %s", dlerror());
    std::abort();
  }
  using Version = int (*)(unsigned*, unsigned*, unsigned*);
  unsigned version[3] = {};
  const auto get_version = reinterpret_cast<Version>(dlsym(library, "H5get_libversion"));
  if (get_version(&version[0], &version[1], &version[2]) < 0) std::abort();
  Training training;
  training.steps(12);
  say("HDF5 %u.%u.%u, %s", version[0], version[1], version[2], training.digest().c_str());
}

}  // namespace

void add_libraries(Hazards& hazards) {
  hazards["dlclose"] = plugin_comes_and_goes;
  hazards["other-hdf5"] = other_hdf5;
}

}  // namespace faults
