#include "compare/diff/lone_copies.hpp"

namespace ulpscope::comparison {

void LoneCopies::passed(const std::vector<SlotPair>& slots, const Both<AloneMemory>& alone,
                        const StoragePairs& pairs, const Ledger& ledger) {
  for (const Side side : kSides) {
    if (!on(alone, side).any()) continue;
    auto& known = on(by_original_, the_other(side));
    for (const SlotPair& slot : slots) {
      if (slot.reference == nullptr || slot.candidate == nullptr) continue;
      const Slot& copy = *slot.of(side);
      const std::uint64_t original = slot.of(the_other(side))->storage;
      if (!on(alone, side).made(copy)) continue;
      if (const auto at = known.find(original); at != known.end()) {
        if (slot.role() != Role::input && at->second.copy == copy.storage)
          at->second.written = true;
        continue;
      }
      if (slot.role() != Role::input || slot.match != Match::equal ||
          !on(alone, side).is_copy(copy) || !pairs.partner(the_other(side), original))
        continue;
      if (const auto source = ledger.find(differing::alone(side, {copy.writer_lane, copy.writer})))
        known.emplace(original, Known{copy.storage, *source, false});
    }
  }
}

std::optional<LoneCopies::Copy> LoneCopies::of_original(const SlotPair& slot,
                                                        const StoragePairs& pairs) const {
  if (slot.reference == nullptr || slot.candidate == nullptr) return std::nullopt;
  for (const Side side : kSides) {
    const std::uint64_t original = slot.of(the_other(side))->storage;
    const auto at = on(by_original_, the_other(side)).find(original);
    if (at != on(by_original_, the_other(side)).end() &&
        pairs.partner(the_other(side), original) == slot.of(side)->storage)
      return Copy{side, at->second.source, at->second.written};
  }
  return std::nullopt;
}

}  // namespace ulpscope::comparison
