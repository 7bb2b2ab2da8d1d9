#include "compare/align/inner_alignment.hpp"

#include <algorithm>
#include <cstddef>

#include "compare/align/relaxed_pass.hpp"
#include "compare/align/sequence_alignment.hpp"
#include "compare/model/side.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::vector<SequenceElement> inner_elements(
    const Window& window, const std::vector<std::uint32_t>& events) {
  std::vector<SequenceElement> result;
  for (const std::uint32_t index : events) {
    const Event& event = window.event(index);
    result.push_back({structure_key(event, Place::ignored), input_key(event), output_key(event),
                      event.kind != EventKind::op, argument_key(event)});
  }
  return result;
}

}  // namespace

std::vector<Entry> align_inner(const Window& reference,
                               const std::vector<std::uint32_t>& reference_events,
                               const Window& candidate,
                               const std::vector<std::uint32_t>& candidate_events) {
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    return same_structure(reference.event(a), candidate.event(b), Place::ignored);
  };
  std::vector<Entry> entries;
  if (std::equal(reference_events.begin(), reference_events.end(), candidate_events.begin(),
                 candidate_events.end(), same)) {
    for (std::size_t k = 0; k < reference_events.size(); ++k)
      entries.push_back({reference_events[k], candidate_events[k], false});
    return entries;
  }
  const SequenceAlignment alignment = align(inner_elements(reference, reference_events),
                                            inner_elements(candidate, candidate_events));
  entries = entries_from(alignment.pairs, reference_events.size(), candidate_events.size());
  const auto event_of = [&](Side side, std::uint32_t k) -> const Event& {
    return side == Side::reference ? reference.event(reference_events[k])
                                   : candidate.event(candidate_events[k]);
  };
  const auto relaxed = [&](Side side, std::uint32_t k) {
    return relaxed_element(event_of(side, k), event_of(side, k).kind != EventKind::op);
  };
  pair_by_name(entries, {[&](const ItemLists&) { return relaxed; }, event_of});
  for (Entry& entry : entries) {
    if (entry.reference != kNoIndex) entry.reference = reference_events[entry.reference];
    if (entry.candidate != kNoIndex) entry.candidate = candidate_events[entry.candidate];
  }
  return entries;
}

}  // namespace ulpscope::comparison
