#include "compare/report/causes/settings.hpp"

#include <algorithm>
#include <array>

#include "core/glob.hpp"

namespace ulpscope::comparison {
namespace {

struct Row {
  std::string_view keys;  ///< a glob
  Setting setting;
};

/// The first row that matches counts.
constexpr auto kRows = std::to_array<Row>({
    {"threads.*", Setting::threads},
    {"env*.OMP_*", Setting::threads},
    {"env*.*_NUM_THREADS", Setting::threads},
    {"env*.MKL_DYNAMIC", Setting::threads},
    {"env*.KMP_*", Setting::threads},
    {"cpu.capability", Setting::isa},
    {"cpu.onednn_isa", Setting::isa},
    {"cpu.model", Setting::isa},
    {"cpu.flags", Setting::isa},
    {"env*.ATEN_CPU_CAPABILITY", Setting::isa},
    {"env*.*_MAX_CPU_ISA", Setting::isa},
    {"env*.MKL_CBWR", Setting::isa},
    {"env*.MKL_ENABLE_INSTRUCTIONS", Setting::isa},
    {"env*.OPENBLAS_CORETYPE", Setting::isa},
    {"library.*", Setting::library},
    {"torch.*", Setting::library},
    {"cuda.*", Setting::library},
    {"cudnn.*", Setting::library},
    {"cublas.*", Setting::library},
    {"os.libc", Setting::library},
    {"device.*.driver", Setting::library},
    {"program.build_id", Setting::library},
    {"flag.*accumulation", Setting::precision},
    {"flag.*tf32", Setting::precision},
    {"flag.*_precision", Setting::precision},
    {"flag.*reduced*", Setting::precision},
    {"env*.NVIDIA_TF32_OVERRIDE", Setting::precision},
    {"env*.TORCH_ALLOW_TF32*", Setting::precision},
    {"env*.*_FPMATH_MODE", Setting::precision},
    {"flag.mkldnn.enabled", Setting::backend},
    {"flag.cudnn.enabled", Setting::backend},
    {"flag.*sdp*", Setting::backend},
    {"env*.TORCH_BLAS_PREFER*", Setting::backend},
    {"rng.*", Setting::random},
    {"triton.*", Setting::launch},
});

}  // namespace

Setting setting_of(std::string_view key) {
  const auto* const row = std::find_if(
      kRows.begin(), kRows.end(), [&](const Row& one) { return core::glob_match(one.keys, key); });
  return row == kRows.end() ? Setting::other : row->setting;
}

}  // namespace ulpscope::comparison
