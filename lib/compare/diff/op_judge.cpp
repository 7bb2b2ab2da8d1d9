#include "compare/diff/op_judge.hpp"

#include <algorithm>

#include "compare/diff/effect.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

/// Makes no values itself.
[[nodiscard]] bool tells_of_values(const Event& event) {
  return event.kind == EventKind::module_output || event.kind == EventKind::module_gradient ||
         event.kind == EventKind::parameters;
}

}  // namespace

const Event& OpJudge::event(Side side) const {
  return on(scene_.windows, side)->event(side == Side::reference ? at_.reference : at_.candidate);
}

void OpJudge::found(const Source& source) {
  judgement_.outcome = Outcome::found;
  last_source_ = source;
  if (!source_) source_ = source;
}

void OpJudge::propagated(const Source& source) {
  make_diverging(source);
  last_source_ = source;
  if (judgement_.outcome == Outcome::equal) judgement_.outcome = Outcome::propagated;
  if (!source_) source_ = source;
}

void OpJudge::make_diverging(const Source& source) {
  if (state_.book.looks_ahead(source) && reads_only_indices()) return;
  state_.book.make_diverging(source, [&](Record& record) { keep_effect(record, scene_, at_); });
}

/// The code around a loader, at numbers that say which samples come next.
bool OpJudge::reads_only_indices() const {
  return in_data_code() && std::none_of(slots_.begin(), slots_.end(), [](const SlotPair& slot) {
           return is_difference(slot.match) &&
                  (slot.any().geometry == nullptr || slot.any().geometry->dtype != Dtype::int64);
         });
}

void OpJudge::begin(const Scene& scene, EventPair at) {
  scene_ = scene;
  at_ = at;
  judgement_ = {};
  source_.reset();
  inputs_differ_ = false;
  looked_at_ = false;
  rng_differs_ = false;
  uneven_draws_.clear();
  compare_slots(event(Side::reference), event(Side::candidate), slots_);
  compare_layouts();
  arguments_ = compare_arguments(event(Side::reference), event(Side::candidate));
  count_values(state_, scene_, at_, slots_, judgement_);
  judgement_.differs = judgement_.differs || !arguments_.results.empty();
}

Judgement OpJudge::judge(const Scene& scene, EventPair at) {
  begin(scene, at);
  compare_inside();
  judge_rng();
  judge_exchanged();
  judge_inputs();
  if (inputs_differ_)
    judge_settings();
  else if (!rng_differs_)
    judge_arguments();
  if (!source_) judge_reshaped_inputs();
  if (tells_of_values(event(Side::reference))) judge_told_values();
  if (!source_) judge_outputs();
  if (!source_) judge_inside();
  if (!source_) note_other_parameters();
  judge_replays();
  for (const ArgumentReport& result : arguments_.results)
    state_.ledger.enter_number(result.reference.value_or(""), result.candidate.value_or(""),
                               source_.value_or(Source{}));
  for (const SlotPair& slot : slots_)
    if (source_ && slot.match == Match::metadata && !is_kept_otherwise(slot))
      state_.ledger.enter_sizes(*slot.reference->geometry, *slot.candidate->geometry, *source_);
  judgement_.numbers_differ = !arguments_.results.empty();
  judgement_.follows = judgement_.follows || inputs_differ_ || rng_differs_;
  if (looked_at_ && judgement_.outcome == Outcome::equal) judgement_.differs = false;
  judgement_.source = source_;
  shift_streams();
  note_placement();
  spread();
  Coverage& coverage = state_.totals.coverage;
  coverage.aligned += inside_.pairs().size();
  coverage.only_reference += inside_.alone().reference.size();
  coverage.only_candidate += inside_.alone().candidate.size();
  count_event(state_, scene_, judgement_);
  return judgement_;
}

Judgement OpJudge::judge_scope(const Scene& scene, EventPair at) {
  begin(scene, at);
  std::vector<const SlotPair*> fresh;
  for (const SlotPair& slot : slots_) {
    if (!is_difference(slot.match)) continue;
    if (const auto source = known_difference(slot))
      propagated(*source);
    else if (slot.role() != Role::input && slot.match != Match::one_sided)
      // The ops inside may since have written what a scope read, but not what it leaves.
      fresh.push_back(&slot);
  }
  enter_each_kind(fresh);
  judgement_.follows = true;
  judgement_.source = source_;
  count_event(state_, scene_, judgement_);
  return judgement_;
}

/// Values that crossed a module's boundary were made by ops before, where ops are recorded.
void OpJudge::judge_told_values() {
  for (const SlotPair& slot : slots_) {
    if (slot.role() == Role::input || !is_difference(slot.match)) continue;
    if (const auto source = known_difference(slot)) propagated(*source);
  }
}

void OpJudge::compare_inside() {
  inside_differing_.clear();
  if (event(Side::reference).kind != EventKind::op) {
    inside_ = {};  // what runs inside a scope is judged separately
    return;
  }
  inside_.compare(*scene_.windows.reference, *scene_.windows.candidate, at_);
  if (!inside_.same()) note_computed_otherwise();
  for (const EventPair& pair : inside_.pairs()) {
    compare_slots(scene_.windows.reference->event(pair.reference),
                  scene_.windows.candidate->event(pair.candidate), inner_slots_);
    bool differs = false;
    bool writes = false;
    for (const SlotPair& slot : inner_slots_) {
      differs = differs || (slot.role() != Role::input && is_difference(slot.match));
      writes = writes || slot.role() == Role::mutated;
    }
    if (differs) inside_differing_.push_back(pair);
    if (writes) add_inside_writes(inner_slots_);
  }
}

void OpJudge::note_computed_otherwise() {
  for (const Side side : kSides) {
    const Window& window = *on(scene_.windows, side);
    const std::uint32_t index = side == Side::reference ? at_.reference : at_.candidate;
    on(state_.otherwise, side)
        .add(on(scene_.lanes, side)->id, window.event(index).position,
             window.event(window.end(index) - 1).position, event(Side::reference).position);
  }
}

/// Inner ops may write inputs of the outer op although its schema does not say so (the running
/// statistics of a batch norm). Such writes count as the outer op's own.
void OpJudge::add_inside_writes(const std::vector<SlotPair>& inner) {
  for (const SlotPair& slot : inner) {
    if (slot.role() != Role::mutated || !was_compared(slot.match)) continue;
    const auto same_memory = [&](const SlotPair& outer) {
      return outer.reference && outer.reference->storage == slot.reference->storage;
    };
    const bool given = std::any_of(slots_.begin(), slots_.end(), [&](const SlotPair& outer) {
      return outer.role() == Role::input && same_memory(outer);
    });
    if (!given) continue;
    // The last write inside is what the op leaves.
    const auto known = std::find_if(slots_.begin(), slots_.end(), [&](const SlotPair& outer) {
      return outer.role() != Role::input && same_memory(outer);
    });
    if (known == slots_.end())
      slots_.push_back(slot);
    else if (known->owner != &event(Side::reference))
      *known = slot;
    if (slot.match != Match::differs) continue;
    judgement_.differs = true;
    judge_tolerance(state_, scene_, at_, slot);
  }
}

/// Why a value differs, if that is known about its memory in either run. Both runs' reasons
/// diverge.
std::optional<Source> OpJudge::known_difference(const SlotPair& slot) {
  std::optional<Source> source;
  if (slot.reference) source = state_.ledger.memory.reference.find(*slot.reference, scene_.step);
  if (!slot.candidate) return source;
  const auto other = state_.ledger.memory.candidate.find(*slot.candidate, scene_.step);
  if (other && source) make_diverging(*other);
  return source ? source : other;
}

/// The same, without a claim that anything diverges for that reason.
std::optional<Source> OpJudge::taint_of(const SlotPair& slot) {
  std::optional<Source> source;
  if (slot.reference) source = state_.ledger.memory.reference.find(*slot.reference, scene_.step);
  if (!source && slot.candidate)
    source = state_.ledger.memory.candidate.find(*slot.candidate, scene_.step);
  return source;
}

/// Code that prepares data or the program itself: it does the same to many things in a row.
bool OpJudge::in_data_code() const {
  const Event& here = event(Side::reference);
  return !here.has_module && (here.phase == Phase::data || here.phase == Phase::setup);
}

/// The program's own code, which does the same to many things in a row: batches, metrics, averages
/// of parameters, steps of an environment.
bool OpJudge::between_models() const {
  const Event& here = event(Side::reference);
  return !here.has_module && here.phase != Phase::forward && here.phase != Phase::backward;
}

void OpJudge::note_placement() {
  const Event& a = event(Side::reference);
  if (a.flags & event_flag::view) return;
  bool device = false;
  bool layout = !arguments_.placement.empty();
  for (const SlotPair& slot : slots_) {
    if (!slot.reference || !slot.candidate || !slot.reference->geometry ||
        !slot.candidate->geometry || either(slot, slot_flag::undefined))
      continue;
    const Geometry& left = *slot.reference->geometry;
    const Geometry& right = *slot.candidate->geometry;
    device = device || left.device_type != right.device_type;
    layout = layout || (left.sizes == right.sizes && left.strides != right.strides &&
                        left.layout == right.layout && !same_memory_order(left, right));
  }
  device = device && !state_.device_noted;
  layout = layout && std::find(state_.layout_noted.begin(), state_.layout_noted.end(), a.op) ==
                         state_.layout_noted.end();
  if (!device && !layout) return;
  if (device) state_.device_noted = true;
  if (layout) state_.layout_noted.emplace_back(a.op);
  enter_finding(state_, FindingKind::metadata, scene_, at_, at_,
                {.key = KeyHash().add("placement").value(), .harmless = true}, [&](Record& record) {
                  record.finding.diverges = false;
                  record.finding.arguments = arguments_.placement;
                  add_tensors(record, slots_);
                  record.finding.notes.emplace_back(
                      device ? "the runs use different devices"
                             : "the tensors are laid out differently in memory");
                });
}

}  // namespace ulpscope::comparison
