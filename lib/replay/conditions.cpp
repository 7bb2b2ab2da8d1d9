#include "replay/conditions.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>

#include <array>

#include "ulpscope/error.hpp"

namespace ulpscope::replay {
namespace {

/// More are not started: a damaged dump can ask for any number.
constexpr int kMostThreads = 4096;

/// As many as LibTorch takes on its own.
int default_threads() {
  static const int threads = at::get_num_threads();
  return threads;
}

/// Each thread has this setting to itself.
void flush_denormal_in_all_threads(bool on) {
  at::Context::setFlushDenormal(on);
  const int threads = at::get_num_threads();
  at::parallel_for(0, threads, 1,
                   [on](std::int64_t, std::int64_t) { at::Context::setFlushDenormal(on); });
}

}  // namespace

Conditions::Conditions(const ReplayConditions& wanted) : grad_mode_(wanted.grad_mode) {
  const int by_default = default_threads();
  if (wanted.threads > kMostThreads) throw Error(ErrorCode::usage, "it had too many threads");
  at::set_num_threads(wanted.threads > 0 ? wanted.threads : by_default);
  flush_denormal_in_all_threads(wanted.flush_denormal);
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(wanted.deterministic, wanted.deterministic_warns);
  context.setDeterministicFillUninitializedMemory(wanted.fill_uninitialized);
  context.setUserEnabledMkldnn(wanted.mkldnn);
  context.setDeterministicMkldnn(wanted.mkldnn_deterministic);
  context.setSDPUseFlash(wanted.sdp_flash);
  context.setSDPUseMath(wanted.sdp_math);
  context.setSDPUseMemEfficient(wanted.sdp_mem_efficient);
  context.setSDPUseCuDNN(wanted.sdp_cudnn);
  context.setFloat32MatmulPrecision(wanted.matmul_precision);
  constexpr std::array kOps = {at::Float32Op::CONV, at::Float32Op::MATMUL, at::Float32Op::RNN};
  for (std::size_t k = 0; k < kOps.size(); ++k)
    if (wanted.mkldnn_precision[k] != "none")
      context.setFloat32Precision(at::Float32Backend::MKLDNN, kOps[k],
                                  at::str2precision(wanted.mkldnn_precision[k]));
  context.setUserEnabledCuDNN(wanted.cudnn);
  context.setBenchmarkCuDNN(wanted.cudnn_benchmark);
  context.setDeterministicCuDNN(wanted.cudnn_deterministic);
  context.setAllowTF32CuDNN(wanted.cudnn_tf32);
  context.setAllowFP16ReductionCuBLAS(wanted.cublas_fp16_reduction);
  context.setAllowBF16ReductionCuBLAS(wanted.cublas_bf16_reduction);
  context.setAllowFP16AccumulationCuBLAS(wanted.cublas_fp16_accumulation);
  if (wanted.inference_mode) inference_mode_.emplace(true);
  const c10::DeviceType device = wanted.on_gpu ? at::kCUDA : at::kCPU;
  at::autocast::set_autocast_enabled(device, wanted.autocast);
  at::autocast::set_autocast_dtype(
      device, wanted.on_gpu == wanted.autocast_other ? at::kBFloat16 : at::kHalf);
}

Conditions::~Conditions() {
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::set_autocast_enabled(at::kCUDA, false);
  at::autocast::clear_cache();
}

}  // namespace ulpscope::replay
