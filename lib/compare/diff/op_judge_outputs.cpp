#include <fmt/format.h>

#include <algorithm>

#include "compare/diff/op_judge.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

/// A view of different elements than in the other run: what is read through it differs for that
/// reason.
[[nodiscard]] bool is_other_part(const SlotPair& slot) {
  if (!slot.reference || !slot.candidate || !slot.reference->geometry || !slot.candidate->geometry)
    return false;
  const Geometry& a = *slot.reference->geometry;
  const Geometry& b = *slot.candidate->geometry;
  return a.storage_offset != b.storage_offset || a.sizes != b.sizes || a.strides != b.strides;
}

}  // namespace

void OpJudge::judge_outputs() {
  const auto changed_shape = std::find_if(slots_.begin(), slots_.end(), [](const SlotPair& slot) {
    return slot.role() != Role::input &&
           (slot.match == Match::metadata || slot.match == Match::one_sided);
  });
  if (changed_shape != slots_.end()) {
    found(enter_finding(state_, FindingKind::metadata, scene_, at_, at_, {}, [&](Record& record) {
      add_tensors(record, slots_);
      if (changed_shape->match == Match::metadata)
        describe_fresh(record, FindingKind::metadata, *changed_shape);
    }));
    return;
  }
  const bool differs = std::any_of(slots_.begin(), slots_.end(), [](const SlotPair& slot) {
    return slot.role() != Role::input && slot.match == Match::differs;
  });
  const bool threw =
      (event(Side::reference).flags ^ event(Side::candidate).flags) & event_flag::threw;
  if (!differs && !threw && arguments_.results.empty()) return;

  const Origin origin = find_origin(*scene_.windows.reference, *scene_.windows.candidate, at_);
  const bool here = origin.at.reference == at_.reference;
  if (!here)
    compare_slots(scene_.windows.reference->event(origin.at.reference),
                  scene_.windows.candidate->event(origin.at.candidate), inner_slots_);
  const std::vector<SlotPair>& slots = here ? slots_ : inner_slots_;
  budget::Judged judged = judge_budget(origin.at, slots);
  const budget::ReplayJudged own = judge_own(origin.at, slots, judged);
  found(enter_finding(state_, FindingKind::origin, scene_, origin.at, at_, {}, [&](Record& record) {
    record.evidence.inside_differs = origin.inside_differs;
    enter_own(record, own);
    record.finding.arguments = arguments_.results;
    for (const SlotPair& slot : slots_) {
      if (slot.role() != Role::input || slot.match != Match::layout) continue;
      record.evidence.not_compared = tensor_name(*slot.owner, slot.any());
      record.finding.notes.push_back(
          fmt::format("{} is laid out so differently that its values were not compared",
                      record.evidence.not_compared));
    }
    add_tensors(record, slots);
    add_budgets(record, judged);
    if (threw) {
      const Side side =
          event(Side::reference).flags & event_flag::threw ? Side::reference : Side::candidate;
      record.finding.notes.push_back(
          fmt::format("the op ended with an exception in the {}", comparison::name(side)));
    }
  }));
  add_budget(*source_, judged);
}

budget::Judged OpJudge::judge_budget(EventPair at, const std::vector<SlotPair>& slots) const {
  if (!state_.options.budget) return {};
  const bool inputs_compared = std::none_of(slots_.begin(), slots_.end(), [](const SlotPair& slot) {
    return slot.role() == Role::input && slot.match == Match::layout;
  });
  return budget::judge(scene_, at, slots, inputs_compared, state_.judge);
}

void OpJudge::add_budget(const Source& source, const budget::Judged& judged) {
  auto& records = state_.book.records();
  if (source.finding >= records.size()) return;
  Record& record = records[source.finding];
  budget::add(record.evidence.budget, judged.summary);
  budget::add(state_.totals.op_budgets, record.finding.op, judged);
}

/// What differs only inside is kept back until its effect is read: the op's own results are equal.
void OpJudge::judge_inside() {
  if (inside_differing_.empty() && inside_.same()) return;
  const Window& reference = *scene_.windows.reference;
  const Window& candidate = *scene_.windows.candidate;
  EventPair first;
  if (!inside_differing_.empty()) {
    first = inside_differing_.front();
    if (!same_inputs(reference.event(first.reference), candidate.event(first.candidate)))
      first = at_;
  }
  Origin origin{at_, true};
  if (first.reference != kNoIndex && first.reference != at_.reference)
    origin = find_origin(reference, candidate, first);
  compare_slots(reference.event(origin.at.reference), candidate.event(origin.at.candidate),
                inner_slots_);
  const budget::Judged judged = judge_budget(origin.at, inner_slots_);
  source_ = enter_finding(
      state_, FindingKind::origin, scene_, origin.at, at_,
      {.key = KeyHash().add("inside").value(), .harmless = true}, [&](Record& record) {
        record.listed = false;
        record.finding.diverges = false;
        record.evidence.inside_differs = origin.inside_differs;
        add_tensors(record, inner_slots_);
        add_budgets(record, judged);
        record.finding.notes.push_back(
            fmt::format("the results of {} itself are equal; what it kept aside is read later",
                        event(Side::reference).op));
      });
  add_budget(*source_, judged);
}

void OpJudge::taint(const Slot* reference, const Slot* candidate, const Source& source) {
  if (reference) state_.ledger.memory.reference.taint(*reference, source, scene_.step);
  if (candidate) state_.ledger.memory.candidate.taint(*candidate, source, scene_.step);
}

void OpJudge::spread_slot(const Slot* reference, const Slot* candidate, Match match) {
  if (is_difference(match)) {
    Source source = source_.value_or(Source{});
    source.written_alone = false;
    taint(reference, candidate, source);
    if (source_ && match == Match::differs)
      state_.ledger.enter(differing::contents(reference->digest, candidate->digest), source);
  } else if (match == Match::reshaped) {
    if (source_) taint(reference, candidate, *source_);
  } else if (match == Match::equal) {
    if (!state_.ledger.memory.reference.empty()) state_.ledger.memory.reference.clear(*reference);
    if (!state_.ledger.memory.candidate.empty()) state_.ledger.memory.candidate.clear(*candidate);
  }
}

/// Equal numbers that a view puts into a different part of the memory leave both parts different.
std::optional<Source> OpJudge::written_elsewhere(const SlotPair& slot) {
  if (slot.match != Match::equal || !is_other_part(slot)) return std::nullopt;
  return taint_of(slot);
}

void OpJudge::spread() {
  const Window& reference = *scene_.windows.reference;
  const Window& candidate = *scene_.windows.candidate;
  const bool clean =
      state_.ledger.memory.reference.empty() && state_.ledger.memory.candidate.empty();
  if (!clean)
    for (const SlotPair& slot : slots_)
      if (slot.role() == Role::input && slot.match == Match::equal)
        spread_slot(slot.reference, slot.candidate, slot.match);
  for (const EventPair& pair : clean ? inside_differing_ : inside_.pairs()) {
    compare_slots(reference.event(pair.reference), candidate.event(pair.candidate), inner_slots_);
    for (const SlotPair& slot : inner_slots_)
      if (slot.role() != Role::input) spread_slot(slot.reference, slot.candidate, slot.match);
  }
  const Source source = source_.value_or(Source{});
  for (const std::uint32_t index : inside_.alone().reference)
    write_alone(scene_, Side::reference, index, source);
  for (const std::uint32_t index : inside_.alone().candidate)
    write_alone(scene_, Side::candidate, index, source);
  for (const SlotPair& slot : slots_) {
    if (slot.role() == Role::input) continue;
    if (source_ && both(slot, slot_flag::view) && is_other_part(slot))
      taint(slot.reference, slot.candidate, source);
    if (const auto elsewhere = written_elsewhere(slot))
      taint(slot.reference, slot.candidate, *elsewhere);
    else
      spread_slot(slot.reference, slot.candidate, slot.match);
  }
}

void OpJudge::write_alone(const Scene& scene, Side side, std::uint32_t index,
                          const Source& source) {
  Source alone = source;
  alone.written_alone = true;
  const Event& op = on(scene.windows, side)->event(index);
  for (const Slot& slot : op.slots)
    if (writes(slot)) on(state_.ledger.memory, side).taint(slot, alone, scene.step);
  on(state_.alone_memory, side).wrote(op);
}

void OpJudge::view_alone(const Scene& scene, Side side, std::uint32_t index, const Source& source) {
  for (const Slot& slot : on(scene.windows, side)->event(index).slots)
    if (slot.role != Role::input && (slot.flags & slot_flag::view))
      state_.ledger.enter(differing::view(side, slot.storage, scene.step), source);
}

}  // namespace ulpscope::comparison
