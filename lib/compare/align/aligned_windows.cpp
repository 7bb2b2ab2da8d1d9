#include "compare/align/aligned_windows.hpp"

#include <utility>

namespace ulpscope::comparison {

void AlignedWindows::hold(Both<std::unique_ptr<Window>> windows) {
  ++generation_;
  windows_ = std::move(windows);
  set_entries({});
}

void AlignedWindows::set_entries(std::vector<Entry> entries) {
  entries_ = std::move(entries);
  number_partners();
}

void AlignedWindows::replace_entries(std::size_t kept, const Both<std::uint32_t>& first,
                                     const Both<std::uint32_t>& last) {
  entries_.resize(kept);
  for (std::uint32_t item = first.reference; item < last.reference; ++item)
    entries_.push_back({item, kNoIndex, false});
  for (std::uint32_t item = first.candidate; item < last.candidate; ++item)
    entries_.push_back({kNoIndex, item, false});
  number_partners();
}

void AlignedWindows::number_partners() {
  for (const Side side : kSides) {
    on(partner_numbers_, side).assign(items(side), 0);
    on(certain_partners_, side).assign(items(side), 0);
  }
  crosses_ = false;
  std::uint32_t next = 0;
  for (const Entry& entry : entries_) {
    if (entry.candidate != kNoIndex) {
      crosses_ = crosses_ || entry.candidate < next;
      next = entry.candidate + 1;
    }
    if (!entry.aligned()) continue;
    const std::uint64_t number = std::uint64_t{entry.reference} + 1;
    partner_numbers_.reference[entry.reference] = number;
    partner_numbers_.candidate[entry.candidate] = number;
    if (entry.relaxed) continue;
    certain_partners_.reference[entry.reference] = number;
    certain_partners_.candidate[entry.candidate] = number;
  }
}

EventPair AlignedWindows::events_of(const Entry& entry) const {
  EventPair events;
  if (entry.reference != kNoIndex)
    events.reference = windows_.reference->items()[entry.reference].event;
  if (entry.candidate != kNoIndex)
    events.candidate = windows_.candidate->items()[entry.candidate].event;
  return events;
}

std::uint64_t AlignedWindows::partner_number(Side side, std::uint64_t position) const {
  if (on(windows_, side) == nullptr) return 0;
  const std::uint32_t index = window(side).find(position);
  if (index == kNoIndex || window(side).item_of(index) == kNoIndex) return 0;
  return on(partner_numbers_, side)[window(side).item_of(index)];
}

}  // namespace ulpscope::comparison
