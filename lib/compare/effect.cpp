#include "compare/effect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "compare/op_comparison.hpp"
#include "compare/words.hpp"

namespace ulpscope::comparison {

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
  record.effect = Effect{event_words(reference, scene.step), reported(*differing)};
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
