#include "compare/diff/outcomes/enter_outcomes.hpp"

#include <utility>

#include "compare/diff/finding_writer.hpp"
#include "compare/measure/value_names.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {

std::optional<Source> reason_of(RankState& state, Side side, const Outcome& outcome) {
  return on(state.ledger.memory, side).find(*outcome.slot, outcome.event.block->step);
}

void blame(RankState& state, const Source& source, const std::function<void(Record&)>& tell) {
  state.book.make_diverging(source, tell);
  if (!state.book.diverges(source)) ++state.totals.outcomes.unknown;
}

void enter_outcomes(RankState& state, FindingKind kind, const OutcomePair& outcomes,
                    const std::function<void(Finding&)>& describe) {
  const Outcome& reference = outcomes.reference;
  const Outcome& candidate = outcomes.candidate;
  const Window left({reference.event}, true);
  const Window right({candidate.event}, true);
  Scene scene;
  scene.runs = state.runs;
  scene.ranks = state.ranks;
  scene.lanes = {&reference.lane, &candidate.lane};
  scene.windows = {&left, &right};
  scene.step = reference.event.block->step;
  scene.candidate_step = candidate.event.block->step;
  const EventPair at{0, 0};
  const bool has_tensor = reference.slot != nullptr && candidate.slot != nullptr;
  SlotPair slot{reference.slot, candidate.slot, Match::aside, reference.event.event};
  if (has_tensor) slot.match = match(*reference.slot, *candidate.slot);
  (void)enter_finding(
      state, kind, scene, at, at, {.key = has_tensor ? reference.slot->index : std::uint64_t{0}},
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
  state.judge.differs(state.runs, state.ranks, *slot.reference, *slot.candidate,
                      [&] { return names_of(scene, at, slot); });
}

}  // namespace ulpscope::comparison
