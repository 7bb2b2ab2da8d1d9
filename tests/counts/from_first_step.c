/* Preloaded into a program under callgrind: instructions are counted from the first zero_grad() of
   an optimizer on. What LibTorch does before that, as it registers its ops, takes five times as
   long to count as a program's steps. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <valgrind/callgrind.h>

/* torch::optim::Optimizer::zero_grad(bool) */
void _ZN5torch5optim9Optimizer9zero_gradEb(void* optimizer, _Bool set_to_none);
void _ZN5torch5optim9Optimizer9zero_gradEb(void* optimizer, _Bool set_to_none) {
  static void (*zero_grad)(void*, _Bool);
  if (zero_grad == 0) {
    *(void**)&zero_grad = dlsym(RTLD_NEXT, "_ZN5torch5optim9Optimizer9zero_gradEb");
    CALLGRIND_START_INSTRUMENTATION;
  }
  zero_grad(optimizer, set_to_none);
}
