#include "compare/align/storage_pairs.hpp"

#include <iterator>

#include "compare/model/content.hpp"

namespace ulpscope::comparison {
namespace {

/// What a slot holds says which memory it is: of memory that nothing has filled it does not.
[[nodiscard]] bool tells_memory(const SlotPair& slot) {
  constexpr std::uint32_t kNoMemory =
      slot_flag::undefined | slot_flag::uninitialised | slot_flag::scratch | slot_flag::opaque;
  if (slot.reference == nullptr || slot.candidate == nullptr || either(slot, kNoMemory) ||
      slot.reference->storage == kNone || slot.candidate->storage == kNone)
    return false;
  if (slot.role() != Role::input) return true;
  // What an op has written was paired there.
  return slot.reference->writer == kNone && slot.candidate->writer == kNone &&
         holds_digest(*slot.reference) && slot.match == Match::equal;
}

}  // namespace

void StoragePairs::passed(const std::vector<SlotPair>& slots) {
  for (const SlotPair& slot : slots) pair(slot);
}

void StoragePairs::passed_equal(const std::vector<SlotPair>& slots) {
  for (const SlotPair& slot : slots)
    if (slot.match == Match::equal) pair(slot);
}

void StoragePairs::pair(const SlotPair& slot) {
  if (!tells_memory(slot)) return;
  const std::uint64_t reference = slot.reference->storage;
  const std::uint64_t candidate = slot.candidate->storage;
  if (is_new(Side::reference, reference) && is_new(Side::candidate, candidate))
    pair(reference, candidate);
}

std::optional<std::uint64_t> StoragePairs::find(const Ranges& ranges, std::uint64_t storage) {
  auto range = ranges.upper_bound(storage);
  if (range == ranges.begin()) return std::nullopt;
  --range;
  const std::uint64_t offset = storage - range->first;
  if (offset >= range->second.count) return std::nullopt;
  return range->second.partner + offset;
}

std::optional<std::uint64_t> StoragePairs::partner(Side side, std::uint64_t storage) const {
  return find(on(ranges_, side), storage);
}

bool StoragePairs::are_two(std::uint64_t reference, std::uint64_t candidate) const {
  const auto partner_of_reference = partner(Side::reference, reference);
  return partner_of_reference && *partner_of_reference != candidate &&
         partner(Side::candidate, candidate);
}

bool StoragePairs::is_new(Side side, std::uint64_t storage) const {
  return !find(on(ranges_, side), storage);
}

void StoragePairs::pair(std::uint64_t reference, std::uint64_t candidate) {
  if (!ranges_.reference.empty()) {
    auto& [first, range] = *last_.reference;
    if (reference == first + range.count && candidate == range.partner + range.count) {
      ++range.count;
      ++last_.candidate->second.count;
      return;
    }
  }
  if (ranges_.reference.size() >= kMostRanges) return;
  last_.reference = ranges_.reference.emplace(reference, Range{candidate, 1}).first;
  last_.candidate = ranges_.candidate.emplace(candidate, Range{reference, 1}).first;
}

}  // namespace ulpscope::comparison
