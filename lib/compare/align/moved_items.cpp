#include "compare/align/moved_items.hpp"

#include <algorithm>
#include <compare>
#include <set>
#include <utility>

#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

/// Memory, and computes nothing: its readers show what it is.
[[nodiscard]] bool hands_out(const Event& event) noexcept {
  return (event.flags & event_flag::view) || gives_memory(event);
}

/// It makes no tensor: the program gets a number, a file, or what it has given, as where it asks
/// for a dtype that a tensor has already. An op in place gives it nothing.
[[nodiscard]] bool only_passes_on(const Event& event) {
  const bool in_place = event.op.ends_with('_');
  return event.kind == EventKind::op && !(event.flags & event_flag::view) && !in_place &&
         std::ranges::all_of(event.slots, [&](const Slot& slot) {
           return slot.role == Role::input ||
                  (slot.role == Role::output && is_given(event, slot.storage));
         });
}

/// What an op is given, in whatever order if that does not matter to it.
[[nodiscard]] std::uint64_t given_key(const Event& event) {
  if (!facts::Op(event.op).has(facts::fact::symmetric)) return input_key(event);
  std::uint64_t sum = 0;
  for (const Slot& slot : event.slots)
    if (slot.role == Role::input) sum += KeyHash().add(slot.digest).value();
  return sum;
}

/// What an op is given and makes.
[[nodiscard]] std::uint64_t value_key(const Event& event) {
  return KeyHash()
      .add(structure_key(event, Place::counts))
      .add(given_key(event))
      .add(output_key(event))
      .add(argument_key(event))
      .value();
}

/// Both have equal tensors and arguments, slot by slot.
[[nodiscard]] bool has_equal_slots(const Event& a, const Event& b) {
  const auto is_equal = [](const Slot& one, const Slot& other) {
    return one.role == other.role && one.index == other.index && one.element == other.element &&
           one.flags == other.flags && one.digest == other.digest &&
           one.logical_digest == other.logical_digest;
  };
  return std::ranges::equal(a.slots, b.slots, is_equal) &&
         std::ranges::equal(a.argument_bytes, b.argument_bytes);
}

class MovedItemSearch {
 public:
  MovedItemSearch(const WindowPair& windows, const StoragePairs& storages)
      : windows_(windows), tensors_(windows, storages) {}

  [[nodiscard]] ItemPartners run(const std::vector<Entry>& entries) {
    if (!are_exchanged(entries) && !are_alone_in_both(entries)) return {};
    Both<ValueKeys> outside;
    Both<ValueKeys> of_backward;
    const auto add = [&](Side side, std::uint32_t item) {
      const Event& event = windows_.event_of(side, item);
      if (event.kind == EventKind::op || event.kind == EventKind::parameters)
        on(in_backward(event) ? of_backward : outside, side).emplace(item, value_key(event));
    };
    ItemPartners partners;
    for (const Entry& entry : entries) {
      if (entry.aligned() && does_the_same(entry) && tensors_.may_be_same(entry, partners)) {
        partners.emplace(entry.reference, entry.candidate);
        continue;
      }
      if (entry.reference != kNoIndex) add(Side::reference, entry.reference);
      if (entry.candidate != kNoIndex) add(Side::candidate, entry.candidate);
    }
    passes_on_in_order_ = passed_on(Side::reference) == passed_on(Side::candidate);
    if (!pair_all(outside, partners)) return {};
    const bool backward_too = pair_all(of_backward, partners);
    if (outside.reference.empty() && (of_backward.reference.empty() || !backward_too)) return {};
    if (!backward_too)
      std::erase_if(partners, [&](const auto& pair) {
        return in_backward(windows_.event_of(Side::reference, pair.first));
      });
    return partners;
  }

 private:
  using ValueKeys = std::map<std::uint32_t, std::uint64_t>;  ///< by item

  struct LeftItem {
    std::uint64_t does = 0;     ///< value_key()
    std::uint64_t tensors = 0;  ///< GivenTensors::key()
    std::uint32_t item = 0;
    auto operator<=>(const LeftItem&) const = default;
  };

  /// Partners are given and make the same. Most are equal slot by slot.
  [[nodiscard]] bool does_the_same(const Entry& entry) const {
    const Event& a = windows_.event_of(Side::reference, entry.reference);
    const Event& b = windows_.event_of(Side::candidate, entry.candidate);
    return (!entry.relaxed && has_equal_slots(a, b)) || value_key(a) == value_key(b);
  }

  /// Partners do not do the same.
  [[nodiscard]] bool are_exchanged(const std::vector<Entry>& entries) const {
    return std::ranges::any_of(entries, [&](const Entry& entry) {
      return entry.aligned() && !does_the_same(entry) &&
             !hands_out(windows_.event_of(Side::reference, entry.reference));
    });
  }

  /// Each run has ops without a partner.
  [[nodiscard]] bool are_alone_in_both(const std::vector<Entry>& entries) const {
    const auto is_alone = [&](Side side) {
      return std::ranges::any_of(entries, [&](const Entry& entry) {
        const std::uint32_t item = side == Side::reference ? entry.reference : entry.candidate;
        return !entry.aligned() && item != kNoIndex &&
               windows_.event_of(side, item).kind == EventKind::op;
      });
    };
    return is_alone(Side::reference) && is_alone(Side::candidate);
  }

  /// What the program gets of the window, in its order: equal numbers and files show no other one.
  [[nodiscard]] std::vector<std::uint64_t> passed_on(Side side) const {
    std::vector<std::uint64_t> keys;
    for (std::uint32_t item = 0; item < windows_.item_count(side); ++item) {
      const Event& event = windows_.event_of(side, item);
      if (only_passes_on(event)) keys.push_back(value_key(event));
    }
    return keys;
  }

  [[nodiscard]] std::vector<LeftItem> sorted(Side side, const ValueKeys& items) const {
    std::vector<LeftItem> all;
    for (const auto& [item, key] : items) all.push_back({key, tensors_.key(side, item), item});
    std::ranges::sort(all);
    return all;
  }

  /// Both runs have the same ones, for the same tensors: what is written to another tensor, or read
  /// by the program in another order, has not moved. Adds them to the partners.
  [[nodiscard]] bool pair_all(const Both<ValueKeys>& items, ItemPartners& partners) const {
    const auto left = sorted(Side::reference, items.reference);
    const auto right = sorted(Side::candidate, items.candidate);
    if (!std::ranges::equal(left, right, {}, &LeftItem::does, &LeftItem::does)) return false;
    std::map<std::uint64_t, std::vector<LeftItem>> free;
    for (const LeftItem& one : right) free[one.does].push_back(one);
    ItemPartners all = partners;
    // What it is given was made before it.
    for (const auto& [item, does] : items.reference)
      if (!find_partner({does, tensors_.key(Side::reference, item), item}, free.at(does), all))
        return false;
    partners = std::move(all);
    return true;
  }

  /// Takes it out of those that do the same: of equal ones the first that is for the same tensors.
  [[nodiscard]] bool find_partner(const LeftItem& one, std::vector<LeftItem>& others,
                                  ItemPartners& partners) const {
    for (const bool same_tensors : {true, false})
      for (auto other = others.begin(); other != others.end(); ++other) {
        if ((other->tensors == one.tensors) != same_tensors) continue;
        const auto added = partners.emplace(one.item, other->item).first;
        if (may_move(one.item) && tensors_.are_same(one.item, other->item, partners)) {
          others.erase(other);
          return true;
        }
        partners.erase(added);
      }
    return false;
  }

  /// What the program gets is in one order in both runs, or is not of this item.
  [[nodiscard]] bool may_move(std::uint32_t reference) const {
    return passes_on_in_order_ || !only_passes_on(windows_.event_of(Side::reference, reference));
  }

  const WindowPair& windows_;
  GivenTensors tensors_;
  bool passes_on_in_order_ = false;
};

}  // namespace

MovedItems find_moved_items(const WindowPair& windows, const StoragePairs& storages,
                            const std::vector<Entry>& entries) {
  return MovedItems(MovedItemSearch(windows, storages).run(entries));
}

MovedItems::MovedItems(ItemPartners partners) : partners_(std::move(partners)) {
  std::uint64_t number = 0;
  for (const auto& [reference, candidate] : partners_) {
    const std::uint64_t key = KeyHash().add("partners").add(++number).value();
    keys_.reference.emplace(reference, key);
    keys_.candidate.emplace(candidate, key);
  }
}

std::uint64_t MovedItems::by_partner(std::uint64_t structure, Side side, std::uint32_t item) const {
  const auto key = on(keys_, side).find(item);
  return key == on(keys_, side).end() ? structure : key->second;
}

std::vector<Entry> MovedItems::with_moved(const std::vector<Entry>& entries) const {
  Both<std::set<std::uint32_t>> alone;
  for (const Entry& entry : entries) {
    if (entry.candidate == kNoIndex) alone.reference.insert(entry.reference);
    if (entry.reference == kNoIndex) alone.candidate.insert(entry.candidate);
  }
  ItemPartners moved;
  std::set<std::uint32_t> elsewhere;
  for (const auto& [reference, candidate] : partners_) {
    if (!alone.reference.contains(reference) || !alone.candidate.contains(candidate)) continue;
    moved.emplace(reference, candidate);
    elsewhere.insert(candidate);
  }
  std::vector<Entry> result;
  result.reserve(entries.size());
  for (Entry entry : entries) {
    if (entry.reference == kNoIndex && elsewhere.contains(entry.candidate)) continue;
    const auto at = entry.aligned() ? moved.end() : moved.find(entry.reference);
    if (at != moved.end()) entry = {entry.reference, at->second, false, true};
    result.push_back(entry);
  }
  return result;
}

}  // namespace ulpscope::comparison
