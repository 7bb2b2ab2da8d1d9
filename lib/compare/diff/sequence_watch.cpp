#include "compare/diff/sequence_watch.hpp"

#include <algorithm>

#include "compare/diff/boundary_judge.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kEntriesAhead = 4096;

/// A different result from equal inputs follows from nothing before. Nor do differences follow from
/// what was found later, or from what was there before if the same ops had no effect without it;
/// nor does what does not read their memory from ops that compute nothing.
[[nodiscard]] bool may_follow_from(const Source& alone, bool compute_nothing,
                                   const Judgement& judgement, const FindingBook& book) {
  if (!judgement.follows) return false;
  if (compute_nothing) return judgement.source && judgement.source->finding == alone.finding;
  if (judgement.outcome == Judged::found || !judgement.source) return true;
  const Source& source = *judgement.source;
  const bool before = source.step != alone.step || source.order_event <= alone.order_event;
  return before && !book.was_harmless_before(alone);
}

}  // namespace

bool is_anchor(const Event& event) {
  if (is_boundary(event.kind) || event.kind == EventKind::gradient) return true;
  return std::any_of(event.slots.begin(), event.slots.end(), [](const Slot& slot) {
    return slot.role != Role::input && (slot.flags & slot_flag::parameter) &&
           !(slot.flags & slot_flag::view);
  });
}

void SequenceWatch::add(const Source& source, const LaneWalk& walk, std::size_t next,
                        bool compute_nothing) {
  Watched watched;
  watched.compute_nothing = compute_nothing;
  watched.source = source;
  const Scene scene = walk.scene();
  const std::size_t end = std::min(walk.entries().size(), next + kEntriesAhead);
  for (std::size_t k = next; k < end && !watched.anchor_ahead; ++k) {
    if (!walk.entries()[k].aligned()) continue;
    watched.anchor_ahead =
        is_anchor(scene.windows.reference->event(walk.events_of(walk.entries()[k]).reference));
  }
  watched_.push_back(watched);
}

void SequenceWatch::passed(FindingBook& book, bool op, bool anchor, const Judgement& judgement,
                           const std::function<void(Record&)>& tell) {
  std::erase_if(watched_, [&](Watched& watched) {
    if (judgement.differs &&
        may_follow_from(watched.source, watched.compute_nothing, judgement, book)) {
      book.make_diverging(watched.source, tell);
      return true;
    }
    watched.compared += judgement.compared;
    // An anchor proves something only once a value has been compared.
    if (anchor) return watched.compared > 0;
    return op && !watched.anchor_ahead && --watched.ops_left == 0;
  });
}

}  // namespace ulpscope::comparison
