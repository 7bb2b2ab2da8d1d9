#include "compare/diff/explain/results.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compare/diff/explain/explainers.hpp"
#include "compare/diff/explain/fresh.hpp"
#include "compare/diff/explain/replays.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool reads_unreadable(const OpPair& ops) {
  return std::any_of(ops.slots.begin(), ops.slots.end(), [](const SlotPair& slot) {
    return slot.role() == Role::input && slot.match == Match::opaque;
  });
}

/// Why what ops inside of it read differs, where its own inputs cannot be read: they may wrap
/// tensors that can, as those of torch.func do.
[[nodiscard]] std::optional<Source> read_inside(OpPair& ops) {
  if (!reads_unreadable(ops)) return std::nullopt;
  for (const EventPair& pair : ops.inside.pairs()) {
    compare_slots(ops.scene.windows.reference->event(pair.reference),
                  ops.scene.windows.candidate->event(pair.candidate), ops.inner_slots);
    for (const SlotPair& slot : ops.inner_slots)
      if (slot.role() == Role::input && is_difference(slot.match))
        if (const auto source = ops.known_difference(slot)) return source;
  }
  return std::nullopt;
}

/// What cannot be said of an input, where it was not compared.
[[nodiscard]] std::string_view why_not_compared(const SlotPair& slot) {
  if (slot.role() != Role::input) return {};
  if (slot.match == Match::layout)
    return "is laid out so differently that its values were not compared";
  return slot.match == Match::opaque ? "could not be read: whether it is equal is not known" : "";
}

}  // namespace

void explain_results(OpPair& ops) {
  const auto changed_shape =
      std::find_if(ops.slots.begin(), ops.slots.end(), [](const SlotPair& slot) {
        return slot.role() != Role::input &&
               (slot.match == Match::metadata || slot.match == Match::one_sided);
      });
  if (changed_shape != ops.slots.end()) {
    ops.found(enter_finding(ops.state, FindingKind::metadata, ops.scene, ops.at, ops.at, {},
                            [&](Record& record) {
                              add_tensors(record, ops.slots);
                              if (changed_shape->match == Match::metadata)
                                describe_fresh(ops, record, FindingKind::metadata, *changed_shape);
                            }));
    return;
  }
  const bool differs = std::any_of(ops.slots.begin(), ops.slots.end(), [](const SlotPair& slot) {
    return slot.role() != Role::input && slot.match == Match::differs;
  });
  const bool threw =
      (ops.event(Side::reference).flags ^ ops.event(Side::candidate).flags) & event_flag::threw;
  if (!differs && !threw && ops.arguments.results.empty()) return;

  // A tensor that cannot be read, such as one inside of torch.func.vmap, may have brought it.
  if (const auto& before = ops.lane.last_source;
      before && !threw && ops.lane.last_step == ops.scene.step &&
      ops.state.book.diverges(*before) && reads_unreadable(ops))
    return ops.propagated(*before);

  const Origin origin =
      find_origin(*ops.scene.windows.reference, *ops.scene.windows.candidate, ops.at);
  const bool here = origin.at.reference == ops.at.reference;
  if (!here)
    compare_slots(ops.scene.windows.reference->event(origin.at.reference),
                  ops.scene.windows.candidate->event(origin.at.candidate), ops.inner_slots);
  const std::vector<SlotPair>& slots = here ? ops.slots : ops.inner_slots;
  budget::Judged judged = judge_budget(ops, origin.at, slots);
  const budget::ReplayJudged own = judge_own(ops, origin.at, slots, judged);
  ops.found(enter_finding(
      ops.state, FindingKind::origin, ops.scene, origin.at, ops.at, {}, [&](Record& record) {
        record.evidence.inside_differs = origin.inside_differs;
        enter_own(record, own);
        record.finding.arguments = ops.arguments.results;
        for (const SlotPair& slot : ops.slots) {
          const std::string_view why = why_not_compared(slot);
          if (why.empty()) continue;
          std::string& input = slot.match == Match::layout ? record.evidence.not_compared
                                                           : record.evidence.unreadable;
          input = tensor_name(*slot.owner, slot.any());
          record.finding.notes.push_back(fmt::format("{} {}", input, why));
        }
        add_tensors(record, slots);
        add_budgets(record, judged);
        if (threw) {
          const Side side = ops.event(Side::reference).flags & event_flag::threw ? Side::reference
                                                                                 : Side::candidate;
          record.finding.notes.push_back(
              fmt::format("the op ended with an exception in the {}", comparison::name(side)));
        }
      }));
  add_budget(ops.state, *ops.why, judged);
}

budget::Judged judge_budget(const OpPair& ops, EventPair at, const std::vector<SlotPair>& slots) {
  if (!ops.state.options.budget) return {};
  const bool inputs_compared =
      std::none_of(ops.slots.begin(), ops.slots.end(), [](const SlotPair& slot) {
        return slot.role() == Role::input && slot.match == Match::layout;
      });
  return budget::judge(ops.scene, at, slots, inputs_compared, ops.state.judge);
}

void add_budget(RankState& state, const Source& source, const budget::Judged& judged) {
  auto& records = state.book.records();
  if (source.finding >= records.size()) return;
  Record& record = records[source.finding];
  budget::add(record.evidence.budget, judged.summary);
  budget::add(state.totals.op_budgets, record.finding.op, judged);
}

void explain_inside(OpPair& ops) {
  if (ops.inside_differing.empty() && ops.inside.same()) return;
  if (const auto source = read_inside(ops)) return ops.propagated(*source);
  const Window& reference = *ops.scene.windows.reference;
  const Window& candidate = *ops.scene.windows.candidate;
  EventPair first;
  if (!ops.inside_differing.empty()) {
    first = ops.inside_differing.front();
    if (!same_inputs(reference.event(first.reference), candidate.event(first.candidate)))
      first = ops.at;
  }
  Origin origin{ops.at, true};
  if (first.reference != kNoIndex && first.reference != ops.at.reference)
    origin = find_origin(reference, candidate, first);
  compare_slots(reference.event(origin.at.reference), candidate.event(origin.at.candidate),
                ops.inner_slots);
  const budget::Judged judged = judge_budget(ops, origin.at, ops.inner_slots);
  ops.why = enter_finding(
      ops.state, FindingKind::origin, ops.scene, origin.at, ops.at,
      {.key = KeyHash().add("inside").value(), .harmless = true}, [&](Record& record) {
        record.listed = false;
        record.finding.diverges = false;
        record.evidence.inside_differs = origin.inside_differs;
        add_tensors(record, ops.inner_slots);
        add_budgets(record, judged);
        record.finding.notes.push_back(
            fmt::format("the results of {} itself are equal; what it kept aside is read later",
                        ops.event(Side::reference).op));
      });
  add_budget(ops.state, *ops.why, judged);
}

}  // namespace ulpscope::comparison
