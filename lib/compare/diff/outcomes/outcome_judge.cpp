#include "compare/diff/outcomes/outcome_judge.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "compare/align/lane_ops.hpp"
#include "compare/diff/outcomes/generator_outcomes.hpp"
#include "compare/diff/outcomes/inherited_memory.hpp"
#include "compare/diff/outcomes/lone_outcomes.hpp"
#include "compare/diff/outcomes/outcome_pairs.hpp"
#include "compare/diff/outcomes/saved_outcomes.hpp"
#include "compare/diff/outcomes/unread_results.hpp"
#include "compare/diff/shifted_start.hpp"

namespace ulpscope::comparison {
namespace {

/// It was read again when the run ended, or when it was freed.
[[nodiscard]] bool was_read_again(const Slot& slot) noexcept {
  constexpr std::uint32_t kFound = slot_flag::verified | slot_flag::changed | slot_flag::unproduced;
  return slot.flags & kFound;
}

}  // namespace

OutcomeJudge::OutcomeJudge(RankState& state) : state_(state), lone_(state, left_) {
  for (const Side side : kSides) on(left_, side) = outcomes_of(state, side);
}

void OutcomeJudge::judge() {
  // Of outcomes with equal contents, those that are known to differ from what the other run has at
  // that place are the last to be taken for equal.
  for (const Side side : kSides) {
    auto& outcomes = on(left_, side).outcomes;
    std::stable_partition(outcomes.begin(), outcomes.end(),
                          [&](const Outcome& one) { return !reason(side, one); });
  }
  note_totals();
  if (state_.mode.longer) return judge_shorter(the_other(*state_.mode.longer));
  OutcomeTotals& totals = state_.totals.outcomes;
  totals.exchanged += count_exchanged(state_, left_);
  take_partners_out();
  for (const Side side : kSides) {
    judge_rest(side);
    lone_.judge_changed(side);
    lone_.judge_adopted(side);
    if (!state_.book.diverges())
      on(totals.unread, side) += count_unread_results(state_, side, on(left_, side).storages);
  }
  for (const Side side : kSides) judge_saved_alone(state_, side);
  judge_default_generator(state_, ends());
  judge_noted();
  for (const Side side : kSides)
    on(totals.extra_numbers, side) = state_.program.numbers_read.replaced(side);
  totals.too_many = totals.too_many || state_.program.numbers_read.overflowed();
  drop_inherited();
  for (const OutcomePair& pair : unexplained_)
    if (!state_.book.diverges())
      enter_outcomes(state_,
                     is_state(*pair.reference.slot) ? FindingKind::parameter : FindingKind::data,
                     pair);
}

void OutcomeJudge::note_totals() {
  OutcomeTotals& totals = state_.totals.outcomes;
  for (const Side side : kSides) {
    const AloneMemory& alone = on(state_.memory.alone, side);
    const bool known = on(left_, side).end.event.event != nullptr;
    on(totals.known, side) = on(totals.known, side) && known;
    totals.touched_alone = totals.touched_alone || alone.any();
    totals.too_many = totals.too_many || alone.overflowed();
  }
  for (const std::uint64_t storage : state_.memory.handed_back.reference)
    if (!left_.reference.storages.contains(storage)) ++totals.unfilled;
}

/// The strictest key first.
void OutcomeJudge::take_partners_out() {
  std::uint64_t& compared = state_.totals.outcomes.compared;
  compared += take_equal(left_, [](const Outcome& one) {
    return std::tuple(one.event.event->root, one.slot->name, kept_by(one), one.alone,
                      content_of(*one.slot));
  });
  compared += take_equal(left_, [](const Outcome& one) {
    return std::tuple(one.slot->name, kept_by(one), one.alone, content_of(*one.slot));
  });
  pair_named();
  compared += take_equal(
      left_, [](const Outcome& one) { return std::tuple(kept_by(one), content_of(*one.slot)); });
  for (const Side side : kSides) {
    judge_reset_gradients(side);
    judge_dropped_state(side);
  }
  compared += take_equal(left_, [](const Outcome& one) { return content_of(*one.slot); });
}

void OutcomeJudge::pair_named() {
  OutcomeTotals& totals = state_.totals.outcomes;
  take_partners(
      left_, [](const Outcome& one) { return is_named(*one.slot); },
      [](const Outcome& one) {
        return std::tuple(one.event.event->root, one.slot->name, kept_by(one));
      },
      [&](const Outcome& one, const Outcome& other) {
        if (is_known(*one.slot) && is_known(*other.slot)) {
          ++totals.compared;
          if (content_of(*one.slot) != content_of(*other.slot)) differ(one, other);
        } else if (is_unfilled(*one.slot) || is_unfilled(*other.slot)) {
          ++totals.unfilled;
        } else if (reason(Side::reference, one) || reason(Side::candidate, other)) {
          ++totals.unknown;
        }
      });
}

void OutcomeJudge::differ(const Outcome& reference, const Outcome& candidate) {
  const auto why = reason(Side::reference, reference);
  const auto other = reason(Side::candidate, candidate);
  if (other) blame(state_, *other);
  if (why) blame(state_, *why);
  if (why || other) return;
  const OutcomePair pair{reference, candidate};
  if ((reference.slot->flags ^ candidate.slot->flags) & slot_flag::changed)
    enter_outcomes(state_, FindingKind::write, pair);
  else
    unexplained_.push_back(pair);
}

/// What a forked process has not written differs in its creator, where it is compared.
void OutcomeJudge::drop_inherited() {
  if (unexplained_.empty()) return;
  Both<std::set<MemoryState>> known;
  for (const Side side : kSides) {
    std::vector<const Slot*> asked;
    for (const OutcomePair& pair : unexplained_) asked.push_back(on(pair, side).slot);
    on(known, side) = inherited(*on(state_.runs, side), on(state_.ranks, side), asked);
  }
  std::erase_if(unexplained_, [&](const OutcomePair& pair) {
    return std::ranges::all_of(kSides, [&](Side side) {
      return on(known, side).contains(memory_state(*on(pair, side).slot));
    });
  });
}

/// The other run goes on, and leaves something else. This one must have left what its ops left,
/// which was compared.
void OutcomeJudge::judge_shorter(Side side) {
  OutcomeTotals& totals = state_.totals.outcomes;
  for (const Outcome& outcome : on(left_, side).outcomes) {
    const Slot& slot = *outcome.slot;
    if (!is_known(slot)) continue;
    if (held_otherwise(side, outcome)) {
      if (const auto why = reason(side, outcome))
        blame(state_, *why);
      else
        ++totals.unknown;
      continue;
    }
    const bool known = slot.flags & slot_flag::verified;
    const bool is_left = outcome.stands && is_named(slot) && !known && !both_leave(side, slot);
    if ((slot.flags & slot_flag::changed) || is_left)
      ++totals.unknown;
    else
      ++totals.compared;
  }
  lone_.judge_changed(side);
  lone_.judge_adopted(side);
}

/// What has no equal in the other run.
void OutcomeJudge::judge_rest(Side side) {
  OutcomeTotals& totals = state_.totals.outcomes;
  const AloneMemory& alone = on(state_.memory.alone, side);
  for (const Outcome& outcome : on(left_, side).outcomes) {
    const Slot& slot = *outcome.slot;
    if (on(state_.memory.made_ahead, side).contains(slot.storage)) continue;
    if (alone.made(slot)) {
      if (is_kept_by_optimizer(slot) || (slot.flags & slot_flag::changed) ||
          (outcome.stands ? alone.is_uncompared(slot, state_.book.diverges())
                          : alone.is_unread(slot)))
        lone_.judge_made(side, outcome);
    } else if (is_unfilled(slot)) {
      ++totals.unfilled;
    } else if (!is_known(slot)) {
      const auto why = reason(side, outcome);
      if (why && why->written_alone && !(slot.flags & slot_flag::uninitialised)) ++totals.unknown;
    } else if (slot.flags & slot_flag::unproduced) {
      if (!both_leave(side, slot) && !is_from_before(side, outcome)) ++totals.unknown;
    } else {
      judge_changed(side, outcome);
    }
  }
}

/// The same of memory that ops of both runs have made, and whose content is known.
void OutcomeJudge::judge_changed(Side side, const Outcome& outcome) {
  OutcomeTotals& totals = state_.totals.outcomes;
  const Slot& slot = *outcome.slot;
  const Outcome* const partner = partner_of(side, outcome);
  const bool changed = (slot.flags & slot_flag::changed) ||
                       on(state_.memory.seen_changed, side).contains(slot.storage);
  if (partner == nullptr && !changed && on(state_.memory.alone, side).is_copy(slot))
    return lone_.judge_copy(side, outcome);
  // The result of an op that only one run has may since have been mistaken for what an earlier op
  // wrote.
  const bool out_of_order = state_.mode.lanes_run_apart && totals.touched_alone;
  if (const auto why = reason(side, outcome))
    blame(state_, *why);
  else if (changed && partner != nullptr && was_read_again(*partner->slot))
    side == Side::reference ? differ(outcome, *partner) : differ(*partner, outcome);
  else if (changed || (outcome.stands && !(slot.flags & slot_flag::verified)) ||
           (out_of_order && !both_leave(side, slot)))
    ++totals.unknown;
}

/// Gradients of parameters that both runs have at the end, but that only this run still has. Of a
/// leaf without a name it is not known whether the other run has it.
void OutcomeJudge::judge_reset_gradients(Side side) {
  for (const Outcome& outcome : on(left_, side).outcomes) {
    if (kept_by(outcome) != KeptBy::parameter) continue;
    const std::string_view name = outcome.slot->name;
    const std::string_view parameter = parameter_of(name);
    const bool reset = parameter.empty() ? name.empty() && is_known(*outcome.slot)
                                         : on(left_, the_other(side)).standing.contains(parameter);
    if (reset) lone_.count(side, outcome);
  }
}

/// State that only this run's optimizers still keep: the other run has dropped it, or replaced the
/// optimizer.
void OutcomeJudge::judge_dropped_state(Side side) {
  for (const Outcome& outcome : on(left_, side).outcomes) {
    if (kept_by(outcome) != KeptBy::optimizer || !outcome.stands || outcome.alone) continue;
    const Outcome* const partner = partner_of(side, outcome);
    if (partner == nullptr || kept_by(*partner) != KeptBy::optimizer) lone_.count(side, outcome);
  }
}

/// What is left beside memory counts where nothing else says that the runs diverge.
void OutcomeJudge::judge_noted() {
  if (ends().reference.event.event == nullptr || ends().candidate.event.event == nullptr) return;
  if (state_.book.diverges()) return;
  const Noted noted = noted_by(state_);
  state_.program.last_options.blame(state_, noted);
  if (state_.book.diverges()) return;
  judge_noted_generators(state_, noted, ends());
  if (!state_.book.diverges()) judge_left_options(state_, noted, ends());
  if (!state_.book.diverges()) judge_saved_files(state_, noted, ends());
  if (!state_.book.diverges()) judge_last_files(state_, noted);
}

/// A parameter or buffer that the other run held with other content when this one ended, and does
/// not leave with this one's content either.
bool OutcomeJudge::held_otherwise(Side side, const Outcome& outcome) const {
  const Slot& slot = *outcome.slot;
  if (!is_state(slot) || both_leave(side, slot)) return false;
  const std::string_view root = outcome.event.event->root;
  const auto own = on(state_.program.models, side).latest(root, slot.name);
  const auto other = on(state_.program.models, the_other(side)).latest(root, slot.name);
  return own && other && own->strides == other->strides && own->digest != other->digest;
}

/// It was there before the steps that are compared, where those of one run are shifted, and the
/// other run leaves nothing like it: a checkpoint that a resumed run still holds.
bool OutcomeJudge::is_from_before(Side side, const Outcome& outcome) {
  const std::int64_t offset = state_.options.step_offset;
  if (offset == 0 || partner_of(side, outcome) != nullptr) return false;
  auto& storages = on(storages_before_, side);
  if (!storages) {
    storages.emplace();
    const Run& run = *on(state_.runs, side);
    const std::uint32_t rank = on(state_.ranks, side);
    for (const Lane& lane : run.lanes(rank))
      for_each_op(run, rank, lane.id, [&](const Event& op, std::int64_t step) {
        if (step > on(last_before_shifted(offset), side)) return;
        for (const Slot& slot : op.slots) storages->insert(slot.storage);
      });
  }
  return storages->contains(outcome.slot->storage);
}

/// What the other run has left in memory of that size and that has no equal.
const Outcome* OutcomeJudge::partner_of(Side side, const Outcome& outcome) const {
  const auto& others = on(left_, the_other(side)).outcomes;
  const auto partner = std::ranges::find_if(others, [&](const Outcome& other) {
    return is_known(*other.slot) && is_alike(*other.slot, *outcome.slot);
  });
  return partner == others.end() ? nullptr : &*partner;
}

std::optional<Source> OutcomeJudge::reason(Side side, const Outcome& outcome) const {
  return reason_of(state_, side, outcome);
}

/// The other run leaves it, too.
bool OutcomeJudge::both_leave(Side side, const Slot& slot) const {
  return on(left_, the_other(side)).contents.contains(content_of(slot));
}

}  // namespace ulpscope::comparison
