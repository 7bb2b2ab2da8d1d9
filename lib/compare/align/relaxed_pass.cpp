#include "compare/align/relaxed_pass.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

/// Entries in a row without partners.
class LeftStretch {
 public:
  LeftStretch(std::span<const Entry> entries, const RelaxedItems& all) : all_(all) {
    for (const Entry& entry : entries)
      if (entry.candidate == kNoIndex)
        items_.reference.push_back(entry.reference);
      else
        items_.candidate.push_back(entry.candidate);
    const RelaxedItems::ElementOf element_of = all_.elements_of(items_);
    for (const Side side : kSides)
      for (const std::uint32_t item : on(items_, side)) {
        const SequenceElement& element = on(elements_, side).emplace_back(element_of(side, item));
        if (element.marker) continue;
        ++on(ops_, side);
        if (is_view(side, item)) ++on(views_, side);
      }
  }

  /// Empty for different computations.
  [[nodiscard]] std::vector<Entry> pair() const {
    if (items_.reference.empty() || items_.candidate.empty()) return {};
    const SequenceAlignment alignment = align(elements_.reference, elements_.candidate);
    if (!are_enough(alignment)) return {};
    std::vector<Entry> entries =
        entries_from(alignment.pairs, items_.reference.size(), items_.candidate.size());
    for (Entry& entry : entries) {
      entry.relaxed = entry.aligned();
      if (entry.reference != kNoIndex) entry.reference = items_.reference[entry.reference];
      if (entry.candidate != kNoIndex) entry.candidate = items_.candidate[entry.candidate];
    }
    return entries;
  }

 private:
  [[nodiscard]] bool is_view(Side side, std::uint32_t item) const {
    return all_.event_of(side, item).flags & event_flag::view;
  }

  /// At least half of the ops have partners. Views count where there is nothing else.
  [[nodiscard]] bool are_enough(const SequenceAlignment& alignment) const {
    const bool only_views =
        ops_.reference == views_.reference && ops_.candidate == views_.candidate;
    const auto counts = [&](const auto& pair) {
      return !elements_.reference[pair.first].marker &&
             (only_views || !is_view(Side::reference, items_.reference[pair.first]));
    };
    const auto partners = static_cast<std::size_t>(
        std::count_if(alignment.pairs.begin(), alignment.pairs.end(), counts));
    const auto most =
        only_views ? std::max(ops_.reference, ops_.candidate)
                   : std::max(ops_.reference - views_.reference, ops_.candidate - views_.candidate);
    return 2 * partners >= most;
  }

  const RelaxedItems& all_;
  ItemLists items_;
  Both<std::vector<SequenceElement>> elements_;
  Both<std::size_t> ops_;
  Both<std::size_t> views_;
};

}  // namespace

SequenceElement relaxed_element(const Event& event, bool marker) {
  return {name_key(event), input_key(event), output_key(event), marker, argument_key(event)};
}

void pair_by_name(std::vector<Entry>& entries, const RelaxedItems& items) {
  std::vector<Entry> result;
  result.reserve(entries.size());
  for (auto begin = entries.begin(); begin != entries.end();) {
    const auto end = std::find_if(begin, entries.end(), std::mem_fn(&Entry::aligned));
    if (begin == end) {
      result.push_back(*begin++);
      continue;
    }
    const std::vector<Entry> relaxed = LeftStretch({begin, end}, items).pair();
    if (relaxed.empty())
      result.insert(result.end(), begin, end);
    else
      result.insert(result.end(), relaxed.begin(), relaxed.end());
    begin = end;
  }
  entries = std::move(result);
}

}  // namespace ulpscope::comparison
