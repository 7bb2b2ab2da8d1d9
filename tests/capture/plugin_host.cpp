// Knows nothing of LibTorch: a plugin that it loads brings it.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  using Train = double(int);
  if (argc != 2) return 2;
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  auto* const train =
      plugin == nullptr ? nullptr : reinterpret_cast<Train*>(dlsym(plugin, "train"));
  if (train == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  std::printf("%.17g\n", train(3));
  return 0;
}
