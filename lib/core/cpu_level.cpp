#include "core/cpu_level.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ulpscope::core {
#if defined(__x86_64__)
namespace {

/// Whether it converts float16, which compilers' own question does not know everywhere.
[[nodiscard]] bool has_f16c() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

[[nodiscard]] bool has_avx2() noexcept {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0 && has_f16c();
}

}  // namespace
#endif

bool supported(CpuLevel level) noexcept {
#if defined(__x86_64__)
  // Digests may be computed by constructors that run before the compiler's own.
  __builtin_cpu_init();
  switch (level) {
    case CpuLevel::baseline:
      return true;
    case CpuLevel::avx2:
      return has_avx2();
    case CpuLevel::avx512:
      return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  }
#endif
  return level == CpuLevel::baseline;
}

CpuLevel best_level() noexcept {
  for (const CpuLevel level : {CpuLevel::avx512, CpuLevel::avx2})
    if (supported(level)) return level;
  return CpuLevel::baseline;
}

}  // namespace ulpscope::core
