#include "compare/experiment/trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "core/counts.hpp"
#include "core/cpu_level.hpp"

namespace ulpscope::comparison::experiment {
namespace {

constexpr unsigned kRepeatsOfChange = 2;

[[nodiscard]] std::string upper_case(std::string text) {
  for (char& letter : text)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return text;
}

/// What a process is started with under that name; empty if it is not set.
[[nodiscard]] std::string variable(const ReplayStart& start, std::string_view name) {
  std::string value;
  for (const ReplayStart::Variable& one : start.environment)
    if (one.name == name) value = one.value.value_or("");
  return value;
}

[[nodiscard]] ReplayStart with_variable(ReplayStart start, const std::string& name,
                                        const std::string& value) {
  start.environment.push_back({name, value.empty() ? std::nullopt : std::optional(value)});
  return start;
}

[[nodiscard]] std::string threads_words(int threads) {
  return "with " + core::counted(static_cast<std::uint64_t>(threads), "thread");
}

[[nodiscard]] std::string on_off(bool on) { return on ? "on" : "off"; }

class Planner {
 public:
  explicit Planner(const Plan& plan) : plan_(plan), now_(plan.base.request.conditions) {
    if (plan.other != nullptr) then_ = &plan.other->request.conditions;
  }

  Trial& add(ReplayFactor factor, std::string words, std::string base_words,
             std::function<void(ReplayRequest&)> change) {
    Trial& trial = trials_.emplace_back();
    trial.variant.factor = factor;
    trial.variant.words = std::move(words);
    trial.variant.base_words = std::move(base_words);
    trial.variant.repeats = kRepeatsOfChange;
    trial.start = plan_.base.start;
    trial.change = std::move(change);
    return trial;
  }

  void add_threads(int most) {
    std::set<int> counts;
    const int machine = static_cast<int>(std::thread::hardware_concurrency());
    const int limit = most > 0 ? most : std::max(machine, 2);
    for (int count = 1; count <= limit; count += count < 8 ? 1 : count) counts.insert(count);
    counts.insert(limit);
    if (then_ != nullptr && then_->threads > 0) counts.insert(then_->threads);
    for (const int count : counts) {
      if (count == now_.threads) continue;
      add(ReplayFactor::threads, threads_words(count), threads_words(now_.threads),
          [count](ReplayRequest& request) { request.conditions.threads = count; })
          .variant.recorded_by_other = then_ != nullptr && then_->threads == count;
    }
  }

  /// A flag that both runs have, tried in the other position.
  void add_flag(bool ReplayConditions::*flag, ReplayFactor factor, std::string_view flag_name,
                bool always) {
    const bool now = now_.*flag;
    const bool other_has_it = then_ != nullptr && then_->*flag != now;
    if (!other_has_it && !always) return;
    add(factor, fmt::format("with {} {}", flag_name, on_off(!now)),
        fmt::format("with it {}", on_off(now)),
        [flag, now](ReplayRequest& request) { request.conditions.*flag = !now; })
        .variant.recorded_by_other = other_has_it;
  }

  void add_matmul_precision() {
    if (then_ == nullptr || then_->matmul_precision == now_.matmul_precision) return;
    const std::string precision = then_->matmul_precision;
    add(ReplayFactor::flags, fmt::format("with matmul precision {}", precision),
        fmt::format("with {}", now_.matmul_precision),
        [precision](ReplayRequest& request) { request.conditions.matmul_precision = precision; })
        .variant.recorded_by_other = true;
  }

  void add_mkldnn_precision() {
    if (then_ == nullptr || then_->mkldnn_precision == now_.mkldnn_precision) return;
    add(ReplayFactor::reduced_precision,
        fmt::format("with oneDNN's precision {}", fmt::join(then_->mkldnn_precision, ", ")),
        fmt::format("with {}", fmt::join(now_.mkldnn_precision, ", ")),
        [precision = then_->mkldnn_precision](ReplayRequest& request) {
          request.conditions.mkldnn_precision = precision;
        })
        .variant.recorded_by_other = true;
  }

  /// Of a GPU: with TF32 and without.
  void add_tf32_of_products() {
    const bool now = now_.matmul_precision != "highest";
    add(ReplayFactor::tf32, now ? "without TF32 in products" : "with TF32 in products",
        now ? "with it" : "without it",
        [now](ReplayRequest& request) {
          request.conditions.matmul_precision = now ? "highest" : "high";
        })
        .variant.recorded_by_other =
        then_ != nullptr && now != (then_->matmul_precision != "highest");
  }

  void add_device() {
    const bool other_device = then_ != nullptr && then_->on_gpu != now_.on_gpu;
    if (now_.on_gpu) {
      add(ReplayFactor::device, "on the CPU", "on the GPU", [](ReplayRequest& request) {
        request.conditions.on_gpu = false;
      }).variant.recorded_by_other = other_device;
    } else if (other_device && plan_.same_inputs) {
      Trial& trial = add(ReplayFactor::device, "on the GPU", "on the CPU",
                         [](ReplayRequest& request) { request.conditions.on_gpu = true; });
      trial.start.libraries = plan_.other->start.libraries;
      trial.with_other_inputs = true;
      trial.variant.recorded_by_other = true;
    }
  }

  void add_deterministic() {
    if (now_.deterministic) {
      add(ReplayFactor::deterministic, "outside deterministic mode", "in deterministic mode",
          [](ReplayRequest& request) { request.conditions.deterministic = false; })
          .variant.recorded_by_other = then_ != nullptr && !then_->deterministic;
    } else {
      Trial& on = add(ReplayFactor::deterministic, "in deterministic mode",
                      "outside deterministic mode", [](ReplayRequest& request) {
                        request.conditions.deterministic = true;
                        request.conditions.fill_uninitialized = true;
                      });
      on.variant.recorded_by_other =
          then_ != nullptr && then_->deterministic && then_->fill_uninitialized;
    }
    if (now_.deterministic && !now_.fill_uninitialized) return;
    Trial& unfilled =
        add(ReplayFactor::deterministic, "in deterministic mode that fills no memory",
            now_.deterministic ? "in deterministic mode" : "outside deterministic mode",
            [](ReplayRequest& request) {
              request.conditions.deterministic = true;
              request.conditions.fill_uninitialized = false;
            });
    unfilled.variant.recorded_by_other =
        then_ != nullptr && then_->deterministic && !then_->fill_uninitialized;
  }

  void add_layouts() {
    const auto& inputs = plan_.base.request.inputs;
    if (plan_.other != nullptr && plan_.same_inputs && strides_differ()) {
      Trial& trial = add(ReplayFactor::layout, fmt::format("with {}'s strides", plan_.other_name),
                         "with its own", keep_alignment());
      trial.with_other_inputs = true;
      trial.variant.recorded_by_other = true;
    }
    const auto is_contiguous = [](const ReplayTensor& input) {
      std::int64_t step = 1;
      for (std::size_t d = input.sizes.size(); d-- > 0; step *= input.sizes[d])
        if (input.sizes[d] != 1 && d < input.memory_strides.size() &&
            input.memory_strides[d] != step)
          return false;
      return true;
    };
    if (!std::all_of(inputs.begin(), inputs.end(), is_contiguous))
      add_layout("with contiguous inputs", TensorLayout::contiguous);
    if (std::any_of(inputs.begin(), inputs.end(), [](const ReplayTensor& input) {
          return input.sizes.size() == 4 || input.sizes.size() == 5;
        }))
      add_layout("with channels_last inputs", TensorLayout::channels_last);
  }

  void add_alignments() {
    const auto& inputs = plan_.base.request.inputs;
    if (plan_.other != nullptr && plan_.same_inputs && alignment_differs()) {
      std::vector<std::uint8_t> alignments;
      for (const ReplayTensor& input : plan_.other->request.inputs)
        alignments.push_back(input.alignment);
      add(ReplayFactor::alignment, fmt::format("with inputs aligned as {}'s", plan_.other_name),
          "with its own",
          [alignments](ReplayRequest& request) {
            for (std::size_t k = 0; k < alignments.size() && k < request.inputs.size(); ++k)
              request.inputs[k].alignment = alignments[k];
          })
          .variant.recorded_by_other = true;
    }
    constexpr std::array<std::uint8_t, 4> kOffsets = {0, 4, 16, 32};
    for (const std::uint8_t offset : kOffsets) {
      const bool as_recorded =
          std::all_of(inputs.begin(), inputs.end(), [offset](const ReplayTensor& input) {
            return !input.defined || input.alignment == offset;
          });
      if (as_recorded) continue;
      add(ReplayFactor::alignment,
          offset == 0 ? std::string("with inputs at a multiple of 64 bytes")
                      : fmt::format("with inputs {} bytes past a multiple of 64", offset),
          "where they were recorded",
          [offset](ReplayRequest& request) { request.conditions.alignment = offset; });
    }
  }

  void add_rows() {
    if (plan_.rows < 2) return;
    const std::int64_t half = plan_.rows / 2;
    add(ReplayFactor::rows, fmt::format("with the first {} of {} rows", half, plan_.rows),
        "with all rows", [half](ReplayRequest& request) { request.conditions.first_rows = half; });
  }

  void add_capabilities() {
    constexpr std::array<std::pair<std::string_view, core::CpuLevel>, 3> kLevels = {
        std::pair{std::string_view("default"), core::CpuLevel::baseline},
        std::pair{std::string_view("avx2"), core::CpuLevel::avx2},
        std::pair{std::string_view("avx512"), core::CpuLevel::avx512}};
    for (const auto& [level, needed] : kLevels) {
      const std::string words = upper_case(std::string(level));
      if (!core::supported(needed) || words == plan_.capability) continue;
      Trial& trial = add(ReplayFactor::cpu_capability, "with ATen capability " + words,
                         "with " + plan_.capability, [](ReplayRequest&) {});
      trial.start = with_variable(trial.start, "ATEN_CPU_CAPABILITY", std::string(level));
      trial.variant.recorded_by_other = plan_.other != nullptr && plan_.other->capability == words;
    }
  }

  void add_onednn_isas() {
    if (!now_.mkldnn) return;
    const std::string name = "ONEDNN_MAX_CPU_ISA";
    const std::string now = variable(plan_.base.start, name);
    std::vector<std::string> limits{"SSE41"};
    if (core::supported(core::CpuLevel::avx2)) limits.emplace_back("AVX2");
    if (core::supported(core::CpuLevel::avx512)) limits.emplace_back("AVX512_CORE");
    limits.emplace_back();
    std::string then = now;
    if (plan_.other != nullptr) then = variable(plan_.other->start, name);
    if (std::find(limits.begin(), limits.end(), then) == limits.end()) limits.push_back(then);
    const auto words = [](const std::string& limit) {
      return limit.empty() ? std::string("with all that oneDNN can use")
                           : fmt::format("with oneDNN limited to {}", limit);
    };
    for (const std::string& limit : limits) {
      if (limit == now) continue;
      Trial& trial = add(ReplayFactor::onednn_isa, words(limit), words(now), [](ReplayRequest&) {});
      trial.start = with_variable(trial.start, name, limit);
      trial.variant.recorded_by_other = plan_.other != nullptr && limit == then;
    }
  }

  /// Variables of the other run that none of the above tries.
  void add_variables() {
    if (plan_.other == nullptr) return;
    std::set<std::string> names;
    for (const ReplayStart::Variable& one : plan_.other->start.environment) names.insert(one.name);
    for (const std::string& name : names) {
      const std::string value = variable(plan_.other->start, name);
      const std::string now = variable(plan_.base.start, name);
      const bool tried = name == "ATEN_CPU_CAPABILITY" || name == "ONEDNN_MAX_CPU_ISA" ||
                         name.ends_with("_NUM_THREADS");
      if (tried || value == now) continue;
      const auto words = [&name](const std::string& of) {
        return of.empty() ? fmt::format("without {}", name) : fmt::format("with {}={}", name, of);
      };
      Trial& trial = add(ReplayFactor::flags, words(value), words(now), [](ReplayRequest&) {});
      trial.start = with_variable(trial.start, name, value);
      trial.variant.recorded_by_other = true;
    }
  }

  [[nodiscard]] bool anything_differs() const {
    return plan_.other != nullptr &&
           (!(*then_ == now_) || !(plan_.other->start == plan_.base.start) || strides_differ() ||
            alignment_differs());
  }
  [[nodiscard]] std::vector<Trial> take() { return std::move(trials_); }

 private:
  void add_layout(std::string words, TensorLayout layout) {
    add(ReplayFactor::layout, std::move(words), "with their recorded strides",
        [layout](ReplayRequest& request) { request.conditions.layout = layout; });
  }

  template <class Differ>
  [[nodiscard]] bool inputs_differ(Differ differ) const {
    const auto& ours = plan_.base.request.inputs;
    const auto& theirs = plan_.other->request.inputs;
    return !std::equal(
        ours.begin(), ours.end(), theirs.begin(), theirs.end(),
        [&](const ReplayTensor& one, const ReplayTensor& two) { return !differ(one, two); });
  }
  [[nodiscard]] bool strides_differ() const {
    return inputs_differ([](const ReplayTensor& one, const ReplayTensor& two) {
      return one.memory_strides != two.memory_strides;
    });
  }
  [[nodiscard]] bool alignment_differs() const {
    return inputs_differ([](const ReplayTensor& one, const ReplayTensor& two) {
      return one.alignment != two.alignment;
    });
  }

  /// The base's alignment for inputs that are the other run's.
  [[nodiscard]] std::function<void(ReplayRequest&)> keep_alignment() const {
    std::vector<std::uint8_t> alignments;
    for (const ReplayTensor& input : plan_.base.request.inputs)
      alignments.push_back(input.alignment);
    return [alignments](ReplayRequest& request) {
      for (std::size_t k = 0; k < alignments.size() && k < request.inputs.size(); ++k)
        request.inputs[k].alignment = alignments[k];
    };
  }

  const Plan& plan_;
  const ReplayConditions& now_;
  const ReplayConditions* then_ = nullptr;
  std::vector<Trial> trials_;
};

}  // namespace

namespace {

[[nodiscard]] std::string as_recorded(const std::string& name) {
  return name.empty() ? "as recorded" : fmt::format("as {} was recorded", name);
}

}  // namespace

std::vector<Trial> trials_as_recorded(const Plan& plan, const ReplayOptions& options) {
  Planner planner(plan);
  planner.add(ReplayFactor::none, as_recorded(plan.base_name), "", [](ReplayRequest&) {})
      .variant.repeats = options.repeats;
  if (planner.anything_differs()) {
    const ReplayConditions conditions = plan.other->request.conditions;
    Trial& trial =
        planner.add(ReplayFactor::other_run, as_recorded(plan.other_name), "as its own",
                    [conditions](ReplayRequest& request) { request.conditions = conditions; });
    trial.start = plan.other->start;
    trial.with_other_inputs = true;
    trial.variant.repeats = options.repeats;
    trial.variant.recorded_by_other = true;
  }
  return planner.take();
}

namespace {

void add_trials_of_cpu(Planner& planner, const ReplayOptions& options) {
  planner.add_threads(options.most_threads);
  planner.add_flag(&ReplayConditions::mkldnn, ReplayFactor::mkldnn, "oneDNN", true);
  planner.add_flag(&ReplayConditions::mkldnn_deterministic, ReplayFactor::flags,
                   "deterministic oneDNN", false);
  planner.add_flag(&ReplayConditions::flush_denormal, ReplayFactor::flags, "flushing of denormals",
                   false);
  planner.add_matmul_precision();
  planner.add_mkldnn_precision();
  planner.add_capabilities();
  planner.add_onednn_isas();
}

void add_trials_of_gpu(Planner& planner) {
  planner.add_tf32_of_products();
  planner.add_flag(&ReplayConditions::cudnn_tf32, ReplayFactor::tf32, "TF32 in cuDNN", true);
  planner.add_flag(&ReplayConditions::cudnn, ReplayFactor::cudnn, "cuDNN", true);
  planner.add_flag(&ReplayConditions::cudnn_benchmark, ReplayFactor::algorithm, "cuDNN's benchmark",
                   true);
  planner.add_flag(&ReplayConditions::cudnn_deterministic, ReplayFactor::algorithm,
                   "deterministic cuDNN", true);
  planner.add_flag(&ReplayConditions::cublas_fp16_reduction, ReplayFactor::reduced_precision,
                   "reduced precision of float16 sums", false);
  planner.add_flag(&ReplayConditions::cublas_bf16_reduction, ReplayFactor::reduced_precision,
                   "reduced precision of bfloat16 sums", false);
  planner.add_flag(&ReplayConditions::cublas_fp16_accumulation, ReplayFactor::reduced_precision,
                   "float16 accumulation", false);
  planner.add_flag(&ReplayConditions::sdp_mem_efficient, ReplayFactor::flags,
                   "memory-efficient attention", false);
  planner.add_flag(&ReplayConditions::sdp_cudnn, ReplayFactor::flags, "cuDNN's attention", false);
}

}  // namespace

std::vector<Trial> trials_with_changes(const Plan& plan, const ReplayOptions& options) {
  Planner planner(plan);
  if (plan.base.request.conditions.on_gpu)
    add_trials_of_gpu(planner);
  else
    add_trials_of_cpu(planner, options);
  planner.add_device();
  planner.add_deterministic();
  planner.add_flag(&ReplayConditions::sdp_flash, ReplayFactor::flags, "flash attention", false);
  planner.add_flag(&ReplayConditions::sdp_math, ReplayFactor::flags, "math attention", false);
  planner.add_flag(&ReplayConditions::grad_mode, ReplayFactor::flags, "grad mode", false);
  planner.add_flag(&ReplayConditions::inference_mode, ReplayFactor::flags, "inference mode", false);
  planner.add_flag(&ReplayConditions::autocast, ReplayFactor::flags, "autocast", false);
  planner.add_flag(&ReplayConditions::autocast_other, ReplayFactor::flags,
                   "autocast to the device's other 16-bit dtype", false);
  planner.add_layouts();
  planner.add_alignments();
  planner.add_rows();
  planner.add_variables();
  return planner.take();
}

}  // namespace ulpscope::comparison::experiment
