#include "capture/environment_flags.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <c10/core/thread_pool.h>
#include <dlfcn.h>
#include <xmmintrin.h>

#include <atomic>
#include <initializer_list>

#include "capture/recorder.hpp"

namespace ulpscope::capture {
namespace {

std::atomic<int> asked_inter_op_threads{0};

/// Some getters refuse when a program has mixed old and new precision settings.
template <class Value, class Get>
void read(Value& value, Get&& get) {
  try {
    value = static_cast<Value>(get());
  } catch (...) {
  }
}

/// 0 if it cannot be known: the program may have set it before its own Recorder began.
int inter_op_threads() {
  if (const int asked = asked_inter_op_threads.load(std::memory_order_relaxed); asked > 0)
    return asked;
  if (follows() == Follow::nobody) return 0;
  static const int by_default = static_cast<int>(c10::TaskThreadPoolBase::defaultNumThreads());
  return by_default;
}

void put(EnvironmentValues& values, const char* key, int value,
         std::initializer_list<const char*> words) {
  if (value >= 0 && static_cast<std::size_t>(value) < words.size())
    values[key] = words.begin()[value];
}

/// Whether reduced precision may be used in sums; the getter returns a bool in older releases and
/// one of three values in newer ones.
template <class Answer>
bool allows_reduction(Answer answer) {
  if constexpr (std::is_same_v<Answer, bool>)
    return answer;
  else
    return static_cast<int>(answer) == 0;
}

}  // namespace

EnvironmentFlags read_flags() {
  EnvironmentFlags now;
  const at::Context& context = at::globalContext();
  now.threads = intra_op_threads();
  now.inter_op_threads = inter_op_threads();
  now.flush_denormal = (_mm_getcsr() & 0x8040) != 0;
  read(now.seed, [] { return at::detail::getDefaultCPUGenerator().current_seed(); });
  read(now.deterministic, [&] {
    if (!context.deterministicAlgorithms()) return 0;
    return context.deterministicAlgorithmsWarnOnly() ? 2 : 1;
  });
  read(now.fill_uninitialised, [&] { return context.deterministicFillUninitializedMemory(); });
  read(now.cudnn, [&] { return context.userEnabledCuDNN(); });
  read(now.cudnn_benchmark, [&] { return context.benchmarkCuDNN(); });
  read(now.cudnn_deterministic, [&] { return context.deterministicCuDNN(); });
  read(now.cudnn_tf32, [&] { return context.allowTF32CuDNN(); });
  read(now.cublas_tf32, [&] { return context.allowTF32CuBLAS(); });
  read(now.cublas_fp16_reduction,
       [&] { return allows_reduction(context.allowFP16ReductionCuBLAS()); });
  read(now.cublas_bf16_reduction,
       [&] { return allows_reduction(context.allowBF16ReductionCuBLAS()); });
  read(now.cublas_fp16_accumulation, [&] { return context.allowFP16AccumulationCuBLAS(); });
  read(now.cpu_fp16_reduction, [&] { return context.allowFP16ReductionCPU(); });
  read(now.matmul_precision, [&] { return context.float32MatmulPrecision(); });
  read(now.mkldnn, [&] { return context.userEnabledMkldnn(); });
  read(now.mkldnn_deterministic, [&] { return context.deterministicMkldnn(); });
  const auto mkldnn_precision = [&](at::Float32Op op) {
    return [&context, op] { return context.float32Precision(at::Float32Backend::MKLDNN, op); };
  };
  read(now.mkldnn_conv, mkldnn_precision(at::Float32Op::CONV));
  read(now.mkldnn_matmul, mkldnn_precision(at::Float32Op::MATMUL));
  read(now.mkldnn_rnn, mkldnn_precision(at::Float32Op::RNN));
  read(now.sdp_flash, [&] { return context.userEnabledFlashSDP(); });
  read(now.sdp_mem_efficient, [&] { return context.userEnabledMemEfficientSDP(); });
  read(now.sdp_math, [&] { return context.userEnabledMathSDP(); });
  read(now.sdp_cudnn, [&] { return context.userEnabledCuDNNSDP(); });
  return now;
}

void set_flags_at_start() {
  at::Context& context = at::globalContext();
  if (settings().mkldnn >= 0) context.setUserEnabledMkldnn(settings().mkldnn != 0);
  if (settings().deterministic >= 0)
    context.setDeterministicAlgorithms(settings().deterministic != 0, /*warn_only=*/false);
}

EnvironmentValues in_words(const EnvironmentFlags& flags) {
  EnvironmentValues words;
  words["threads.intra_op"] = std::to_string(flags.threads);
  if (flags.inter_op_threads > 0)
    words["threads.inter_op"] = std::to_string(flags.inter_op_threads);
  words["rng.cpu.seed"] = std::to_string(flags.seed);
  const auto on_off = [&](const char* key, int value) { put(words, key, value, {"off", "on"}); };
  put(words, "flag.deterministic_algorithms", flags.deterministic, {"off", "on", "warn"});
  put(words, "flag.matmul_precision", flags.matmul_precision, {"highest", "high", "medium"});
  on_off("flag.fill_uninitialized", flags.fill_uninitialised);
  on_off("flag.cudnn.enabled", flags.cudnn);
  on_off("flag.cudnn.benchmark", flags.cudnn_benchmark);
  on_off("flag.cudnn.deterministic", flags.cudnn_deterministic);
  on_off("flag.cudnn.allow_tf32", flags.cudnn_tf32);
  on_off("flag.cublas.allow_tf32", flags.cublas_tf32);
  on_off("flag.cublas.allow_fp16_reduced_precision", flags.cublas_fp16_reduction);
  on_off("flag.cublas.allow_bf16_reduced_precision", flags.cublas_bf16_reduction);
  on_off("flag.cublas.allow_fp16_accumulation", flags.cublas_fp16_accumulation);
  on_off("flag.cpu.allow_fp16_reduced_precision", flags.cpu_fp16_reduction);
  on_off("flag.mkldnn.enabled", flags.mkldnn);
  on_off("flag.mkldnn.deterministic", flags.mkldnn_deterministic);
  const auto precision = [&](const char* key, int value) {
    put(words, key, value, {"none", "ieee", "tf32", "bf16"});
  };
  precision("flag.mkldnn.conv_precision", flags.mkldnn_conv);
  precision("flag.mkldnn.matmul_precision", flags.mkldnn_matmul);
  precision("flag.mkldnn.rnn_precision", flags.mkldnn_rnn);
  on_off("flag.sdp.flash", flags.sdp_flash);
  on_off("flag.sdp.mem_efficient", flags.sdp_mem_efficient);
  on_off("flag.sdp.math", flags.sdp_math);
  on_off("flag.sdp.cudnn", flags.sdp_cudnn);
  on_off("flag.flush_denormal", flags.flush_denormal);
  return words;
}

int intra_op_threads() {
  using Query = int (*)();
  static const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  return query == nullptr ? 1 : query();
}

void note_inter_op_threads(int threads) noexcept {
  asked_inter_op_threads.store(threads, std::memory_order_relaxed);
}

}  // namespace ulpscope::capture
