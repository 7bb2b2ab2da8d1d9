#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compare/model/scene.hpp"
#include "compare/model/side.hpp"
#include "compare/model/value_match.hpp"
#include "compare/model/window.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// One tensor of an event pair; null if one run's event has no such tensor.
struct SlotPair {
  const Slot* reference = nullptr;
  const Slot* candidate = nullptr;
  Match match = Match::aside;
  const Event* owner = nullptr;  ///< the event that names the tensor

  [[nodiscard]] const Slot& any() const noexcept { return reference ? *reference : *candidate; }
  /// Null if that run has no such tensor.
  [[nodiscard]] const Slot* of(Side side) const noexcept {
    return side == Side::reference ? reference : candidate;
  }
  [[nodiscard]] Role role() const noexcept { return any().role; }
};

/// slot_flag of the tensor in one run, 0 if it has none.
[[nodiscard]] inline std::uint32_t flags_of(const Slot* slot) noexcept {
  return slot ? slot->flags : 0;
}
[[nodiscard]] inline bool either(const SlotPair& slot, std::uint32_t flag) noexcept {
  return (flags_of(slot.reference) | flags_of(slot.candidate)) & flag;
}
[[nodiscard]] inline bool both(const SlotPair& slot, std::uint32_t flag) noexcept {
  return flags_of(slot.reference) & flags_of(slot.candidate) & flag;
}

/// Pairs the slots of two events by role and index and compares each pair.
void compare_slots(const Event& reference, const Event& candidate, std::vector<SlotPair>& slots);

/// Arguments whose recorded values differ, except those that only choose the device or layout of a
/// result.
struct ArgumentDifferences {
  std::vector<ArgumentReport> values;
  std::vector<ArgumentReport> placement;  ///< device, memory format and similar arguments
  std::vector<ArgumentReport> results;    ///< numbers that the op returned
};
[[nodiscard]] ArgumentDifferences compare_arguments(const Event& reference, const Event& candidate);

/// What two runs of one op have inside.
class InsideComparison {
 public:
  InsideComparison() = default;

  /// Pairs everything that ran inside two events.
  void compare(const Window& reference, const Window& candidate, EventPair outer);

  /// Pairs in order of their start, the outer event itself left out.
  [[nodiscard]] const std::vector<EventPair>& pairs() const noexcept { return pairs_; }
  /// Events without a partner.
  [[nodiscard]] const Both<std::vector<std::uint32_t>>& alone() const noexcept { return alone_; }
  /// False if other ops were called, or the same with other shapes.
  [[nodiscard]] bool same() const noexcept { return same_; }

 private:
  void pair_by_alignment(const Window& reference, const Window& candidate, EventPair outer,
                         std::size_t depth);

  std::vector<EventPair> pairs_;
  Both<std::vector<std::uint32_t>> alone_;
  bool same_ = true;
};

/// True if nothing that two events read differs and both were given the same arguments. Memory that
/// an inner op receives in order to write it is not an input.
[[nodiscard]] bool same_inputs(const Event& reference, const Event& candidate);

/// True if a tensor that both leave differs.
[[nodiscard]] bool different_outputs(const Event& reference, const Event& candidate);

/// The deepest op inside `outer` (or `outer` itself) whose inputs are equal and whose outputs are
/// not. It stays where the ops called inside differ before the difference can be explained.
struct Origin {
  EventPair at;
  bool inside_differs = false;
};
[[nodiscard]] Origin find_origin(const Window& reference, const Window& candidate, EventPair outer);

}  // namespace ulpscope::comparison
