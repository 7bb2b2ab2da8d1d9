#include <fmt/format.h>

#include <algorithm>

#include "compare/diff/op_judge.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool draws_inside(const Window& window, std::uint32_t index) {
  for (std::uint32_t inner = index + 1; inner < window.end(index); ++inner)
    if (drew(window.event(inner))) return true;
  return false;
}

}  // namespace

void OpJudge::judge_rng() {
  const Window& reference = *scene_.windows.reference;
  const Window& candidate = *scene_.windows.candidate;
  EventPair shifted;
  const auto look = [&](EventPair pair) {
    const Event& a = reference.event(pair.reference);
    const Event& b = candidate.event(pair.candidate);
    if (!(a.flags & b.flags & event_flag::seeded)) return;
    if (a.rng.before == b.rng.before) {
      state_.rng.in_step(a, scene_.lanes.reference->id, scene_.step);
      if (a.rng.after != b.rng.after) uneven_draws_.push_back(&a);
      return;
    }
    if (!drew(a) || !drew(b)) return;  // a draw that only one run makes is not a different draw
    const bool deepest =
        !draws_inside(reference, pair.reference) && !draws_inside(candidate, pair.candidate);
    if (shifted.reference == kNoIndex && deepest) shifted = pair;
  };
  look(at_);
  for (const EventPair& pair : inside_.pairs()) look(pair);
  if (shifted.reference == kNoIndex && !inside_.same()) {
    // The draws inside cannot be distinguished: the op as a whole represents them.
    const Event& a = event(Side::reference);
    const Event& b = event(Side::candidate);
    if ((a.flags & b.flags & event_flag::seeded) && a.rng.before != b.rng.before && drew(a) &&
        drew(b))
      shifted = at_;
  }
  if (shifted.reference == kNoIndex) return;

  rng_differs_ = true;
  const Event& a = reference.event(shifted.reference);
  RngTracker::Stream& stream = state_.rng.stream(a);
  if (stream.shifted) return propagated(stream.source);
  stream.source =
      enter_finding(state_, FindingKind::rng, scene_, shifted, at_, {}, [&](Record& record) {
        record.evidence.seeded_lanes_share = shares_generator(a);
        record.evidence.draws = stream.draws;
        record.evidence.more_draws = stream.more_draws;
        record.evidence.last_common_draw = stream.last_common_draw;
        compare_slots(a, candidate.event(shifted.candidate), inner_slots_);
        add_tensors(record, inner_slots_);
        const Event& b = candidate.event(shifted.candidate);
        record.finding.notes.push_back(
            a.rng.seed == b.rng.seed
                ? fmt::format("the generator's seed is {} in both runs, its state is not the same",
                              a.rng.seed)
                : fmt::format("the generator's seed is {} and {}", a.rng.seed, b.rng.seed));
        if (!stream.last_common_draw.empty())
          record.finding.notes.push_back("the last draw from equal states was " +
                                         stream.last_common_draw);
      });
  stream.shifted = true;
  if (draws_integers(a)) state_.ledger.enter({Differing::drawn_order}, stream.source);
  found(stream.source);
}

/// Such as the order of samples.
bool OpJudge::draws_integers(const Event& seeded) {
  return std::any_of(seeded.slots.begin(), seeded.slots.end(), [](const Slot& slot) {
    return slot.role != Role::input && slot.geometry && slot.geometry->dtype == Dtype::int64;
  });
}

/// Several threads of the role draw from the default generator.
bool OpJudge::shares_generator(const Event& seeded) const {
  const LaneRole role = scene_.lanes.reference->role;
  if (seeded.flags & event_flag::explicit_generator) return false;
  if (role != LaneRole::worker && role != LaneRole::thread) return false;
  const auto lanes = scene_.runs.reference->lanes(scene_.ranks.reference);
  return std::count_if(lanes.begin(), lanes.end(),
                       [&](const Lane& lane) { return lane.role == role; }) > 1;
}

/// An op that differs may also have drawn a different amount: then that is why the RNG states
/// diverge here.
void OpJudge::shift_streams() {
  for (const Event* seeded : uneven_draws_) {
    RngTracker::Stream& stream = state_.rng.stream(*seeded);
    stream.last_common_draw =
        event_words(*seeded, scene_.step) + ", which took a different number of values in each run";
    if (!source_ || source_->finding == kNoFinding) continue;
    stream.shifted = true;
    stream.source = *source_;
  }
}

}  // namespace ulpscope::comparison
