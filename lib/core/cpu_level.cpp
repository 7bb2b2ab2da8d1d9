#include "core/cpu_level.hpp"

namespace ulpscope::core {

bool supported(CpuLevel level) noexcept {
#if defined(__x86_64__)
  // Digests may be asked for by constructors that run before the compiler's own.
  __builtin_cpu_init();
  switch (level) {
    case CpuLevel::baseline:
      return true;
    case CpuLevel::avx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0;
    case CpuLevel::avx512:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
             __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
             __builtin_cpu_supports("avx512vl") != 0;
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
