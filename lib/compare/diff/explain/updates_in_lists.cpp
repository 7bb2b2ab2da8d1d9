#include "compare/diff/explain/updates_in_lists.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "compare/diff/optimizer_options.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

/// How an optimizer computes its update, or of how many tensors, not which one.
[[nodiscard]] bool is_form(const ArgumentReport& option) {
  constexpr std::array<std::string_view, 5> kForms{"foreach", "fused", "capturable",
                                                   "differentiable", kParams};
  return std::find(kForms.begin(), kForms.end(), option.name) != kForms.end();
}

[[nodiscard]] bool is_in_lists(const Event& event) {
  return facts::Op(event.op).is_foreach() || event.op.starts_with("aten::_fused_");
}

[[nodiscard]] bool has_lists(const Window& window, std::uint32_t step) {
  for (std::uint32_t index = step + 1; index < window.end(step); ++index)
    if (is_in_lists(window.event(index))) return true;
  return false;
}

[[nodiscard]] bool is_same_update(const Scene& scene, EventPair steps) {
  if (steps.reference == kNoIndex || steps.candidate == kNoIndex) return false;
  if (has_lists(*scene.windows.reference, steps.reference) ==
      has_lists(*scene.windows.candidate, steps.candidate))
    return false;
  if (scene.windows.reference->event(steps.reference).argument_bytes.empty() ||
      scene.windows.candidate->event(steps.candidate).argument_bytes.empty())
    return false;  // recorded without hyperparameters
  const auto options = other_options(scene, steps);
  return std::all_of(options.begin(), options.end(), is_form);
}

[[nodiscard]] std::optional<Source> reads_differing(RankState& state, const Scene& scene,
                                                    EventPair steps) {
  for (const Side side : kSides) {
    const Window& window = *on(scene.windows, side);
    const std::uint32_t step = side == Side::reference ? steps.reference : steps.candidate;
    for (std::uint32_t index = step + 1; index < window.end(step); ++index)
      for (const Slot& slot : window.event(index).slots)
        if (slot.role == Role::input)
          if (auto source = on(state.ledger.memory, side).find(slot, scene.step)) return source;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Source> UpdatesInLists::reason(RankState& state, const Scene& scene, Side side,
                                             std::uint32_t op) {
  const Window& window = *on(scene.windows, side);
  if (!(window.event(op).flags & event_flag::in_optimizer)) return std::nullopt;
  if (generation_ != scene.generation) of_steps_.clear();
  generation_ = scene.generation;
  const std::uint32_t step = optimizer_around(window, op);
  const auto [known, added] = of_steps_.try_emplace({side, step});
  if (added) {
    const EventPair steps = steps_around(
        scene, side == Side::reference ? EventPair{op, kNoIndex} : EventPair{kNoIndex, op});
    if (is_same_update(scene, steps)) {
      known->second = reads_differing(state, scene, steps);
      // What differed was given.
      if (!known->second && state.mode.injected) known->second = Source{};
    }
  }
  return known->second;
}

}  // namespace ulpscope::comparison
