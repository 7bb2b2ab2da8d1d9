#include "compare/experiment/op_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "compare/measure/recorded_call.hpp"
#include "compare/model/device.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/place.hpp"
#include "compare/model/value_match.hpp"
#include "core/counts.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::comparison::experiment {
namespace {

/// One that is neither the CPU nor CUDA's.
[[nodiscard]] bool ran_elsewhere(const Event& event) {
  return std::any_of(event.slots.begin(), event.slots.end(), [](const Slot& slot) {
    return slot.geometry != nullptr && slot.geometry->device_type > kCudaDevice;
  });
}

/// Results that are views or have no bytes say nothing of an op.
[[nodiscard]] std::string without_results(const Event& event) {
  bool hashed = false;
  for (const Slot& slot : event.slots)
    hashed |= slot.role != Role::input &&
              !(slot.flags & (slot_flag::no_digest | slot_flag::undefined | slot_flag::view));
  if (event.flags & event_flag::view) return "it returns a view, which has no bits of its own";
  return hashed ? "the bytes of its results are not in the dump"
                : "it left nothing that can be compared";
}

[[nodiscard]] const Slot* input_slot(const Event& event, const ReplayTensor& input) {
  for (const Slot& slot : event.slots)
    if (slot.role == Role::input && slot.index == input.index && slot.element == input.element)
      return &slot;
  return nullptr;
}

/// Arguments by name.
using Texts = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Texts argument_texts(const Event& event) {
  Texts texts;
  for (const Argument& argument : arguments(event))
    if (!argument.result) texts.emplace_back(argument.name, argument.text);
  return texts;
}

/// How two inputs differ; empty if they do not.
[[nodiscard]] std::optional<std::string> input_difference(const OpCall& a, const Slot& slot,
                                                          const OpCall& b, const Slot& other) {
  const auto find = [](const OpCall& call, const Slot& wanted) -> const ReplayTensor* {
    for (const ReplayTensor& input : call.request.inputs)
      if (input.index == wanted.index && input.element == wanted.element) return &input;
    return nullptr;
  };
  const ReplayTensor* const one = find(a, slot);
  const ReplayTensor* const two = find(b, other);
  if (one == nullptr || two == nullptr) {
    if (!is_difference(match(slot, other))) return std::nullopt;
    return "";
  }
  if (one->defined != two->defined || one->dtype != two->dtype || one->sizes != two->sizes)
    return "dtype or shape";
  const Results left{in_row_major_order(*one)};
  const Results right{in_row_major_order(*two)};
  if (same_bits(left, right)) return std::nullopt;
  return left[0].bytes.size() == right[0].bytes.size() ? difference_words(left, right) : "";
}

}  // namespace

std::string full_name(const Event& event) {
  return event.overload.empty() ? std::string(event.op)
                                : fmt::format("{}.{}", event.op, event.overload);
}

OpCall op_call(const Run& run, const RecordedPlace& place, const ReplayOptions& options) {
  OpCall call;
  call.held = find_event(run, place.rank, {place.lane, place.position});
  if (call.held.event == nullptr)
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no event {}", run.info().path, place.position),
                "ulpscope inspect DUMP STEP lists the events of a step");
  const Event& event = call.event();
  if (event.kind != EventKind::op)
    throw Error(
        ErrorCode::usage,
        fmt::format("event {} of '{}' is no op: {}", place.position, run.info().path, event.op),
        "ulpscope inspect DUMP STEP lists the events of a step; replay takes an op");
  call.step = call.held.block->step;
  RecordedCall recorded = recorded_call(run, place.rank, event);
  call.request = std::move(recorded.request);
  call.request.conditions = recorded_conditions(run, place.rank, call.step, event);
  call.start = recorded_start(run, place.rank);
  call.capability = setting(run, place.rank, kSetup, "cpu.capability");
  if (call.request.conditions.on_gpu) call.start.libraries.emplace_back("libtorch_cuda.so");
  call.start.libraries.insert(call.start.libraries.end(), options.libraries.begin(),
                              options.libraries.end());
  call.start.patience = options.patience;
  call.failure = std::move(recorded.failure);
  call.lacks_bytes = recorded.lacks_bytes;
  if (!call.failure.empty()) return call;
  for (const Slot* slot : recorded.results) {
    auto result = recorded_tensor(run, place.rank, *slot);
    if (!result) continue;
    call.request.wanted.push_back(place_of(*slot));
    call.recorded.push_back(std::move(*result));
  }
  if (call.recorded.empty()) {
    call.failure = without_results(event);
    call.lacks_bytes = call.failure.find("bytes") != std::string::npos;
  } else if (ran_elsewhere(event)) {
    call.failure = "it ran on a device on which ops are not replayed";
  }
  return call;
}

std::vector<std::string> unequal_arguments(const OpCall& a, const OpCall& b) {
  std::vector<std::string> unequal;
  if (a.request.generator != b.request.generator) unequal.emplace_back("the generator's state");
  for (const Slot& slot : a.event().slots) {
    if (slot.role != Role::input || (slot.flags & slot_flag::overwritten)) continue;
    ReplayTensor place;
    place.index = slot.index;
    place.element = slot.element;
    const Slot* const other = input_slot(b.event(), place);
    const std::string name = tensor_name(a.event(), slot);
    if (other == nullptr) {
      unequal.push_back(name);
    } else if (const auto how = input_difference(a, slot, b, *other)) {
      unequal.push_back(how->empty() ? name : fmt::format("{} ({})", name, *how));
    }
  }
  const Texts texts = argument_texts(a.event());
  const Texts others = argument_texts(b.event());
  for (const auto& [name, text] : texts) {
    const auto other = std::find_if(others.begin(), others.end(), [&name = name](const auto& pair) {
      return pair.first == name;
    });
    if (other == others.end() || other->second != text)
      unequal.push_back(fmt::format("{} ({} and {})", name, text,
                                    other == others.end() ? "none" : other->second));
  }
  return unequal;
}

std::int64_t mark_rows(OpCall& call) {
  constexpr std::array<std::string_view, 7> kWithoutRows = {
      "weight", "bias", "mat2", "running_mean", "running_var", "weights", "params"};
  auto& inputs = call.request.inputs;
  if (inputs.empty() || inputs[0].sizes.empty() || inputs[0].sizes[0] < 2) return 0;
  const std::int64_t rows = inputs[0].sizes[0];
  const auto has_rows = [rows](const ReplayTensor& tensor) {
    return !tensor.sizes.empty() && tensor.sizes[0] == rows;
  };
  if (std::none_of(call.recorded.begin(), call.recorded.end(), has_rows)) return 0;
  std::string_view names = call.event().argument_names;
  const auto argument_name = [names](std::size_t index) {
    std::string_view rest = names;
    for (; index > 0 && !rest.empty(); --index)
      rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
    return rest.substr(0, rest.find(','));
  };
  for (ReplayTensor& input : inputs)
    input.has_rows = has_rows(input) && std::find(kWithoutRows.begin(), kWithoutRows.end(),
                                                  argument_name(input.index)) == kWithoutRows.end();
  for (std::size_t k = 0; k < call.recorded.size(); ++k) {
    call.recorded[k].has_rows = has_rows(call.recorded[k]);
    call.request.wanted[k].has_rows = call.recorded[k].has_rows;
  }
  return rows;
}

namespace {

[[nodiscard]] std::string autocast_words(const ReplayConditions& conditions) {
  return conditions.on_gpu == conditions.autocast_other ? "autocast to bfloat16"
                                                        : "autocast to float16";
}

/// "NVIDIA H100 80GB HBM3, matmul precision highest, TF32 in cuDNN".
[[nodiscard]] std::string gpu_words(const Run& run, const RecordedPlace& place,
                                    const ReplayConditions& conditions) {
  const std::string name =
      setting(run, place.rank, std::numeric_limits<std::int64_t>::max(), "device.0.name");
  std::vector<std::string> words{name.empty() ? "a GPU" : name};
  words.push_back(fmt::format("matmul precision {}", conditions.matmul_precision));
  if (!conditions.cudnn) words.emplace_back("cuDNN off");
  if (conditions.cudnn && conditions.cudnn_tf32) words.emplace_back("TF32 in cuDNN");
  if (conditions.cudnn_benchmark) words.emplace_back("cuDNN's benchmark");
  if (conditions.cudnn_deterministic) words.emplace_back("deterministic cuDNN");
  if (conditions.deterministic) words.emplace_back("deterministic mode");
  if (conditions.autocast) words.push_back(autocast_words(conditions));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string settings_words(const Run& run, const RecordedPlace& place, const OpCall& call) {
  const ReplayConditions& conditions = call.request.conditions;
  if (conditions.on_gpu) return gpu_words(run, place, conditions);
  std::vector<std::string> words{
      core::counted(static_cast<std::uint64_t>(std::max(conditions.threads, 0)), "thread")};
  if (!call.capability.empty()) words.push_back("ATen capability " + call.capability);
  const std::string isa = setting(run, place.rank, kSetup, "cpu.onednn_isa");
  if (!conditions.mkldnn)
    words.emplace_back("oneDNN off");
  else if (!isa.empty())
    words.push_back("oneDNN " + isa);
  if (conditions.deterministic) words.emplace_back("deterministic mode");
  if (conditions.autocast) words.push_back(autocast_words(conditions));
  if (conditions.flush_denormal) words.emplace_back("denormals flushed");
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace ulpscope::comparison::experiment
