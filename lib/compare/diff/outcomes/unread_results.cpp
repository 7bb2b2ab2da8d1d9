#include "compare/diff/outcomes/unread_results.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "compare/diff/outcomes/alone_memory.hpp"
#include "compare/model/content.hpp"

namespace ulpscope::comparison {
namespace {

/// Calls visit(op, whether no other op calls it).
template <class Visit>
void for_each_op(const Run& run, std::uint32_t rank, Visit visit) {
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index) {
      const Block block = run.block(rank, lane.id, index);
      std::set<std::uint64_t> ops;
      for (const Event& event : block.events) {
        if (event.kind != EventKind::op) continue;
        ops.insert(event.position);
        visit(event, !ops.contains(event.parent));
      }
    }
}

/// What ops did with memory of which a result was made.
struct Use {
  std::uint64_t reads = 0;
  bool computed = false;  ///< from other memory, not drawn or filled
};
using Uses = std::map<std::uint64_t, Use>;  ///< by storage

[[nodiscard]] bool takes_from(const Slot& slot, std::uint64_t other_than) {
  constexpr std::uint32_t kNothing = slot_flag::uninitialised | slot_flag::overwritten;
  return reads(slot) && !(slot.flags & kNothing) && slot.storage != other_than;
}

void add_uses(const Run& run, std::uint32_t rank, Uses& uses) {
  for_each_op(run, rank, [&](const Event& op, bool outermost) {
    if (!outermost || (op.flags & event_flag::view) != 0) return;
    for (const Slot& slot : op.slots) {
      const auto use = uses.find(slot.storage);
      if (use == uses.end()) continue;
      if (reads(slot)) ++use->second.reads;
      if (writes(slot) && std::any_of(op.slots.begin(), op.slots.end(), [&](const Slot& one) {
            return takes_from(one, slot.storage);
          }))
        use->second.computed = true;
    }
  });
}

/// Of results that no op has read, and that were made of what no op with a partner reads since.
[[nodiscard]] std::set<Content> contents_of_unread(const RankState& state, Side side,
                                                   const std::set<std::uint64_t>& left) {
  const AloneMemory& alone = on(state.memory.alone, side);
  std::vector<AloneMemory::Unread> unread = alone.unread();
  Uses uses;
  std::erase_if(unread, [&](const AloneMemory::Unread& one) {
    if (left.contains(one.storage) || on(state.memory.made_ahead, side).contains(one.storage))
      return true;
    for (const std::uint64_t storage : one.sources)
      if (alone.reads(storage)) uses.emplace(storage, Use());
    return false;
  });
  if (uses.empty()) return {};
  add_uses(*on(state.runs, side), on(state.ranks, side), uses);
  const auto is_read_alone = [&](std::uint64_t storage) {
    const auto use = uses.find(storage);
    return use != uses.end() && use->second.computed && use->second.reads <= *alone.reads(storage);
  };
  std::set<Content> contents;
  for (const AloneMemory::Unread& one : unread)
    if (std::any_of(one.sources.begin(), one.sources.end(), is_read_alone))
      contents.insert(one.content);
  return contents;
}

}  // namespace

std::uint64_t count_unread_results(const RankState& state, Side side,
                                   const std::set<std::uint64_t>& left) {
  std::set<Content> contents = contents_of_unread(state, side, left);
  for (const LoneGradients::Gradient& gradient : on(state.memory.gradients, side).left())
    if (on(state.memory.alone, side).is_unread(gradient.storage) &&
        !left.contains(gradient.storage))
      contents.insert(gradient.content);
  if (contents.empty()) return 0;
  const Side other = the_other(side);
  for_each_op(*on(state.runs, other), on(state.ranks, other), [&](const Event& op, bool) {
    for (const Slot& slot : op.slots)
      if (slot.role != Role::input && !(slot.flags & slot_flag::no_digest))
        contents.erase(content_of(slot));
  });
  return contents.size();
}

}  // namespace ulpscope::comparison
