#include "compare/diff/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "compare/align/lane_ops.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/inherited_memory.hpp"
#include "compare/diff/left_options.hpp"
#include "compare/diff/moved_generators.hpp"
#include "compare/diff/noted_generators.hpp"
#include "compare/diff/shifted_start.hpp"
#include "compare/diff/unread_results.hpp"
#include "compare/measure/value_names.hpp"
#include "compare/model/content.hpp"
#include "compare/model/selected_run.hpp"
#include "compare/model/window.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kMostNamed = 16;
constexpr std::size_t kMostExchanged = 64;

[[nodiscard]] bool is_named(const Slot& slot) noexcept {
  constexpr std::uint32_t kNamed =
      slot_flag::parameter | slot_flag::buffer | slot_flag::gradient | slot_flag::optimizer_state;
  return !slot.name.empty() && (slot.flags & kNamed);
}

[[nodiscard]] bool is_state(const Slot& slot) noexcept {
  return slot.flags & (slot_flag::parameter | slot_flag::buffer);
}

[[nodiscard]] bool is_known(const Slot& slot) noexcept {
  return !(slot.flags & (slot_flag::no_digest | slot_flag::uninitialised)) &&
         slot.geometry != nullptr;
}

/// Memory that no recorded op has filled: its content was left by others, or the program wrote it.
[[nodiscard]] bool is_unfilled(const Slot& slot) noexcept {
  return slot.flags & slot_flag::uninitialised && !(slot.flags & slot_flag::no_digest) &&
         slot.geometry != nullptr;
}

/// It was read again when the run ended, or when it was freed.
[[nodiscard]] bool was_read_again(const Slot& slot) noexcept {
  constexpr std::uint32_t kFound = slot_flag::verified | slot_flag::changed | slot_flag::unproduced;
  return slot.flags & kFound;
}

[[nodiscard]] bool is_kept_by_optimizer(const Slot& slot) noexcept {
  return slot.flags & slot_flag::optimizer_state;
}

[[nodiscard]] bool was_drawn_from(const RngTracker::Stream& stream) noexcept {
  return !stream.last_common_draw.empty() || stream.drawn_alone || stream.drawn_by_threads;
}

/// Position in a block where what a run or its last task leaves begins.
[[nodiscard]] std::uint64_t last_end(const Block& block) {
  std::uint64_t last = kNone;
  for (const Event& event : block.events)
    if (event.kind == EventKind::outcome && is_end(event.op) && event.flags & event_flag::seeded)
      last = event.position;
  return last;
}

[[nodiscard]] bool is_before(const Event& event, std::uint64_t position) {
  return position != kNone && event.position < position;
}

/// Position of the last op in a block that no other op calls, views aside.
[[nodiscard]] std::uint64_t last_op(const Block& block) {
  std::set<std::uint64_t> ops;
  std::uint64_t last = kNone;
  for (const Event& event : block.events) {
    if (event.kind != EventKind::op) continue;
    ops.insert(event.position);
    if (!ops.contains(event.parent) && !(event.flags & event_flag::view)) last = event.position;
  }
  return last;
}

}  // namespace

/// A parameter keeps its gradient as long as the program does not reset it.
OutcomeJudge::KeptBy OutcomeJudge::kept_by(const Outcome& outcome) noexcept {
  if (is_kept_by_optimizer(*outcome.slot)) return KeptBy::optimizer;
  const bool is_gradient = outcome.slot->flags & slot_flag::gradient;
  return outcome.stands && is_gradient ? KeptBy::parameter : KeptBy::other;
}

/// Contents that both runs leave, `key` being what must be equal.
template <class Key>
void OutcomeJudge::cancel_equal(Key key) {
  std::multimap<decltype(key(std::declval<const Outcome&>())), std::size_t> by_key;
  Outcomes& candidates = left_.candidate;
  for (std::size_t k = 0; k < candidates.size(); ++k)
    if (is_known(*candidates[k].slot) || is_unfilled(*candidates[k].slot))
      by_key.emplace(key(candidates[k]), k);
  std::vector<bool> equal(candidates.size(), false);
  std::erase_if(left_.reference, [&](const Outcome& one) {
    if (!is_known(*one.slot) && !is_unfilled(*one.slot)) return false;
    const auto wanted = key(one);
    const auto partner = by_key.lower_bound(wanted);  // the first of them
    if (partner == by_key.end() || wanted < partner->first) return false;
    if (is_known(*one.slot)) ++state_.totals.outcomes.compared;
    equal[partner->second] = true;
    by_key.erase(partner);
    return true;
  });
  std::size_t index = 0;
  std::erase_if(candidates, [&](const Outcome&) { return equal[index++]; });
}

/// Of outcomes with equal contents, those that are known to differ from what the other run has at
/// that place are the last to be taken for equal.
void OutcomeJudge::put_explained_last(Side side) {
  std::stable_partition(on(left_, side).begin(), on(left_, side).end(),
                        [&](const Outcome& one) { return !reason(side, one); });
}

void OutcomeJudge::judge() {
  for (const Side side : kSides) {
    read(side);
    put_explained_last(side);
  }
  OutcomeTotals& totals = state_.totals.outcomes;
  for (const Side side : kSides) {
    const bool known = on(ends_, side).event != nullptr;
    on(totals.known, side) = on(totals.known, side) && known;
    totals.touched_alone = totals.touched_alone || on(state_.alone_memory, side).any();
    totals.too_many = totals.too_many || on(state_.alone_memory, side).overflowed();
  }
  for (const std::uint64_t storage : state_.handed_back.reference)
    if (!storages_.reference.contains(storage)) ++totals.unfilled;
  if (state_.longer) return judge_shorter(the_other(*state_.longer));
  count_exchanged();
  cancel_equal([](const Outcome& one) {
    return std::tuple(one.event.event->root, one.slot->name, kept_by(one), one.alone,
                      content_of(*one.slot));
  });
  cancel_equal([](const Outcome& one) {
    return std::tuple(one.slot->name, kept_by(one), one.alone, content_of(*one.slot));
  });
  pair_named();
  cancel_equal([](const Outcome& one) { return std::tuple(kept_by(one), content_of(*one.slot)); });
  for (const Side side : kSides) {
    judge_reset_gradients(side);
    judge_dropped_state(side);
  }
  cancel_equal([](const Outcome& one) { return content_of(*one.slot); });
  for (const Side side : kSides) {
    judge_rest(side);
    judge_changed_alone(side);
    judge_adopted(side);
    if (!state_.book.diverges())
      on(totals.unread, side) += count_unread_results(state_, side, on(storages_, side));
  }
  for (const Side side : kSides) judge_saved_alone(side);
  judge_generators();
  judge_noted();
  for (const Side side : kSides)
    on(totals.extra_numbers, side) = state_.numbers_read.replaced(side);
  totals.too_many = totals.too_many || state_.numbers_read.overflowed();
  drop_inherited();
  for (const auto& [reference, candidate] : unexplained_)
    if (!state_.book.diverges())
      enter(is_state(*reference.slot) ? FindingKind::parameter : FindingKind::data, reference,
            candidate);
}

/// Memory without a name that both runs made with equal content: which of two such tensors an op
/// writes shows in nothing else, if only the program reads them, past all ops.
void OutcomeJudge::count_exchanged() {
  std::map<std::uint64_t, const Slot*> candidate;
  const auto counts = [](const Slot& slot) { return slot.name.empty() && is_known(slot); };
  for (const Outcome& outcome : left_.candidate)
    if (counts(*outcome.slot)) candidate.emplace(outcome.slot->storage, outcome.slot);
  struct Differing {
    Content content;  ///< of the reference
    bool read = false;
  };
  std::map<std::uint64_t, Differing> differing;  // by the reference's memory
  std::map<Content, std::uint64_t> holders;      // of the candidate's contents, likewise
  for (const Outcome& outcome : left_.reference) {
    const Slot& slot = *outcome.slot;
    if (!counts(slot)) continue;
    const auto partner = state_.made_equal.partner(Side::reference, slot.storage);
    const auto other = partner ? candidate.find(*partner) : candidate.end();
    if (other == candidate.end() || content_of(*other->second) == content_of(slot)) continue;
    const auto last = state_.read_as_partners.find(slot.storage);
    const bool read = last != state_.read_as_partners.end() && last->second == slot.writer;
    differing.try_emplace(slot.storage, Differing{content_of(slot), read});
    holders.emplace(content_of(*other->second), slot.storage);
  }
  const auto end_with_each_others = [&](std::uint64_t first) {
    std::uint64_t storage = first;
    for (std::size_t k = 0; k < kMostExchanged; ++k) {
      const Differing& one = differing.at(storage);
      const auto holder = holders.find(one.content);
      if (holder == holders.end() || one.read) return false;
      storage = holder->second;
      if (storage == first) return true;
    }
    return true;
  };
  for (const auto& [storage, one] : differing)
    if (end_with_each_others(storage)) ++state_.totals.outcomes.exchanged;
}

/// What a forked process has not written differs in its creator, where it is compared.
void OutcomeJudge::drop_inherited() {
  if (unexplained_.empty()) return;
  Both<std::vector<const Slot*>> asked;
  for (const auto& [reference, candidate] : unexplained_) {
    asked.reference.push_back(reference.slot);
    asked.candidate.push_back(candidate.slot);
  }
  Both<std::set<MemoryState>> known;
  for (const Side side : kSides)
    on(known, side) = inherited(*on(state_.runs, side), on(state_.ranks, side), on(asked, side));
  std::erase_if(unexplained_, [&](const auto& pair) {
    return known.reference.contains(memory_state(*pair.first.slot)) &&
           known.candidate.contains(memory_state(*pair.second.slot));
  });
}

/// They are the last events of a lane, but for what was freed before and has no partner.
void OutcomeJudge::read(Side side) {
  for (const Lane& lane : on(state_.runs, side)->lanes(on(state_.ranks, side))) read(side, lane);
  for (const Freed& freed : on(state_.freed, side))
    for (const Slot& slot : freed.event.event->slots) {
      on(left_, side)
          .push_back({freed.event, &slot, freed.lane, false, true,
                      on(state_.alone_memory, side).made(slot)});
      keep(side, slot);
    }
}

void OutcomeJudge::keep(Side side, const Slot& slot) {
  on(storages_, side).insert(slot.storage);
  if (is_known(slot)) on(contents_, side).insert(content_of(slot));
  if (is_unfilled(slot)) on(unfilled_contents_, side).insert(content_of(slot));
}

void OutcomeJudge::read(Side side, const Lane& lane) {
  const Run& run = *on(state_.runs, side);
  const std::uint32_t rank = on(state_.ranks, side);
  const std::size_t blocks = run.block_count(rank, lane.id);
  const std::size_t before = on(left_, side).size();
  std::uint64_t end = kNone;
  for (std::size_t back = 1; back <= blocks; ++back) {
    const auto block = std::make_shared<const Block>(run.block(rank, lane.id, blocks - back));
    const std::uint64_t last = last_op(*block);
    if (end == kNone) end = last_end(*block);
    bool any = false;
    for (const Event& event : block->events) {
      if (event.kind != EventKind::outcome) continue;
      any = true;
      if (event.op == kEndOfTask && (is_before(event, last) || is_before(event, end))) continue;
      const bool ends = is_end(event.op);
      for (const Slot& slot : event.slots) {
        const bool stands = ends && !(slot.flags & slot_flag::freed);
        const bool alone = on(state_.alone_memory, side).made(slot);
        const HeldEvent held{&event, block};
        on(left_, side).push_back({held, &slot, lane, stands, ends, alone});
        if (stands && is_state(slot)) on(standing_, side).emplace(slot.name);
        keep(side, slot);
      }
      if (!ends || !(event.flags & event_flag::seeded)) continue;
      on(ends_, side) = {&event, block};
      on(end_lanes_, side) = lane;
    }
    if (last != kNone)
      for (std::size_t k = before; k < on(left_, side).size(); ++k) {
        Outcome& outcome = on(left_, side)[k];
        if (outcome.slot->writer_lane != lane.id || outcome.slot->writer < last)
          outcome.outlived = true;
      }
    else if (any)
      continue;
    return;
  }
}

void OutcomeJudge::pair_named() {
  using Name = std::tuple<std::string_view, std::string_view, KeptBy>;
  const auto name_of = [](const Outcome& one) {
    return Name(one.event.event->root, one.slot->name, kept_by(one));
  };
  std::multimap<Name, std::size_t> named;
  Outcomes& candidates = left_.candidate;
  for (std::size_t k = 0; k < candidates.size(); ++k)
    if (is_named(*candidates[k].slot)) named.emplace(name_of(candidates[k]), k);
  std::vector<bool> paired(candidates.size(), false);
  std::erase_if(left_.reference, [&](const Outcome& one) {
    if (!is_named(*one.slot)) return false;
    const auto partner = named.find(name_of(one));
    if (partner == named.end()) return false;
    const Outcome& other = candidates[partner->second];
    paired[partner->second] = true;
    named.erase(partner);
    if (is_known(*one.slot) && is_known(*other.slot)) {
      ++state_.totals.outcomes.compared;
      if (content_of(*one.slot) != content_of(*other.slot)) differ(one, other);
    } else if (is_unfilled(*one.slot) || is_unfilled(*other.slot)) {
      ++state_.totals.outcomes.unfilled;
    } else if (reason(Side::reference, one) || reason(Side::candidate, other)) {
      ++state_.totals.outcomes.unknown;
    }
    return true;
  });
  std::size_t index = 0;
  std::erase_if(candidates, [&](const Outcome&) { return paired[index++]; });
}

std::optional<Source> OutcomeJudge::reason(Side side, const Outcome& outcome) {
  return on(state_.ledger.memory, side).find(*outcome.slot, outcome.event.block->step);
}

/// What the other run has left in memory of that size and that has no equal.
const OutcomeJudge::Outcome* OutcomeJudge::partner_of(Side side, const Outcome& outcome) {
  for (const Outcome& other : on(left_, the_other(side)))
    if (is_known(*other.slot) && bytes_of(*other.slot) == bytes_of(*outcome.slot) &&
        other.slot->geometry->dtype == outcome.slot->geometry->dtype)
      return &other;
  return nullptr;
}

/// A parameter or buffer that the other run held with other content when this one ended, and does
/// not leave with this one's content either.
bool OutcomeJudge::held_otherwise(Side side, const Outcome& outcome) const {
  const Slot& slot = *outcome.slot;
  if (!is_state(slot) || on(contents_, the_other(side)).contains(content_of(slot))) return false;
  const std::string_view root = outcome.event.event->root;
  const auto own = on(state_.models, side).latest(root, slot.name);
  const auto other = on(state_.models, the_other(side)).latest(root, slot.name);
  return own && other && own->strides == other->strides && own->digest != other->digest;
}

/// The other run goes on, and leaves something else. This one must have left what its ops left,
/// which was compared.
void OutcomeJudge::judge_shorter(Side side) {
  OutcomeTotals& totals = state_.totals.outcomes;
  for (const Outcome& outcome : on(left_, side)) {
    const Slot& slot = *outcome.slot;
    if (!is_known(slot)) continue;
    if (held_otherwise(side, outcome)) {
      const std::optional<Source> why = reason(side, outcome);
      if (why)
        blame(*why);
      else
        ++totals.unknown;
      continue;
    }
    const bool known = slot.flags & slot_flag::verified;
    const bool is_left = outcome.stands && is_named(slot) && !known &&
                         !on(contents_, the_other(side)).contains(content_of(slot));
    if ((slot.flags & slot_flag::changed) || is_left)
      ++totals.unknown;
    else
      ++totals.compared;
  }
  judge_changed_alone(side);
  judge_adopted(side);
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

/// What has no equal in the other run.
void OutcomeJudge::judge_rest(Side side) {
  OutcomeTotals& totals = state_.totals.outcomes;
  const AloneMemory& alone = on(state_.alone_memory, side);
  // The result of an op that only one run has may since have been mistaken for what an earlier op
  // wrote.
  const bool out_of_order = state_.lanes_run_apart && totals.touched_alone;
  for (const Outcome& outcome : on(left_, side)) {
    const Slot& slot = *outcome.slot;
    if (on(state_.made_ahead, side).contains(slot.storage)) continue;
    const std::optional<Source> why = reason(side, outcome);
    if (alone.made(slot)) {
      if (is_kept_by_optimizer(slot) || (slot.flags & slot_flag::changed) ||
          (outcome.stands ? alone.is_uncompared(slot, state_.book.diverges())
                          : alone.is_unread(slot)))
        judge_made_alone(side, outcome);
      continue;
    }
    if (is_unfilled(slot)) {
      ++totals.unfilled;
      continue;
    }
    if (!is_known(slot)) {
      if (why && why->written_alone && !(slot.flags & slot_flag::uninitialised)) ++totals.unknown;
      continue;
    }
    if (slot.flags & slot_flag::unproduced) {
      if (!on(contents_, the_other(side)).contains(content_of(slot)) &&
          !is_from_before(side, outcome))
        ++totals.unknown;
      continue;
    }
    const Outcome* const partner = partner_of(side, outcome);
    const bool changed =
        (slot.flags & slot_flag::changed) || on(state_.seen_changed, side).contains(slot.storage);
    if (partner == nullptr && !changed && alone.is_copy(slot)) {
      judge_copy(side, outcome);
      continue;
    }
    if (why)
      blame(*why);
    else if (changed && partner != nullptr && was_read_again(*partner->slot))
      side == Side::reference ? differ(outcome, *partner) : differ(*partner, outcome);
    else if (changed || (outcome.stands && !(slot.flags & slot_flag::verified)) ||
             (out_of_order && !on(contents_, the_other(side)).contains(content_of(slot))))
      ++totals.unknown;
  }
}

void OutcomeJudge::count_extra(Side side, const Outcome& outcome) {
  OutcomeTotals& totals = state_.totals.outcomes;
  ++on(totals.extra, side);
  if (!outcome.slot->name.empty() && on(totals.extra_names, side).size() < kMostNamed)
    on(totals.extra_names, side).emplace_back(outcome.slot->name);
}

/// Gradients of parameters that both runs have at the end, but that only this run still has. Of a
/// leaf without a name it is not known whether the other run has it.
void OutcomeJudge::judge_reset_gradients(Side side) {
  for (const Outcome& outcome : on(left_, side)) {
    if (kept_by(outcome) != KeptBy::parameter) continue;
    const std::string_view name = outcome.slot->name;
    const std::string_view parameter = parameter_of(name);
    const bool reset = parameter.empty() ? name.empty() && is_known(*outcome.slot)
                                         : on(standing_, the_other(side)).contains(parameter);
    if (reset) count_extra(side, outcome);
  }
}

/// State that only this run's optimizers still keep: the other run has dropped it, or replaced the
/// optimizer.
void OutcomeJudge::judge_dropped_state(Side side) {
  for (const Outcome& outcome : on(left_, side)) {
    if (kept_by(outcome) != KeptBy::optimizer || !outcome.stands || outcome.alone) continue;
    const Outcome* const partner = partner_of(side, outcome);
    if (partner == nullptr || kept_by(*partner) != KeptBy::optimizer) count_extra(side, outcome);
  }
}

/// A copy of its own of the same size, of something that the other run does not leave.
bool OutcomeJudge::leaves_copy_like(Side side, const Slot& copy) const {
  const AloneMemory& alone = on(state_.alone_memory, side);
  return std::any_of(on(left_, side).begin(), on(left_, side).end(), [&](const Outcome& one) {
    return one.stands && is_known(*one.slot) && bytes_of(*one.slot) == bytes_of(copy) &&
           one.slot->geometry->dtype == copy.geometry->dtype && alone.made(*one.slot) &&
           alone.is_copy(*one.slot) &&
           !on(contents_, the_other(side)).contains(content_of(*one.slot));
  });
}

/// A copy that one run alone makes of what both have: of what the other one leaves it is no more,
/// of what was there before the end it is. Where both keep one, they have kept it at other times.
void OutcomeJudge::judge_copy(Side side, const Outcome& outcome) {
  const Slot& copy = *outcome.slot;
  const Content content = content_of(copy);
  if (on(contents_, the_other(side)).contains(content) ||
      on(unfilled_contents_, the_other(side)).contains(content))
    return;
  const std::optional<Source> why = reason(side, outcome);
  if (why && outcome.stands && leaves_copy_like(the_other(side), copy))
    blame(*why, [](Record& record) {
      record.evidence.left_alone = "each run leaves a copy of something else";
    });
  else
    count_extra(side, outcome);
}

/// What an op that only one run has made and nothing that was compared has read.
void OutcomeJudge::judge_made_alone(Side side, const Outcome& outcome) {
  const bool known = is_known(*outcome.slot);
  if (known && !is_kept_by_optimizer(*outcome.slot) &&
      on(state_.alone_memory, side).is_copy(*outcome.slot))
    return judge_copy(side, outcome);
  const std::optional<Source> why = reason(side, outcome);
  if (known && why && outcome.outlived)
    blame_for_more(side, *why, *outcome.slot);
  else
    count_extra(side, outcome);
}

/// What one run alone leaves at its end, it has left at the end of each step in which that
/// happened.
void OutcomeJudge::blame_for_more(Side side, const Source& source, const Slot& left) {
  Source first = source;
  if (is_kept(source.finding)) {
    const Finding& finding = state_.book.records()[source.finding].finding;
    first.step = step_of(finding);
    first.reference_event = finding.event.reference.value_or(kNone);
    first.candidate_event = finding.event.candidate.value_or(kNone);
  }
  blame(first, [&](Record& record) {
    record.evidence.left_alone =
        fmt::format("the {} leaves {}, and the {} nothing in its place", name(side),
                    left.name.empty() ? "what it makes" : left.name, name(the_other(side)));
  });
}

void OutcomeJudge::differ(const Outcome& reference, const Outcome& candidate) {
  auto why = reason(Side::reference, reference);
  const auto other = reason(Side::candidate, candidate);
  if (other) blame(*other);
  if (why) blame(*why);
  const bool changed = (reference.slot->flags ^ candidate.slot->flags) & slot_flag::changed;
  if (why || other) return;
  if (changed)
    enter(FindingKind::write, reference, candidate);
  else
    unexplained_.emplace_back(reference, candidate);
}

void OutcomeJudge::enter(FindingKind kind, const Outcome& reference, const Outcome& candidate,
                         const std::function<void(Finding&)>& describe) {
  const Window left({reference.event}, true);
  const Window right({candidate.event}, true);
  Scene scene;
  scene.runs = state_.runs;
  scene.ranks = state_.ranks;
  scene.lanes = {&reference.lane, &candidate.lane};
  scene.windows = {&left, &right};
  scene.step = reference.event.block->step;
  scene.candidate_step = candidate.event.block->step;
  const EventPair at{0, 0};
  const bool has_tensor = reference.slot != nullptr && candidate.slot != nullptr;
  SlotPair slot{reference.slot, candidate.slot, Match::aside, reference.event.event};
  if (has_tensor) slot.match = match(*reference.slot, *candidate.slot);
  (void)enter_finding(
      state_, kind, scene, at, at, {.key = has_tensor ? reference.slot->index : std::uint64_t{0}},
      [&](Record& record) {
        if (has_tensor) add_tensors(record, {slot});
        describe(record.finding);
        if (!has_tensor) return;
        record.finding.notes.emplace_back(kind == FindingKind::write
                                              ? "it changed after the last op that was recorded"
                                              : "no recorded op explains it");
        if (auto written = writer_words(scene, Side::reference, *reference.slot); !written.empty())
          record.finding.notes.push_back(std::move(written));
      });
  if (!has_tensor) return;
  state_.judge.differs(state_.runs, state_.ranks, *slot.reference, *slot.candidate,
                       [&] { return names_of(scene, at, slot); });
}

/// What an op that only one run has changed in memory that both runs have, and that was gone before
/// anything read it. The other run may have an op of its own that did the same.
void OutcomeJudge::judge_changed_alone(Side side) {
  std::set<Content> others = on(contents_, the_other(side));
  for (const auto& change : on(state_.alone_memory, the_other(side)).changes())
    others.insert(change.content);
  for (const auto& [storage, content] : on(state_.alone_memory, side).changes())
    if (!on(storages_, side).contains(storage) && !others.contains(content))
      ++state_.totals.outcomes.unknown;
}

/// Tensors that one run saves at a place where the other one saves none. Where the other one has no
/// such place, it may have saved the same less often. In files with the same keys a tensor that the
/// other run never saves stands in the place of another one.
void OutcomeJudge::judge_saved_alone(Side side) {
  const auto& saved = on(state_.saved_alone, side);
  if (saved.empty()) return;
  std::set<Content> others;
  const Side other = the_other(side);
  const Run& run = *on(state_.runs, other);
  for (const Lane& lane : run.lanes(on(state_.ranks, other)))
    for_each_op(run, on(state_.ranks, other), lane.id, [&](const Event& op, std::int64_t) {
      if (op.op != kSave) return;
      for (const Slot& slot : op.slots) others.insert(content_of(slot));
    });
  const bool same_keys = saved_same_keys(noted());
  for (const auto& [content, source] : saved) {
    if (!others.contains(content) && same_keys)
      blame_for_file(side, source);
    else if (!others.contains(content) || !on(state_.saved_alone, other).empty())
      ++on(state_.totals.outcomes.extra_saves, side);
  }
}

void OutcomeJudge::blame_for_file(Side side, const Source& source) {
  blame(source, [&](Record& record) {
    record.evidence.left_alone =
        fmt::format("the {} saves another tensor under the same key", name(the_other(side)));
  });
}

/// What an op that only one run has made became a tensor of the program, and was gone before the
/// run ended: a thread of a pool may have left it in a parameter that belongs to no module.
void OutcomeJudge::judge_adopted(Side side) {
  for (const std::uint64_t storage : on(state_.alone_memory, side).adopted(state_.book.diverges()))
    if (!on(storages_, side).contains(storage)) ++state_.totals.outcomes.unknown;
}

/// The finding has changed an outcome. One that was not kept leaves it at that.
void OutcomeJudge::blame(const Source& source, const std::function<void(Record&)>& tell) {
  state_.book.make_diverging(source, tell);
  if (!state_.book.diverges(source)) ++state_.totals.outcomes.unknown;
}

/// The default generator ends in a different state if only one run has drawn from it last.
void OutcomeJudge::judge_generators() {
  for (const Source& drawn : state_.rng.drawn_to_the_end()) blame(drawn);
  const Event* const left = ends_.reference.event;
  const Event* const right = ends_.candidate.event;
  if (left == nullptr || right == nullptr || left->rng.before == right->rng.before) return;
  if (state_.book.diverges()) return;
  // The same stream unless the runs have seeded it differently.
  const Both<const RngTracker::Stream*> streams{&state_.rng.stream(*left),
                                                &state_.rng.stream(*right)};
  // An unseeded generator starts in any state, which matters once it is drawn from.
  if (!was_drawn_from(*streams.reference) && !was_drawn_from(*streams.candidate)) return;
  bool drawn_beside = false;
  for (const Side side : kSides) {
    const std::uint64_t more = on(on(streams, side)->more_of_threads, side);
    on(state_.totals.outcomes.extra_draws, side) += more;
    drawn_beside = drawn_beside || more > 0;
  }
  if (drawn_beside) return;
  for (const RngTracker::Stream* stream : {streams.reference, streams.candidate}) {
    if (!stream->drawn_alone) continue;
    blame(*stream->drawn_alone);
    return;
  }
  enter_at_ends(FindingKind::rng);
}

/// What is left beside memory counts where nothing else says that the runs diverge.
void OutcomeJudge::judge_noted() {
  if (ends_.reference.event == nullptr || ends_.candidate.event == nullptr) return;
  if (state_.book.diverges()) return;
  const Noted both = noted();
  state_.last_options.blame(state_, both);
  if (state_.book.diverges()) return;
  judge_noted_generators(both);
  if (!state_.book.diverges()) judge_left_options(both);
  if (!state_.book.diverges()) judge_saved_files(both);
  if (!state_.book.diverges()) judge_last_files(both);
}

Noted OutcomeJudge::noted() const {
  return {state_.runs.reference->environment(state_.ranks.reference),
          state_.runs.candidate->environment(state_.ranks.candidate)};
}

/// Those that the program has moved after their last op. Of recordings that leave out other ops,
/// which op that is differs.
std::vector<MovedGenerator> OutcomeJudge::own_generators(const Noted& noted) const {
  if (selection_of(*state_.runs.reference, state_.ranks.reference) !=
      selection_of(*state_.runs.candidate, state_.ranks.candidate))
    return {};
  return moved_generators(noted.reference, noted.candidate);
}

/// A generator of Python, NumPy or the program, in which no recorded op draws, ends in a different
/// state although both runs once had it in one; or one that the program has moved itself.
void OutcomeJudge::judge_noted_generators(const Noted& noted) {
  auto shifted = shifted_generators(noted.reference, noted.candidate);
  const auto moved = own_generators(noted);
  if (ran_beside_threads(noted.reference) || ran_beside_threads(noted.candidate)) {
    for (const ShiftedGenerator& generator : shifted)
      state_.totals.outcomes.shared_generators.push_back(generator.name);
    shifted.clear();
  }
  if (shifted.empty() && moved.empty()) return;
  enter_at_ends(FindingKind::rng, [&](Finding& finding) {
    for (const ShiftedGenerator& one : shifted) {
      finding.arguments.push_back({one.name, one.left.reference, one.left.candidate});
      finding.notes.push_back(
          one.last_equal.empty()
              ? fmt::format("both runs draw from the same stream of the generator {}", one.name)
              : fmt::format("both runs had the generator {} in one state, last in {}", one.name,
                            one.last_equal));
    }
    for (const MovedGenerator& one : moved) {
      finding.arguments.push_back({one.name, one.left.reference, one.left.candidate});
      finding.notes.push_back(fmt::format(
          "after the last op that draws from {}, {} seeds it, sets its state or draws from it",
          one.name,
          one.moved.reference && one.moved.candidate
              ? "each run"
              : fmt::format("only the {}",
                            name(one.moved.reference ? Side::reference : Side::candidate))));
    }
  });
}

/// An optimizer that both runs leave is set otherwise since its last step.
void OutcomeJudge::judge_left_options(const Noted& noted) {
  LeftOptions differing = left_options(noted.reference, noted.candidate);
  if (!differing.reports.empty())
    enter_at_save({differing.step, differing.step}, std::move(differing.reports));
}

/// A file that both runs save has other keys or whole numbers.
void OutcomeJudge::judge_saved_files(const Noted& noted) {
  SavedDifference differing = saved_otherwise(noted);
  if (!differing.reports.empty()) enter_at_save(differing.steps, std::move(differing.reports));
}

/// Where the runs save a file in these steps; at their ends if that is not known.
void OutcomeJudge::enter_at_save(const Both<std::optional<std::int64_t>>& steps,
                                 std::vector<ArgumentReport> reports) {
  const auto describe = [&](Finding& finding) { finding.arguments = std::move(reports); };
  Both<std::optional<Outcome>> saves;
  for (const Side side : kSides)
    if (const auto step = on(steps, side)) on(saves, side) = first_save(side, *step);
  if (saves.reference && saves.candidate)
    enter(FindingKind::arguments, *saves.reference, *saves.candidate, describe);
  else
    enter_at_ends(FindingKind::arguments, describe);
}

/// A file that both runs save holds other tensors in the end: each is of a save whose tensors the
/// other run has as well, in another file or an earlier one of that name.
void OutcomeJudge::judge_last_files(const Noted& noted) {
  Both<std::vector<Save>> saves;
  Both<std::vector<LastFile>> last;
  for (const Side side : kSides) {
    on(saves, side) = saves_of_main(side);
    on(last, side) = last_files(on(noted, side), on(saves, side).size());
  }
  const auto content = [](const Save& save) { return save.content; };
  for (const LastFiles& same : same_files(last)) {
    const LastFile& file = same.files.reference;
    const LastFile& other = same.files.candidate;
    const auto left = saves_of(file, saves.reference);
    const auto right = saves_of(other, saves.candidate);
    const auto [one, another] = std::ranges::mismatch(left, right, {}, content, content);
    if (one == left.end() || another == right.end()) continue;
    if (!same.certain) {
      state_.totals.outcomes.extra_saves.reference += file.tensors;
      continue;
    }
    const bool same_place = file.step == other.step && file.number == other.number;
    const auto words = [&](const LastFile& saved) {
      const std::string place = file.step == other.step
                                    ? fmt::format("file {}", saved.number)
                                    : fmt::format("in {}", step_words(saved.step));
      return same_place && &saved != &file ? place + ", with other tensors" : place;
    };
    enter(FindingKind::arguments, saved(Side::reference, *one), saved(Side::candidate, *another),
          [&](Finding& finding) {
            finding.arguments.push_back({fmt::format("last save of {}", same.name), words(file),
                                         words(other),
                                         file.is_archive ? "torch::save" : "torch.save"});
          });
  }
}

/// In the order of their keys, where those are noted; of other archives, where parameters are in
/// the order of addresses, in that of their contents.
std::vector<OutcomeJudge::Save> OutcomeJudge::saves_of(const LastFile& file,
                                                       const std::vector<Save>& all) {
  const auto saves = std::span(all).subspan(file.first, file.tensors);
  std::vector<Save> result(saves.begin(), saves.end());
  if (file.keys.size() != result.size()) {
    if (file.is_archive) std::ranges::sort(result, {}, &Save::content);
    return result;
  }
  std::vector<std::size_t> order(result.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return file.keys[k]; });
  std::ranges::transform(order, result.begin(), [&](std::size_t k) { return saves[k]; });
  return result;
}

std::vector<OutcomeJudge::Save> OutcomeJudge::saves_of_main(Side side) const {
  std::vector<Save> saves;
  const Run& run = *on(state_.runs, side);
  const std::uint32_t rank = on(state_.ranks, side);
  for (const Lane& lane : run.lanes(rank))
    if (lane.role == LaneRole::main)
      for_each_op(run, rank, lane.id, [&](const Event& op, std::int64_t) {
        if (op.op == kSave && !op.slots.empty())
          saves.push_back({content_of(op.slots.front()), lane, op.position});
      });
  return saves;
}

OutcomeJudge::Outcome OutcomeJudge::saved(Side side, const Save& save) const {
  return {find_event(*on(state_.runs, side), on(state_.ranks, side), {save.lane.id, save.position}),
          nullptr, save.lane};
}

std::optional<OutcomeJudge::Outcome> OutcomeJudge::first_save(Side side, std::int64_t step) const {
  const Run& run = *on(state_.runs, side);
  const std::uint32_t rank = on(state_.ranks, side);
  for (const Lane& lane : run.lanes(rank)) {
    if (lane.role != LaneRole::main) continue;
    for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index) {
      const auto block = std::make_shared<const Block>(run.block(rank, lane.id, index));
      if (block->step != step) continue;
      for (const Event& event : block->events)
        if (event.op == kSave) return Outcome{{&event, block}, nullptr, lane};
    }
  }
  return std::nullopt;
}

void OutcomeJudge::enter_at_ends(FindingKind kind, const std::function<void(Finding&)>& describe) {
  enter(kind, {ends_.reference, nullptr, end_lanes_.reference},
        {ends_.candidate, nullptr, end_lanes_.candidate}, describe);
}

}  // namespace ulpscope::comparison
