#include "compare/align/window_alignment.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compare/align/shared_calls.hpp"
#include "compare/model/call_key.hpp"
#include "compare/model/content.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool in_backward(const Event& event) noexcept {
  return event.flags & event_flag::in_backward;
}

[[nodiscard]] std::string_view gradient_name(const Event& gradient) noexcept {
  for (const Slot& slot : gradient.slots)
    if (slot.flags & slot_flag::gradient) return slot.name;
  return {};
}

/// The innermost event around one, itself included, that backward runs for a forward event;
/// kNoIndex outside of backward.
[[nodiscard]] std::uint32_t linked_around(const Window& window, std::uint32_t event) {
  for (; event != kNoIndex; event = window.parent(event)) {
    const EventKind kind = window.event(event).kind;
    if (kind == EventKind::node || kind == EventKind::module_gradient) return event;
  }
  return kNoIndex;
}

/// Ends of scopes weigh less than ops, unless there are no ops.
[[nodiscard]] bool has_ops(const Window& window) {
  return std::any_of(window.items().begin(), window.items().end(),
                     [](const Item& item) { return item.op; });
}

/// Entries from partners: what is between two partners on one side has no partner.
[[nodiscard]] std::vector<Entry> entries_from(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, std::size_t reference_count,
    std::size_t candidate_count) {
  std::vector<Entry> entries;
  entries.reserve(std::max(reference_count, candidate_count));
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  const auto alone = [&](std::size_t i_end, std::size_t j_end) {
    while (i < i_end) entries.push_back({i++, kNoIndex, false});
    while (j < j_end) entries.push_back({kNoIndex, j++, false});
  };
  for (const auto& [a, b] : pairs) {
    alone(a, b);
    entries.push_back({i++, j++, false});
  }
  alone(reference_count, candidate_count);
  return entries;
}

/// Pairs by name inside each stretch that strict alignment left: the same op with different shapes.
/// A stretch whose names hardly agree, or where one run does much more than to make views, is a
/// different computation and keeps none.
class RelaxedPass {
 public:
  using Items = Both<std::vector<std::uint32_t>>;
  using ElementOf = std::function<SequenceElement(Side, std::uint32_t)>;
  /// Gives an element for each item of a stretch.
  using ElementsOf = std::function<ElementOf(const Items&)>;
  using IsView = std::function<bool(Side, std::uint32_t)>;

  static void run(std::vector<Entry>& entries, const ElementsOf& elements, const IsView& is_view) {
    std::vector<Entry> result;
    result.reserve(entries.size());
    for (std::size_t begin = 0; begin < entries.size();) {
      if (entries[begin].aligned()) {
        result.push_back(entries[begin++]);
        continue;
      }
      std::size_t end = begin;
      while (end < entries.size() && !entries[end].aligned()) ++end;
      append_stretch(entries, begin, end, elements, is_view, result);
      begin = end;
    }
    entries = std::move(result);
  }

 private:
  static void append_stretch(const std::vector<Entry>& entries, std::size_t begin, std::size_t end,
                             const ElementsOf& elements_of, const IsView& is_view,
                             std::vector<Entry>& result) {
    Items items;
    for (std::size_t k = begin; k < end; ++k)
      if (entries[k].candidate == kNoIndex)
        items.reference.push_back(entries[k].reference);
      else
        items.candidate.push_back(entries[k].candidate);
    const ElementOf element = elements_of(items);
    Both<std::vector<SequenceElement>> elements;
    Both<std::size_t> ops;
    Both<std::size_t> views;
    for (const Side side : kSides)
      for (const std::uint32_t item : on(items, side)) {
        on(elements, side).push_back(element(side, item));
        if (on(elements, side).back().marker) continue;
        ++on(ops, side);
        if (is_view(side, item)) ++on(views, side);
      }
    std::vector<Entry> relaxed;
    if (!items.reference.empty() && !items.candidate.empty()) {
      const SequenceAlignment alignment = align(elements.reference, elements.candidate);
      const bool only_views = ops.reference == views.reference && ops.candidate == views.candidate;
      const auto counts = [&](const auto& pair) {
        return !elements.reference[pair.first].marker &&
               (only_views || !is_view(Side::reference, items.reference[pair.first]));
      };
      const auto partners = static_cast<std::size_t>(
          std::count_if(alignment.pairs.begin(), alignment.pairs.end(), counts));
      const auto most =
          only_views ? std::max(ops.reference, ops.candidate)
                     : std::max(ops.reference - views.reference, ops.candidate - views.candidate);
      if (2 * partners >= most)
        relaxed = entries_from(alignment.pairs, items.reference.size(), items.candidate.size());
    }
    if (relaxed.empty()) {
      result.insert(result.end(), entries.begin() + static_cast<std::ptrdiff_t>(begin),
                    entries.begin() + static_cast<std::ptrdiff_t>(end));
      return;
    }
    for (Entry entry : relaxed) {
      entry.relaxed = entry.aligned();
      if (entry.reference != kNoIndex) entry.reference = items.reference[entry.reference];
      if (entry.candidate != kNoIndex) entry.candidate = items.candidate[entry.candidate];
      result.push_back(entry);
    }
  }
};

[[nodiscard]] bool is_view(const Event& event) noexcept { return event.flags & event_flag::view; }

/// Memory, and computes nothing: its readers show what it is.
[[nodiscard]] bool hands_out(const Event& event) noexcept {
  return is_view(event) || gives_memory(event);
}

[[nodiscard]] SequenceElement relaxed_element(const Event& event, bool marker) {
  return {name_key(event), input_key(event), output_key(event), marker, argument_key(event)};
}

/// It makes no tensor: the program gets a number, a file, or what it has given, as where it asks
/// for a dtype that a tensor has already. An op in place gives it nothing.
[[nodiscard]] bool only_passes_on(const Event& event) {
  const auto is_given = [&](std::uint64_t storage) {
    return std::ranges::any_of(event.slots, [&](const Slot& slot) {
      return slot.role == Role::input && slot.storage == storage;
    });
  };
  const bool in_place = event.op.ends_with('_');
  return event.kind == EventKind::op && !is_view(event) && !in_place &&
         std::ranges::all_of(event.slots, [&](const Slot& slot) {
           return slot.role == Role::input || (slot.role == Role::output && is_given(slot.storage));
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

/// Aligns the items of two windows in two rounds: what runs outside of backward first, then
/// everything, with backward tied to its forward ops.
class WindowAligner {
 public:
  WindowAligner(const Both<const Window*>& windows, const Both<std::uint32_t>& lanes,
                const ForwardId& forward, const StoragePairs& storages, bool several_steps,
                const AlignmentLimits& limits)
      : windows_(windows),
        lanes_(lanes),
        outside_(forward),
        storages_(storages),
        limits_(limits),
        several_steps_(several_steps),
        has_ops_(has_ops(*windows.reference) || has_ops(*windows.candidate)) {}

  [[nodiscard]] WindowAlignment run() {
    WindowAlignment result = same_throughout() ? align_one_to_one() : align_all();
    if (!note_moved(result.entries)) return result;
    result = align_all();
    // What comes after a piece of a step may be in either run's order.
    if (window(Side::reference).last() && window(Side::candidate).last())
      result.entries = with_moved(result.entries);
    return result;
  }

 private:
  [[nodiscard]] WindowAlignment align_one_to_one() const {
    WindowAlignment result;
    const std::size_t count = window(Side::reference).items().size();
    result.operations = count;
    result.entries.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) result.entries.push_back({i, i, false});
    return result;
  }

  [[nodiscard]] WindowAlignment align_all() {
    WindowAlignment result;
    // As many passes in both runs are the same ones, whatever becomes of their gradients.
    const bool same_passes = passes(Side::reference) == passes(Side::candidate);
    // Where the last updates leave the same, the last pass of both is the same one.
    const bool from_the_end = !same_passes && leave_the_same();
    for (const Side side : kSides) {
      auto& dropped = on(dropped_, side);
      if (same_passes)
        dropped.assign(window(side).items().size(), 0);
      else
        count_dropped_gradients(side);
      if (from_the_end) count_from_last_update(side);
    }
    calls_ = calls_of_items(windows_);
    const SequenceAlignment forward_part = align_forward();
    note_ties();
    const SequenceAlignment whole = align_by_calls(all_items(), [&](Side side, std::uint32_t item) {
      return element(side, item, tie(side, item));
    });
    result.operations = forward_part.operations + whole.operations;
    result.given_up = whole.given_up;
    result.entries = entries_from(whole.pairs, window(Side::reference).items().size(),
                                  window(Side::candidate).items().size());
    find_moved(result.entries);
    RelaxedPass::run(
        result.entries,
        [&](const Items& items) {
          return [this, calls = SharedCalls(calls_, items)](Side side, std::uint32_t item) {
            return relaxed(side, item, calls.of(side, item));
          };
        },
        [&](Side side, std::uint32_t item) { return is_view(event_of(side, item)); });
    return result;
  }

  /// What an op is given and makes.
  [[nodiscard]] std::uint64_t value_key(Side side, std::uint32_t item) const {
    const Event& event = event_of(side, item);
    return KeyHash()
        .add(structure_key(event, Place::counts))
        .add(given_key(event))
        .add(output_key(event))
        .add(argument_key(event))
        .value();
  }

  /// Partners are given and make the same. Most are equal slot by slot.
  [[nodiscard]] bool does_the_same(const Entry& entry) const {
    const Event& a = event_of(Side::reference, entry.reference);
    const Event& b = event_of(Side::candidate, entry.candidate);
    const auto is_equal = [](const Slot& one, const Slot& other) {
      return one.role == other.role && one.index == other.index && one.element == other.element &&
             one.flags == other.flags && one.digest == other.digest &&
             one.logical_digest == other.logical_digest;
    };
    const bool equal = !entry.relaxed && std::ranges::equal(a.slots, b.slots, is_equal) &&
                       std::ranges::equal(a.argument_bytes, b.argument_bytes);
    return equal || value_key(Side::reference, entry.reference) ==
                        value_key(Side::candidate, entry.candidate);
  }

  using Keys = std::map<std::uint32_t, std::uint64_t>;  ///< by item

  struct MovedItem {
    std::uint64_t does = 0;
    std::uint64_t memory = 0;  ///< memory_key()
    std::uint32_t item = 0;
    auto operator<=>(const MovedItem&) const = default;
  };

  [[nodiscard]] std::vector<MovedItem> sorted(Side side, const Keys& moved) const {
    std::vector<MovedItem> all;
    for (const auto& [item, key] : moved) all.push_back({key, memory_key(side, item), item});
    std::ranges::sort(all);
    return all;
  }

  /// Equal for items that are given the same tensors, as far as names or earlier windows show that.
  [[nodiscard]] std::uint64_t memory_key(Side side, std::uint32_t item) const {
    KeyHash hash;
    for (const Slot& slot : event_of(side, item).slots) {
      if (slot.role != Role::input) continue;
      const auto other = storages_.partner(side, slot.storage);
      if (!slot.name.empty())
        hash.add(slot.name);
      else if (other)
        hash.add(side == Side::reference ? slot.storage : *other);
    }
    return hash.value();
  }

  /// Nothing shows that partners are given different tensors.
  [[nodiscard]] bool is_given_the_same(const Entry& entry) const {
    const auto& left = event_of(Side::reference, entry.reference).slots;
    const auto& right = event_of(Side::candidate, entry.candidate).slots;
    return std::ranges::equal(left, right, [&](const Slot& one, const Slot& other) {
      if (one.role != Role::input || other.role != Role::input) return one.role == other.role;
      const bool named = !one.name.empty() && !other.name.empty();
      return named ? one.name == other.name
                   : !one.name.empty() || !other.name.empty() ||
                         !storages_.are_two(one.storage, other.storage);
    });
  }

  using Partners = std::map<std::uint32_t, std::uint32_t>;  ///< items of the candidate, by those of
                                                            ///< the reference

  /// What they are given, partners have last written, as far as it was written in this window and
  /// outside of backward.
  [[nodiscard]] bool are_of_partners(const Entry& entry, const Partners& partners) const {
    const Event& event = event_of(Side::reference, entry.reference);
    if (in_backward(event)) return true;
    const auto& left = event.slots;
    const auto& right = event_of(Side::candidate, entry.candidate).slots;
    return std::ranges::equal(left, right, [&](const Slot& one, const Slot& other) {
      if (one.role != Role::input || other.role != Role::input) return one.role == other.role;
      const std::uint32_t writer = writer_item(Side::reference, one);
      const std::uint32_t other_writer = writer_item(Side::candidate, other);
      if (writer == kNoIndex || other_writer == kNoIndex ||
          in_backward(event_of(Side::reference, writer)))
        return true;
      const auto partner = partners.find(writer);
      return partner != partners.end() && partner->second == other_writer;
    });
  }

  /// Ops, and looks at a model's parameters, without a partner that is given and makes the same, if
  /// both runs have the same ones of them: only their order differs, as where independent
  /// statements are exchanged. Each is then aligned with the one that does the same, and so are
  /// those that have not moved. Of backward, which may add up gradients in another order then, too,
  /// if it has the same ones as well.
  [[nodiscard]] bool note_moved(const std::vector<Entry>& entries) {
    const bool exchanged = std::ranges::any_of(entries, [&](const Entry& entry) {
      return entry.aligned() && !does_the_same(entry) &&
             !hands_out(event_of(Side::reference, entry.reference));
    });
    if (!exchanged && !are_alone_in_both(entries)) return false;
    Both<Keys> outside;
    Both<Keys> of_backward;
    Partners partners;
    const auto add = [&](Side side, std::uint32_t item) {
      const Event& event = event_of(side, item);
      if (event.kind == EventKind::op || event.kind == EventKind::parameters)
        on(in_backward(event) ? of_backward : outside, side).emplace(item, value_key(side, item));
    };
    for (const Entry& entry : entries) {
      if (entry.aligned() && does_the_same(entry) && is_given_the_same(entry) &&
          are_of_partners(entry, partners)) {
        partners.emplace(entry.reference, entry.candidate);
        continue;
      }
      if (entry.reference != kNoIndex) add(Side::reference, entry.reference);
      if (entry.candidate != kNoIndex) add(Side::candidate, entry.candidate);
    }
    passes_on_in_order_ = passed_on(Side::reference) == passed_on(Side::candidate);
    if (!do_the_same(outside, partners)) return false;
    const bool backward_too = do_the_same(of_backward, partners);
    if (outside.reference.empty() && (of_backward.reference.empty() || !backward_too)) return false;
    std::uint64_t number = 0;
    for (const auto& [reference, candidate] : partners) {
      if (in_backward(event_of(Side::reference, reference)) && !backward_too) continue;
      partners_.emplace(reference, candidate);
      const std::uint64_t key = KeyHash().add("partners").add(++number).value();
      exchanged_.reference.emplace(reference, key);
      exchanged_.candidate.emplace(candidate, key);
    }
    return true;
  }

  /// What the program gets of the window, in its order: equal numbers and files show no other one.
  [[nodiscard]] std::vector<std::uint64_t> passed_on(Side side) const {
    std::vector<std::uint64_t> keys;
    for (std::uint32_t item = 0; item < window(side).items().size(); ++item)
      if (only_passes_on(event_of(side, item))) keys.push_back(value_key(side, item));
    return keys;
  }

  /// What has moved past partners is aligned where the reference has it.
  [[nodiscard]] std::vector<Entry> with_moved(const std::vector<Entry>& entries) const {
    Both<std::set<std::uint32_t>> alone;
    for (const Entry& entry : entries) {
      if (entry.candidate == kNoIndex) alone.reference.insert(entry.reference);
      if (entry.reference == kNoIndex) alone.candidate.insert(entry.candidate);
    }
    Partners moved;
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

  /// Each run has ops without a partner.
  [[nodiscard]] bool are_alone_in_both(const std::vector<Entry>& entries) const {
    const auto is_alone = [&](Side side) {
      return std::ranges::any_of(entries, [&](const Entry& entry) {
        const std::uint32_t item = side == Side::reference ? entry.reference : entry.candidate;
        return !entry.aligned() && item != kNoIndex && event_of(side, item).kind == EventKind::op;
      });
    };
    return is_alone(Side::reference) && is_alone(Side::candidate);
  }

  /// Both runs have the same ones, for the same tensors: what is written to another tensor, or read
  /// by the program in another order, has not moved. Adds them to the partners.
  [[nodiscard]] bool do_the_same(const Both<Keys>& moved, Partners& partners) const {
    const auto left = sorted(Side::reference, moved.reference);
    const auto right = sorted(Side::candidate, moved.candidate);
    if (!std::ranges::equal(left, right, {}, &MovedItem::does, &MovedItem::does)) return false;
    std::map<std::uint64_t, std::vector<MovedItem>> free;
    for (const MovedItem& one : right) free[one.does].push_back(one);
    Partners all = partners;
    // What it is given was made before it.
    for (const auto& [item, does] : moved.reference)
      if (!find_partner({does, memory_key(Side::reference, item), item}, free.at(does), all))
        return false;
    partners = std::move(all);
    return true;
  }

  /// Takes it out of those that do the same: of equal ones the first that is for the same tensors.
  [[nodiscard]] bool find_partner(const MovedItem& one, std::vector<MovedItem>& others,
                                  Partners& partners) const {
    for (const bool same_memory : {true, false})
      for (auto other = others.begin(); other != others.end(); ++other) {
        if ((other->memory == one.memory) != same_memory) continue;
        const auto added = partners.emplace(one.item, other->item).first;
        if (are_for_the_same(one.item, other->item, partners)) {
          others.erase(other);
          return true;
        }
        partners.erase(added);
      }
    return false;
  }

  [[nodiscard]] bool are_for_the_same(std::uint32_t reference, std::uint32_t candidate,
                                      const Partners& partners) const {
    const Event& a = event_of(Side::reference, reference);
    const Event& b = event_of(Side::candidate, candidate);
    if (only_passes_on(a) && !passes_on_in_order_) return false;
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

  /// What has last written the slot in this window, or kNoIndex.
  [[nodiscard]] std::uint32_t writer_item(Side side, const Slot& slot) const {
    if (slot.writer == kNone || slot.writer_lane != on(lanes_, side)) return kNoIndex;
    const std::uint32_t writer = window(side).find(slot.writer);
    return writer == kNoIndex ? kNoIndex : window(side).item_of(writer);
  }

  /// Both are in memory that partners made in earlier windows, were last written by partners, or
  /// are the same part of memory that no op has written. A number that the program gives an op is
  /// no tensor of its own.
  [[nodiscard]] bool is_same_tensor(const Slot& reference, const Slot& candidate,
                                    const Partners& partners) const {
    const auto offset = [](const Slot& slot) {
      return slot.geometry == nullptr ? 0 : slot.geometry->storage_offset;
    };
    if (reference.flags & candidate.flags & slot_flag::wrapped_number) return true;
    if (reference.name != candidate.name || offset(reference) != offset(candidate)) return false;
    // Of what is only overwritten, the order of writes counts.
    if (holds_digest(reference) &&
        storages_.partner(Side::reference, reference.storage) == candidate.storage)
      return true;
    if (reference.writer == kNone || candidate.writer == kNone)
      return reference.writer == candidate.writer && reference.storage == candidate.storage;
    const std::uint32_t left = writer_item(Side::reference, reference);
    const std::uint32_t right = writer_item(Side::candidate, candidate);
    if (left == kNoIndex && right == kNoIndex)
      return reference.writer_lane == candidate.writer_lane && reference.writer == candidate.writer;
    const auto partner = partners.find(left);
    return partner != partners.end() && partner->second == right;
  }

  /// Where statements are exchanged, their items have only the partners that do the same.
  [[nodiscard]] std::uint64_t by_partner(std::uint64_t structure, Side side,
                                         std::uint32_t item) const {
    const auto known = on(exchanged_, side).find(item);
    return known == on(exchanged_, side).end() ? structure : known->second;
  }

  [[nodiscard]] const Window& window(Side side) const { return *on(windows_, side); }
  [[nodiscard]] const Event& event_of(Side side, std::uint32_t item) const {
    return window(side).event(window(side).items()[item].event);
  }

  [[nodiscard]] bool is_marker(const Event& event) const {
    return has_ops_ && event.kind != EventKind::op;
  }

  /// In several steps there are several updates. What an optimizer reads and leaves, as its count
  /// of steps, says how many were before this one, not which one it is.
  [[nodiscard]] bool is_update_of_several(const Event& event) const {
    return several_steps_ && event.kind == EventKind::op && event.phase == Phase::optimizer;
  }

  /// The item of this window that a node's forward op belongs to, or kNoIndex.
  [[nodiscard]] std::uint32_t forward_item(Side side, const Event& node) const {
    if (node.forward == kNone || node.forward_lane != on(lanes_, side)) return kNoIndex;
    const std::uint32_t index = window(side).find(node.forward);
    return index == kNoIndex ? kNoIndex : window(side).item_of(index);
  }

  using Items = Both<std::vector<std::uint32_t>>;

  [[nodiscard]] Items all_items() const {
    Items items;
    for (const Side side : kSides) {
      on(items, side).resize(window(side).items().size());
      std::iota(on(items, side).begin(), on(items, side).end(), 0);
    }
    return items;
  }

  /// Items of the same call first. Between those with partners, calls that only one run has left
  /// may stand in each other's place.
  template <class ElementOf>
  [[nodiscard]] SequenceAlignment align_by_calls(const Items& items,
                                                 const ElementOf& element_of) const {
    const auto align_items = [&](const Items& some, const SharedCalls& calls) {
      Both<std::vector<SequenceElement>> elements;
      for (const Side side : kSides)
        for (const std::uint32_t item : on(some, side)) {
          SequenceElement& element = on(elements, side).emplace_back(element_of(side, item));
          element.structure =
              by_partner(in_call(element.structure, calls.of(side, item)), side, item);
        }
      return align(elements.reference, elements.candidate, limits_);
    };
    const SharedCalls all_calls(calls_, items);
    SequenceAlignment alignment = align_items(items, all_calls);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    std::uint32_t i = 0;
    std::uint32_t j = 0;
    const auto align_between = [&](std::uint32_t i_end, std::uint32_t j_end) {
      if (i == i_end || j == j_end) return;
      const Items between{{items.reference.begin() + i, items.reference.begin() + i_end},
                          {items.candidate.begin() + j, items.candidate.begin() + j_end}};
      const SharedCalls calls(calls_, between);
      const auto are_free = [&](Side side) {
        return std::ranges::any_of(on(between, side), [&](std::uint32_t item) {
          return calls.of(side, item) != all_calls.of(side, item);
        });
      };
      if (!are_free(Side::reference) && !are_free(Side::candidate)) return;
      const SequenceAlignment inner = align_items(between, calls);
      alignment.operations += inner.operations;
      for (const auto& [a, b] : inner.pairs) pairs.emplace_back(i + a, j + b);
    };
    for (const auto& [a, b] : alignment.pairs) {
      align_between(a, b);
      pairs.emplace_back(a, b);
      i = a + 1;
      j = b + 1;
    }
    align_between(static_cast<std::uint32_t>(items.reference.size()),
                  static_cast<std::uint32_t>(items.candidate.size()));
    alignment.pairs = std::move(pairs);
    return alignment;
  }

  [[nodiscard]] static std::uint64_t in_call(std::uint64_t structure, std::uint64_t call) {
    return call == 0 ? structure : KeyHash().add(structure).add(call).value();
  }

  [[nodiscard]] bool same_throughout() const {
    const auto reference = window(Side::reference).items();
    const auto candidate = window(Side::candidate).items();
    if (reference.size() != candidate.size()) return false;
    CallKeys calls;
    const auto are_other_calls = [](std::uint64_t one, std::uint64_t other) {
      return one != 0 && other != 0 && one != other;
    };
    for (std::uint32_t i = 0; i < reference.size(); ++i) {
      const Event& a = event_of(Side::reference, i);
      const Event& b = event_of(Side::candidate, i);
      if (!same_structure(a, b, Place::counts)) return false;
      if (a.stack != b.stack && are_other_calls(calls.of(a.stack), calls.of(b.stack))) return false;
      if ((a.kind == EventKind::node || a.kind == EventKind::module_gradient) &&
          forward_item(Side::reference, a) != forward_item(Side::candidate, b))
        return false;
    }
    return true;
  }

  /// How often backward runs, one after the other.
  [[nodiscard]] std::uint64_t passes(Side side) const {
    std::uint64_t count = 0;
    bool before = false;
    for (const Item& item : window(side).items()) {
      const bool now = in_backward(window(side).event(item.event));
      if (now && !before) ++count;
      before = now;
    }
    return count;
  }

  using Parameter = std::pair<std::string_view, std::string_view>;  ///< root, name

  /// What the last update of each parameter has written.
  [[nodiscard]] std::map<Parameter, Digest> left_by_updates(Side side) const {
    std::map<Parameter, Digest> left;
    for (const Item& item : window(side).items()) {
      const Event& event = window(side).event(item.event);
      if (!updates_parameter(event)) continue;
      for (const Slot& slot : event.slots)
        if (slot.role != Role::input && (slot.flags & slot_flag::parameter) && !slot.name.empty())
          left.insert_or_assign({event.root, slot.name}, slot.digest);
    }
    return left;
  }

  [[nodiscard]] bool leave_the_same() const {
    const auto left = left_by_updates(Side::reference);
    return !left.empty() && left == left_by_updates(Side::candidate);
  }

  using Roots = std::unordered_set<std::string_view>;

  /// The roots whose parameters each optimizer updates.
  [[nodiscard]] std::unordered_map<std::uint64_t, Roots> trained_roots(Side side) const {
    std::unordered_map<std::uint64_t, Roots> roots;
    const Window& events = window(side);
    for (std::uint32_t index = 0; index < events.size(); ++index) {
      if (events.event(index).kind != EventKind::optimizer) continue;
      Roots& own = roots[events.event(index).object];
      for (std::uint32_t inner = index + 1; inner < events.end(index); ++inner)
        if (updates_parameter(events.event(inner))) own.insert(events.event(inner).root);
    }
    return roots;
  }

  /// Optimizers' ops are not paired across a skipped update: for each item, how many times
  /// gradients that backward had left were dropped before it.
  void count_dropped_gradients(Side side) {
    auto& dropped = on(dropped_, side);
    dropped.clear();
    const auto trained = trained_roots(side);
    std::int64_t times = 0;
    bool left = false;
    Roots roots_left;
    std::optional<std::size_t> zeroed;  // the item that first set one of them to zero
    std::set<Parameter> taken;          // with a gradient
    /// Gradients of what the optimizer trains are there no longer; of all, if that is not known.
    const auto forget = [&](std::uint64_t optimizer) {
      const auto own = trained.find(optimizer);
      if (own == trained.end() || own->second.empty()) {
        roots_left.clear();
        return std::exchange(left, false);
      }
      std::size_t forgotten = 0;
      for (const std::string_view root : own->second) forgotten += roots_left.erase(root);
      left = !roots_left.empty();
      return forgotten > 0;
    };
    for (const Item& item : window(side).items()) {
      const Event& event = window(side).event(item.event);
      bool drops = false;
      if (event.kind == EventKind::gradient && takes_over_gradient(window(side), item.event))
        drops = !gradient_name(event).empty() &&
                !taken.emplace(event.root, gradient_name(event)).second;
      if (in_backward(event)) {
        left = true;
        if (event.kind == EventKind::gradient) roots_left.insert(event.root);
        if (zeroed) {
          for (std::size_t k = *zeroed; k < dropped.size(); ++k) ++dropped[k];
          ++times;
          zeroed.reset();
          taken.clear();
        }
      } else if (event.kind == EventKind::zero_grad) {
        drops = forget(event.object);
      } else if (event.kind == EventKind::optimizer || updates_parameter(event)) {
        // The passes before have served it, whatever else they have left gradients of.
        left = false;
        roots_left.clear();
        zeroed.reset();
        taken.clear();
      } else if (left && !zeroed && zeroes_gradient(event)) {
        zeroed = dropped.size();
      }
      if (drops) {
        ++times;
        taken.clear();
      }
      dropped.push_back(times);
    }
  }

  /// Counts dropped gradients between each item and the last update, not from the first item on.
  void count_from_last_update(Side side) {
    const auto items = window(side).items();
    const auto last = std::find_if(items.rbegin(), items.rend(), [&](const Item& item) {
      return updates_parameter(window(side).event(item.event));
    });
    if (last == items.rend()) return;
    auto& dropped = on(dropped_, side);
    const std::int64_t at_update =
        dropped[static_cast<std::size_t>(std::distance(last, items.rend())) - 1];
    for (std::int64_t& times : dropped) times -= at_update;
  }

  [[nodiscard]] std::uint64_t after_dropped_gradients(std::uint64_t structure, Side side,
                                                      std::uint32_t item) const {
    const std::int64_t times = on(dropped_, side)[item];
    return times == 0 ? structure
                      : KeyHash()
                            .add(structure)
                            .add("dropped")
                            .add(static_cast<std::uint64_t>(times))
                            .value();
  }

  /// What adds to a parameter's gradient is not what backward adds up before.
  [[nodiscard]] std::uint64_t placed(std::uint64_t structure, Side side, std::uint32_t item) const {
    structure = after_dropped_gradients(structure, side, item);
    const bool into_gradient = accumulates(window(side), window(side).items()[item].event);
    return into_gradient ? KeyHash().add(structure).add("into a gradient").value() : structure;
  }

  /// The same op in a different node is the backward of a different op.
  [[nodiscard]] std::uint64_t in_its_node(std::uint64_t structure, Side side,
                                          std::uint32_t item) const {
    const std::uint32_t node = linked_around(window(side), window(side).items()[item].event);
    if (node == kNoIndex) return structure;
    return KeyHash().add(structure).add(window(side).event(node).op).value();
  }

  /// Ops of setup that both runs have, but in a different order: a model's layers may be created in
  /// any order. They are not the same ops with different shapes.
  void find_moved(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      if (entry.aligned()) continue;
      const Side side = entry.candidate == kNoIndex ? Side::reference : Side::candidate;
      const std::uint32_t item = side == Side::reference ? entry.reference : entry.candidate;
      const Event& event = event_of(side, item);
      if (event.phase == Phase::setup) on(alone_, side).insert(structure_key(event, Place::counts));
    }
  }

  [[nodiscard]] bool has_moved(Side side, std::uint32_t item) const {
    const Event& event = event_of(side, item);
    const auto& elsewhere = on(alone_, the_other(side));
    return event.phase == Phase::setup && elsewhere.contains(structure_key(event, Place::counts));
  }

  [[nodiscard]] SequenceElement element(Side side, std::uint32_t item,
                                        std::uint64_t forward) const {
    const Event& event = event_of(side, item);
    std::uint64_t structure = structure_key(event, Place::counts);
    structure = placed(structure, side, item);
    if (forward != 0) structure = KeyHash().add(structure).add(forward).value();
    if (is_update_of_several(event)) return {.structure = structure, .weak = true};
    return {structure, input_key(event), output_key(event), is_marker(event), argument_key(event)};
  }

  /// Numbers the partners outside of backward, so that nodes can name them.
  [[nodiscard]] SequenceAlignment align_forward() {
    Items items;
    for (const Side side : kSides) {
      const auto count = static_cast<std::uint32_t>(window(side).items().size());
      on(partner_, side).assign(count, 0);
      for (std::uint32_t item = 0; item < count; ++item)
        if (!in_backward(event_of(side, item))) on(items, side).push_back(item);
    }
    SequenceAlignment alignment = align_by_calls(
        items, [&](Side side, std::uint32_t item) { return element(side, item, 0); });
    std::uint64_t number = 0;
    for (const auto& [a, b] : alignment.pairs) {
      ++number;
      partner_.reference[items.reference[a]] = number;
      partner_.candidate[items.candidate[b]] = number;
    }
    return alignment;
  }

  [[nodiscard]] std::uint64_t forward_number(Side side, std::uint32_t item) const {
    const std::uint32_t node = linked_around(window(side), window(side).items()[item].event);
    if (node == kNoIndex) return 0;
    const Event& event = window(side).event(node);
    if (event.forward == kNone) return 0;
    if (const std::uint32_t forward = forward_item(side, event); forward != kNoIndex) {
      const std::uint64_t number = on(partner_, side)[forward];
      return number == 0 ? 0 : KeyHash().add(number).value();
    }
    return outside_ ? outside_(side, event.forward_lane, event.forward) : 0;
  }

  /// Of backward for a forward op whose partner's backward is in the other window, too: it is that
  /// of no other op.
  [[nodiscard]] std::uint64_t tie_of_both(Side side, std::uint32_t item) const {
    if (!in_backward(event_of(side, item))) return 0;
    const std::uint64_t number = forward_number(side, item);
    return on(ties_, the_other(side)).contains(number) ? number : 0;
  }

  void note_ties() {
    for (const Side side : kSides)
      for (std::uint32_t item = 0; item < window(side).items().size(); ++item)
        if (in_backward(event_of(side, item))) on(ties_, side).insert(tie(side, item));
  }

  /// What pairs items that strict alignment has left.
  [[nodiscard]] SequenceElement relaxed(Side side, std::uint32_t item, std::uint64_t call) const {
    const Event& event = event_of(side, item);
    SequenceElement element = relaxed_element(event, is_marker(event));
    if (is_update_of_several(event)) element.structure = structure_key(event, Place::counts);
    element.structure =
        in_call(in_its_node(placed(element.structure, side, item), side, item), call);
    if (const std::uint64_t both = tie_of_both(side, item); both != 0)
      element.structure = KeyHash().add(element.structure).add(both).value();
    if (has_moved(side, item))
      element.structure = KeyHash()
                              .add(element.structure)
                              .add(std::uint64_t{side == Side::reference})
                              .add(std::uint64_t{item})
                              .value();
    element.structure = by_partner(element.structure, side, item);
    return element;
  }

  /// Ties an item to its partner outside of backward, or to that of its forward op.
  [[nodiscard]] std::uint64_t tie(Side side, std::uint32_t item) const {
    return in_backward(event_of(side, item)) ? forward_number(side, item)
                                             : on(partner_, side)[item];
  }

  Both<const Window*> windows_;
  Both<std::uint32_t> lanes_;
  const ForwardId& outside_;
  const StoragePairs& storages_;
  AlignmentLimits limits_;
  ItemCalls calls_;
  Both<Keys> exchanged_;  ///< equal for partners
  Partners partners_;     ///< where statements are exchanged
  bool passes_on_in_order_ = false;
  bool several_steps_;
  bool has_ops_;
  Both<std::vector<std::int64_t>> dropped_;        ///< gradients, before each item
  Both<std::unordered_set<std::uint64_t>> alone_;  // what strict alignment left in setup
  Both<std::vector<std::uint64_t>> partner_;  // per item: number of the pair it is in, 0 for none
  Both<std::unordered_set<std::uint64_t>>
      ties_;  ///< of backward, to forward ops that have partners
};

}  // namespace

WindowAlignment align(const Window& reference, const Window& candidate,
                      const Both<std::uint32_t>& lanes, const ForwardId& forward,
                      const StoragePairs& storages, bool several_steps,
                      const AlignmentLimits& limits) {
  return WindowAligner({&reference, &candidate}, lanes, forward, storages, several_steps, limits)
      .run();
}

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
  const auto elements = [](const Window& window, const std::vector<std::uint32_t>& events) {
    std::vector<SequenceElement> result;
    for (const std::uint32_t index : events) {
      const Event& event = window.event(index);
      result.push_back({structure_key(event, Place::ignored), input_key(event), output_key(event),
                        event.kind != EventKind::op, argument_key(event)});
    }
    return result;
  };
  const SequenceAlignment alignment =
      align(elements(reference, reference_events), elements(candidate, candidate_events));
  entries = entries_from(alignment.pairs, reference_events.size(), candidate_events.size());
  const auto event_of = [&](Side side, std::uint32_t k) -> const Event& {
    return side == Side::reference ? reference.event(reference_events[k])
                                   : candidate.event(candidate_events[k]);
  };
  const auto relaxed = [&](Side side, std::uint32_t k) {
    return relaxed_element(event_of(side, k), event_of(side, k).kind != EventKind::op);
  };
  RelaxedPass::run(
      entries, [&](const RelaxedPass::Items&) { return relaxed; },
      [&](Side side, std::uint32_t k) { return is_view(event_of(side, k)); });
  for (Entry& entry : entries) {
    if (entry.reference != kNoIndex) entry.reference = reference_events[entry.reference];
    if (entry.candidate != kNoIndex) entry.candidate = candidate_events[entry.candidate];
  }
  return entries;
}

}  // namespace ulpscope::comparison
