#include "compare/diff/effect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/rng_tracker.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// The run has read this content before `reader`.
[[nodiscard]] bool has_read(const Window& window, std::uint32_t reader, const Digest& digest) {
  for (std::uint32_t index = 0; index < reader; ++index)
    for (const Slot& slot : window.event(index).slots)
      if (slot.role == Role::input && slot.digest == digest && !(slot.flags & slot_flag::no_digest))
        return true;
  return false;
}

/// It is in memory that was allocated for data and that no recorded op has fully written, in both
/// runs, or in one run while the other one reads the same content somewhere: not an accident.
[[nodiscard]] bool filled_by_program(const Scene& scene, EventPair at, const SlotPair& slot) {
  if (filled_by_ops(slot)) return false;
  return std::all_of(kSides.begin(), kSides.end(), [&](Side side) {
    const bool left = side == Side::reference;
    const Slot& one = *slot.of(side);
    const Slot& other = *slot.of(the_other(side));
    const std::uint32_t reader = left ? at.reference : at.candidate;
    const Window& window = *on(scene.windows, side);
    if (!(one.flags & slot_flag::uninitialised)) return has_read(window, reader, other.digest);
    const auto factory = factory_of(scene, side, window.event(reader), one);
    return factory && factory->for_data();
  });
}

/// A run reads memory that no recorded op wrote, and that was handed out too long ago to know what
/// for.
[[nodiscard]] bool is_of_unknown_origin(const Scene& scene, EventPair at, const SlotPair& slot) {
  return std::any_of(kSides.begin(), kSides.end(), [&](Side side) {
    const bool left = side == Side::reference;
    const Slot& one = *slot.of(side);
    const Event& reader = on(scene.windows, side)->event(left ? at.reference : at.candidate);
    return (one.flags & slot_flag::uninitialised) && !factory_of(scene, side, reader, one);
  });
}

[[nodiscard]] bool drawn_otherwise(const Scene& scene, EventPair at) {
  const Event& a = scene.windows.reference->event(at.reference);
  const Event& b = scene.windows.candidate->event(at.candidate);
  return drew(a) && drew(b) && a.rng.before != b.rng.before;
}

}  // namespace

void keep_effect(Record& record, const Scene& scene, EventPair at) {
  const FindingKind kind = record.finding.kind;
  if (kind != FindingKind::sequence && kind != FindingKind::arguments) return;
  const Event& reference = scene.windows.reference->event(at.reference);
  std::vector<SlotPair> slots;
  compare_slots(reference, scene.windows.candidate->event(at.candidate), slots);
  const auto differing = std::find_if(slots.begin(), slots.end(), [](const SlotPair& slot) {
    return slot.match == Match::differs || slot.match == Match::metadata;
  });
  if (differing == slots.end()) return;
  record.effect = Effect{
      event_words(reference, scene.step), reported(*differing),
      either(*differing, slot_flag::uninitialised) &&
          (filled_by_program(scene, at, *differing) || is_of_unknown_origin(scene, at, *differing)),
      drawn_otherwise(scene, at)};
}

std::string effect_words(const Effect& effect) {
  const TensorReport& tensor = effect.tensor.report;
  std::string words = fmt::format("the first value that differs after it is {} {} of {}",
                                  name(tensor.role), tensor.index, effect.place);
  if (!tensor.difference) return words;
  const Difference& difference = *tensor.difference;
  words += fmt::format(": {} of {} elements, {} ULP at most", difference.differing,
                       difference.elements, difference.ulp_max);
  if (difference.scaled_max)
    words += fmt::format(", {:.3g} of the largest", *difference.scaled_max);
  return words;
}

}  // namespace ulpscope::comparison
