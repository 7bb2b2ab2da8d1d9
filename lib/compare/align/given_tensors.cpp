#include "compare/align/given_tensors.hpp"

#include <algorithm>

#include "compare/model/content.hpp"
#include "compare/model/hash.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::int64_t offset_of(const Slot& slot) noexcept {
  return slot.geometry == nullptr ? 0 : slot.geometry->storage_offset;
}

[[nodiscard]] bool are_partners(const ItemPartners& partners, std::uint32_t reference,
                                std::uint32_t candidate) {
  const auto partner = partners.find(reference);
  return partner != partners.end() && partner->second == candidate;
}

}  // namespace

std::uint64_t GivenTensors::key(Side side, std::uint32_t item) const {
  KeyHash hash;
  for (const Slot& slot : windows_.event_of(side, item).slots) {
    if (slot.role != Role::input) continue;
    const auto other = storages_.partner(side, slot.storage);
    if (!slot.name.empty())
      hash.add(slot.name);
    else if (other)
      hash.add(side == Side::reference ? slot.storage : *other);
  }
  return hash.value();
}

bool GivenTensors::may_be_same(const Entry& entry, const ItemPartners& partners) const {
  return may_be_in_same_memory(entry) && are_of_partners(entry, partners);
}

bool GivenTensors::may_be_in_same_memory(const Entry& entry) const {
  const auto& left = windows_.event_of(Side::reference, entry.reference).slots;
  const auto& right = windows_.event_of(Side::candidate, entry.candidate).slots;
  return std::ranges::equal(left, right, [&](const Slot& one, const Slot& other) {
    if (one.role != Role::input || other.role != Role::input) return one.role == other.role;
    const bool named = !one.name.empty() && !other.name.empty();
    return named ? one.name == other.name
                 : !one.name.empty() || !other.name.empty() ||
                       !storages_.are_two(one.storage, other.storage);
  });
}

/// What they are given, partners have last written, as far as it was written in this window and
/// outside of backward.
bool GivenTensors::are_of_partners(const Entry& entry, const ItemPartners& partners) const {
  const Event& event = windows_.event_of(Side::reference, entry.reference);
  if (in_backward(event)) return true;
  const auto& left = event.slots;
  const auto& right = windows_.event_of(Side::candidate, entry.candidate).slots;
  return std::ranges::equal(left, right, [&](const Slot& one, const Slot& other) {
    if (one.role != Role::input || other.role != Role::input) return one.role == other.role;
    const std::uint32_t writer = windows_.writer_item(Side::reference, one);
    const std::uint32_t other_writer = windows_.writer_item(Side::candidate, other);
    return writer == kNoIndex || other_writer == kNoIndex ||
           in_backward(windows_.event_of(Side::reference, writer)) ||
           are_partners(partners, writer, other_writer);
  });
}

bool GivenTensors::are_same(std::uint32_t reference, std::uint32_t candidate,
                            const ItemPartners& partners) const {
  const Event& a = windows_.event_of(Side::reference, reference);
  const Event& b = windows_.event_of(Side::candidate, candidate);
  const bool any_order = facts::Op(a.op).has(facts::fact::symmetric);
  return std::ranges::all_of(a.slots, [&](const Slot& one) {
    if (one.role == Role::output) return true;
    return std::ranges::any_of(b.slots, [&](const Slot& other) {
      const bool same_place = one.index == other.index && one.element == other.element;
      return one.role == other.role && (same_place || any_order) && one.digest == other.digest &&
             is_same_tensor(one, other, partners);
    });
  });
}

/// Both are in memory that partners made in earlier windows, were last written by partners, or are
/// the same part of memory that no op has written. A number that the program gives an op is no
/// tensor of its own.
bool GivenTensors::is_same_tensor(const Slot& reference, const Slot& candidate,
                                  const ItemPartners& partners) const {
  if (reference.flags & candidate.flags & slot_flag::wrapped_number) return true;
  if (reference.name != candidate.name || offset_of(reference) != offset_of(candidate))
    return false;
  // Of what is only overwritten, the order of writes counts.
  if (holds_digest(reference) &&
      storages_.partner(Side::reference, reference.storage) == candidate.storage)
    return true;
  if (reference.writer == kNone || candidate.writer == kNone)
    return reference.writer == candidate.writer && reference.storage == candidate.storage;
  const std::uint32_t left = windows_.writer_item(Side::reference, reference);
  const std::uint32_t right = windows_.writer_item(Side::candidate, candidate);
  if (left == kNoIndex && right == kNoIndex)
    return reference.writer_lane == candidate.writer_lane && reference.writer == candidate.writer;
  return are_partners(partners, left, right);
}

}  // namespace ulpscope::comparison
