#include "capture/environment_variables.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace ulpscope::capture {
namespace {

/// Variables that can change what is computed, or that guides recommend setting.
constexpr std::array<std::string_view, 57> kAllowed = {"ATEN_CPU_CAPABILITY",
                                                       "CUBLASLT_WORKSPACE_SIZE",
                                                       "CUBLAS_WORKSPACE_CONFIG",
                                                       "CUDA_LAUNCH_BLOCKING",
                                                       "CUDA_VISIBLE_DEVICES",
                                                       "DISABLE_ADDMM_CUDA_LT",
                                                       "DNNL_DEFAULT_FPMATH_MODE",
                                                       "DNNL_MAX_CPU_ISA",
                                                       "GLIBC_TUNABLES",
                                                       "GOMP_CPU_AFFINITY",
                                                       "HIPBLASLT_WORKSPACE_SIZE",
                                                       "HIPBLAS_WORKSPACE_CONFIG",
                                                       "KMP_AFFINITY",
                                                       "KMP_BLOCKTIME",
                                                       "KMP_DETERMINISTIC_REDUCTION",
                                                       "MALLOC_PERTURB_",
                                                       "MIOPEN_FIND_MODE",
                                                       "MKL_CBWR",
                                                       "MKL_DYNAMIC",
                                                       "MKL_ENABLE_INSTRUCTIONS",
                                                       "MKL_NUM_THREADS",
                                                       "MKL_THREADING_LAYER",
                                                       "NCCL_ALGO",
                                                       "NCCL_MIN_NCHANNELS",
                                                       "NCCL_PROTO",
                                                       "NVIDIA_TF32_OVERRIDE",
                                                       "OMP_DYNAMIC",
                                                       "OMP_NUM_THREADS",
                                                       "OMP_PLACES",
                                                       "OMP_PROC_BIND",
                                                       "OMP_SCHEDULE",
                                                       "OMP_THREAD_LIMIT",
                                                       "OMP_WAIT_POLICY",
                                                       "ONEDNN_DEFAULT_FPMATH_MODE",
                                                       "ONEDNN_MAX_CPU_ISA",
                                                       "OPENBLAS_CORETYPE",
                                                       "OPENBLAS_NUM_THREADS",
                                                       "PYTHONHASHSEED",
                                                       "PYTORCH_ALLOC_CONF",
                                                       "PYTORCH_CUDA_ALLOC_CONF",
                                                       "PYTORCH_MIOPEN_SUGGEST_NHWC",
                                                       "PYTORCH_TUNABLEOP_ENABLED",
                                                       "PYTORCH_TUNABLEOP_TUNING",
                                                       "ROCBLAS_WORKSPACE_CONFIG",
                                                       "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
                                                       "TORCH_BLAS_PREFER_CUBLASLT",
                                                       "TORCH_CUDNN_USE_HEURISTIC_MODE_B",
                                                       "TORCH_CUDNN_V8_API_DEBUG",
                                                       "TORCH_CUDNN_V8_API_DISABLED",
                                                       "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT",
                                                       "TORCH_LINALG_PREFER_CUSOLVER",
                                                       "TORCH_LINEAR_FLATTEN_3D",
                                                       "TORCH_MKLDNN_MATMUL_MIN_DIM",
                                                       "TORCH_MKLDNN_MATMUL_MIN_SIZE",
                                                       "TORCH_USE_CUDA_DSA",
                                                       "TORCH_USE_RTLD_GLOBAL",
                                                       "XLA_FLAGS"};

/// What recording itself adds.
bool is_ours(std::string_view name) {
  return name == "LD_PRELOAD" || name.starts_with("ULPSCOPE_");
}

/// All of them, as at process start. The program cannot change this record.
const EnvironmentValues& at_start() {
  static const EnvironmentValues variables = [] {
    EnvironmentValues found;
    std::ifstream file("/proc/self/environ", std::ios::binary);
    for (std::string entry; std::getline(file, entry, '\0');)
      if (const std::size_t equals = entry.find('='); equals != std::string::npos)
        found[entry.substr(0, equals)] = entry.substr(equals + 1);
    return found;
  }();
  return variables;
}

}  // namespace

EnvironmentValues starting_variables() {
  EnvironmentValues values;
  std::string names;
  for (const auto& [name, value] : at_start()) {
    if (std::find(kAllowed.begin(), kAllowed.end(), name) != kAllowed.end())
      values["env." + name] = value;
    else if (!is_ours(name))
      names += (names.empty() ? "" : " ") + name;
  }
  values["env_names"] = names;
  return values;
}

EnvironmentValues changed_variables(const EnvironmentValues& told) {
  EnvironmentValues values;
  for (const std::string_view allowed : kAllowed) {
    const std::string name(allowed);
    const auto started = at_start().find(name);
    const char* now = std::getenv(name.c_str());
    const bool was_set = started != at_start().end();
    const bool changed = was_set ? now == nullptr || started->second != now : now != nullptr;
    const std::string key = "env_now." + name;
    if (changed || told.contains(key)) values[key] = now == nullptr ? "" : now;
  }
  return values;
}

std::uint64_t variables_stamp() noexcept {
  std::uint64_t stamp = 0;
  for (char* const* entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    stamp = (stamp ^ reinterpret_cast<std::uintptr_t>(*entry)) * 0x9e3779b97f4a7c15ULL;
  return stamp;
}

}  // namespace ulpscope::capture
