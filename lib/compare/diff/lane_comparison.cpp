#include "compare/diff/lane_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <utility>

#include "compare/diff/effect.hpp"
#include "compare/diff/explain/replays.hpp"
#include "compare/diff/explain/spread.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"
#include "compare/model/words.hpp"
#include "core/glob.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] Neighbour neighbour(const Event& event, Outcome outcome) {
  Neighbour result;
  result.event = event.position;
  result.op = event.op;
  if (event.has_module) result.module = event.module.empty() ? event.root : event.module;
  result.equal = outcome == Outcome::equal;
  if (outcome == Outcome::propagated) result.note = "propagated";
  return result;
}

[[nodiscard]] bool holds_ops(const Window& window, std::uint32_t scope) {
  for (std::uint32_t inner = scope + 1; inner < window.end(scope); ++inner)
    if (window.event(inner).kind == EventKind::op) return true;
  return false;
}

/// A floating-point tensor is converted to a different floating-point dtype.
[[nodiscard]] bool casts(const Event& event) {
  if (!facts::Op(event.op).has(facts::fact::casts)) return false;
  const Geometry* from = nullptr;
  const Geometry* to = nullptr;
  for (const Slot& slot : event.slots) {
    if (slot.role == Role::input && from == nullptr) from = slot.geometry;
    if (slot.role == Role::output && to == nullptr) to = slot.geometry;
  }
  return from != nullptr && to != nullptr && from->dtype != to->dtype &&
         is_floating_point(from->dtype) && is_floating_point(to->dtype);
}

/// Adds the names of the parameters that an op updates, each once.
void add_updated(const Event& event, std::vector<std::string>& names) {
  for (const Slot& slot : event.slots)
    if (slot.role == Role::mutated && (slot.flags & slot_flag::parameter) && !slot.name.empty() &&
        std::find(names.begin(), names.end(), slot.name) == names.end())
      names.emplace_back(slot.name);
}

[[nodiscard]] bool op_has(const Event& event, std::uint32_t any_fact) {
  return facts::Op(event.op).has(any_fact);
}

/// Of an op and all that it calls.
void add_positions(const Window& window, std::uint32_t op,
                   std::unordered_set<std::uint64_t>& positions) {
  for (std::uint32_t inner = op; inner < window.end(op); ++inner)
    positions.insert(window.event(inner).position);
}

[[nodiscard]] std::uint64_t identity(const Event& event) {
  KeyHash hash;
  hash.add(event.op).add(event.overload).add(static_cast<std::uint64_t>(event.phase));
  if (event.has_module) hash.add(event.module).add(event.root);
  return hash.value();
}

}  // namespace

LaneComparison::LaneComparison(RankState& state, const Both<std::optional<Lane>>& lanes, Join join)
    : state_(state),
      walk_(state.runs, state.ranks, lanes, state.only_layers, state.windows),
      judge_(state),
      boundaries_(state),
      layers_(state),
      join_(std::move(join)) {}

void LaneComparison::begin_step(std::int64_t step, std::int64_t candidate_step, ForwardId forward,
                                std::optional<Side> only) {
  loss_noted_ = false;
  step_alone_ = only.has_value();
  walk_.begin(step, candidate_step, std::move(forward), only);
}

void LaneComparison::end_step() {
  state_.totals.given_up += walk_.take_given_up();
  state_.totals.operations += walk_.take_operations();
  boundaries_.end_step();
  watch_.end_step();
  passed_.clear();
  wanted_.clear();
}

bool LaneComparison::comes_to_update() const {
  if (walk_.at_end()) return false;
  const EventPair at = walk_.events_of(walk_.current());
  const Scene scene = walk_.scene();
  const Event& event = at.reference != kNoIndex ? scene.windows.reference->event(at.reference)
                                                : scene.windows.candidate->event(at.candidate);
  return event.phase == Phase::optimizer &&
         (event.kind == EventKind::optimizer || event.kind == EventKind::parameters);
}

bool LaneComparison::advance(const Ensure& ensure) {
  if (walk_.at_end()) return false;
  if (generation_ != walk_.generation()) {
    generation_ = walk_.generation();
    alone_until_ = 0;
    passed_.clear();
  }
  busy_ = true;
  const Entry entry = walk_.current();
  if (ensure || join_) ensure_inputs(entry, ensure);
  const Scene scene = walk_.scene();
  const EventPair at = walk_.events_of(entry);
  count_accumulations(scene, at);
  const auto visit = [&](auto take) {
    for (const Side side : kSides)
      if (const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
          index != kNoIndex)
        take(side, index);
  };
  visit([&](Side side, std::uint32_t index) {
    const Window& window = *on(scene.windows, side);
    on(state_.alone_memory, side).read(window, index, entry.aligned());
  });
  if (entry.aligned())
    compare_partners(scene, at, scene.windows.reference->items()[entry.reference].op);
  else
    leave_alone(scene);
  visit([&](Side side, std::uint32_t index) {
    const Event& event = on(scene.windows, side)->event(index);
    on(state_.data_reads, side).passed(event);
    on(state_.known_parameters, side).passed(event);
  });
  walk_.next();
  busy_ = false;
  return true;
}

void LaneComparison::ensure_inputs(const Entry& entry, const Ensure& ensure) const {
  const EventPair at = walk_.events_of(entry);
  const Scene scene = walk_.scene();
  for (const Side side : kSides) {
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    if (index == kNoIndex) continue;
    for (const Slot& slot : on(scene.windows, side)->event(index).slots)
      if (ensure && slot.role == Role::input && slot.writer != kNone &&
          slot.writer_lane != on(scene.lanes, side)->id)
        ensure(side, slot.writer_lane, slot.writer);
  }
  if (!join_ || !entry.aligned()) return;
  const auto left = scene.windows.reference->event(at.reference).slots;
  const auto right = scene.windows.candidate->event(at.candidate).slots;
  for (std::size_t k = 0; k < std::min(left.size(), right.size()); ++k)
    if (left[k].role == Role::input && right[k].role == Role::input)
      join_({left[k].writer_lane, left[k].writer}, {right[k].writer_lane, right[k].writer});
}

void LaneComparison::count_accumulations(const Scene& scene, EventPair at) {
  for (const Side side : kSides) {
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    if (index == kNoIndex) continue;
    const Window& window = *on(scene.windows, side);
    if (window.event(index).kind == EventKind::gradient)
      state_.accumulations.add(side, window.event(index), takes_over_gradient(window, index));
    if (zeroes_gradient(window.event(index))) state_.accumulations.zero(side, window.event(index));
  }
}

bool LaneComparison::ignored(const Event& event) const {
  return std::any_of(state_.options.ignore.begin(), state_.options.ignore.end(),
                     [&](const std::string& pattern) {
                       return core::glob_match_op(pattern, event.op) ||
                              (event.has_module && core::glob_match_module(pattern, event.module));
                     });
}

/// What neighbors, histories and stretches consist of: ops, or, if those are not recorded, calls of
/// modules and what optimizers and backward leave.
bool LaneComparison::is_unit(const Event& event) const {
  if (event.kind == EventKind::op) return true;
  return state_.only_layers &&
         (event.kind == EventKind::module || event.kind == EventKind::gradient ||
          event.kind == EventKind::optimizer);
}

Judgement LaneComparison::judge(const Scene& scene, EventPair at, bool op) {
  if (state_.only_layers) return layers_.judge(scene, at);
  if (op) {
    const Judgement judgement = judge_.judge(scene, at);
    boundaries_.op_passed();
    return judgement;
  }
  if (is_boundary(scene.windows.reference->event(at.reference).kind))
    return boundaries_.judge(scene, at);
  return holds_ops(*scene.windows.reference, at.reference) ? judge_.judge_scope(scene, at)
                                                           : judge_.judge(scene, at);
}

void LaneComparison::compare_partners(const Scene& scene, EventPair at, bool op) {
  const Event& reference = scene.windows.reference->event(at.reference);
  const Event& candidate = scene.windows.candidate->event(at.candidate);
  Totals& totals = state_.totals;
  last_position_ = reference.position;
  if (is_unit(reference)) {
    ++totals.ops.reference;
    ++totals.ops.candidate;
    ++totals.aligned_ops;
  }
  if (ignored(reference) || ignored(candidate)) {
    totals.coverage.not_compared.ignored += reference.slots.size();
    totals.coverage.aligned += 1;
    return;
  }
  if (reference.kind == EventKind::node && !loss_noted_) note_loss(scene, at);
  if (!is_unit(reference) && reference.slots.empty() && candidate.slots.empty()) {
    ++totals.coverage.aligned;
    watch_.passed(state_.book, false, is_anchor(reference), {});
    return;
  }
  const std::size_t records = state_.book.records().size();
  const Judgement judgement = judge(scene, at, op);
  watch_.passed(state_.book, op, is_anchor(reference), judgement,
                [&](Record& record) { keep_effect(record, scene, at); });
  if (judgement.pending) watch_.add(*judgement.pending, walk_, walk_.cursor() + 1);
  if (!is_unit(reference)) return;
  if (judgement.outcome != Outcome::equal) note_path(scene, at);
  const std::uint64_t occurrence = state_.history.occurrence(identity(reference), scene.step);
  add_history(reference, occurrence, records);
  if (judgement.outcome == Outcome::equal)
    state_.history.equal(occurrence, scene.step);
  else
    state_.history.differs(occurrence);
  pass_neighbour(scene, at, judgement.outcome, records);
}

/// How far apart the first unequal result of an op is, after the first difference.
void LaneComparison::note_path(const Scene& scene, EventPair at) {
  const Event& event = scene.windows.reference->event(at.reference);
  if (!state_.judge.follows_path(event.flags & event_flag::in_backward)) return;
  std::vector<SlotPair> slots;
  compare_slots(event, scene.windows.candidate->event(at.candidate), slots);
  const auto unequal = std::find_if(slots.begin(), slots.end(), [](const SlotPair& slot) {
    return slot.role() != Role::input && slot.match == Match::differs;
  });
  if (unequal == slots.end()) return;
  const ModuleName module = module_of(scene, Side::reference, at.reference);
  PathPoint point;
  point.event = event.position;
  point.op = event.op;
  if (module.known) point.module = module.path.empty() ? module.root : module.path;
  state_.judge.on_the_way(scene.runs, scene.ranks, *unequal->reference, *unequal->candidate,
                          std::move(point));
}

/// Backward begins at the loss: what the forward op of its first node gave.
void LaneComparison::note_loss(const Scene& scene, EventPair node) {
  loss_noted_ = true;
  const HeldEvent reference = forward_of(scene, Side::reference, node.reference);
  const HeldEvent candidate = forward_of(scene, Side::candidate, node.candidate);
  if (reference.event == nullptr || candidate.event == nullptr) return;
  const auto result = [](const Event& event) {
    return std::find_if(event.slots.begin(), event.slots.end(),
                        [](const Slot& slot) { return slot.role == Role::output; });
  };
  const auto left = result(*reference.event);
  const auto right = result(*candidate.event);
  if (left != reference.event->slots.end() && right != candidate.event->slots.end())
    state_.judge.loss(state_.runs, state_.ranks, *left, *right);
}

void LaneComparison::add_history(const Event& event, std::uint64_t occurrence,
                                 std::size_t new_records) {
  auto& records = state_.book.records();
  const History::Past* past = state_.history.past(occurrence);
  if (new_records == records.size() || past == nullptr || past->broken || past->first == kSetup)
    return;
  const auto words =
      past->steps == static_cast<std::uint64_t>(past->last - past->first) + 1
          ? steps_words({{past->first, past->last}})
          : fmt::format("{} steps between {} and {}", past->steps, past->first, past->last);
  for (std::size_t k = new_records; k < records.size(); ++k) {
    Record& record = records[k];
    const FindingKind kind = record.finding.kind;
    if (!record.listed ||
        (kind != FindingKind::origin && kind != FindingKind::arguments && kind != FindingKind::rng))
      continue;
    record.finding.notes.push_back(
        record.finding.op == event.op
            ? fmt::format("this op gave identical results in {}", words)
            : fmt::format("{} around it gave identical results in {}", event.op, words));
  }
}

void LaneComparison::pass_neighbour(const Scene& scene, EventPair at, Outcome outcome,
                                    std::size_t new_records) {
  const std::size_t context = state_.options.context;
  if (context == 0) return;
  auto& records = state_.book.records();
  const Event& event = scene.windows.reference->event(at.reference);
  for (NeighbourWanted& wanted : wanted_) {
    records[wanted.record].finding.neighbours.push_back(neighbour(event, outcome));
    --wanted.left;
  }
  std::erase_if(wanted_, [](const NeighbourWanted& wanted) { return wanted.left == 0; });
  for (std::size_t k = new_records; k < records.size(); ++k) {
    auto& neighbours = records[k].finding.neighbours;
    if (!neighbours.empty() || records[k].finding.step.value_or(kSetup) != scene.step) continue;
    for (const Passed& before : passed_)
      neighbours.push_back(
          neighbour(scene.windows.reference->event(before.at.reference), before.outcome));
    neighbours.push_back(neighbour(event, outcome));
    neighbours.back().finding = true;
    wanted_.push_back({k, context});
  }
  passed_.push_back({at, outcome});
  if (passed_.size() > context) passed_.pop_front();
}

std::size_t LaneComparison::end_of_stretch() const {
  std::size_t end = walk_.cursor();
  while (end < walk_.committed() && !walk_.entries()[end].aligned()) ++end;
  return end;
}

/// The other run's recording ended before these entries: they may well have happened there too.
bool LaneComparison::cut_off(std::size_t end) const {
  if (end != walk_.entries().size()) return false;
  const Entry& entry = walk_.current();
  const Side other = entry.reference != kNoIndex ? Side::candidate : Side::reference;
  return !on(state_.runs, other)->info().complete && walk_.ends_here(other);
}

void LaneComparison::count_alone(const Scene& scene, EventPair at, bool op) {
  const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
  const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
  const std::uint64_t events = op ? on(scene.windows, side)->end(index) - index : 1;
  Coverage& coverage = state_.totals.coverage;
  (side == Side::reference ? coverage.only_reference : coverage.only_candidate) += events;
}

void LaneComparison::leave_alone(const Scene& scene) {
  const Entry entry = walk_.current();
  const Side side = entry.reference != kNoIndex ? Side::reference : Side::candidate;
  const Window& window = *on(scene.windows, side);
  const std::uint32_t item = side == Side::reference ? entry.reference : entry.candidate;
  const bool op = window.items()[item].op;
  const EventPair at = walk_.events_of(entry);
  const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
  const bool unit = is_unit(window.event(index));
  count_alone(scene, at, op);
  if (unit) ++on(state_.totals.ops, side);
  if (!unit || ignored(window.event(index))) return;

  if (walk_.cursor() >= alone_until_) {
    alone_until_ = end_of_stretch();
    alone_source_ = {};
    alone_otherwise_ = false;
    if (cut_off(alone_until_))
      ++state_.totals.cut_off;
    else
      enter_stretch(scene);
  }
  if (!op) return;
  if (window.event(index).op.starts_with("aten::detach")) note_detached(scene, side, index);
  state_.rng.drew_alone(side, window, index, scene.lanes.reference->id, scene.step, alone_source_);
  state_.numbers_read.read_alone(side, window.event(index));
  if (alone_otherwise_) judge_alone(state_, scene, side, index, last_position_);
  for (std::uint32_t inner = index; inner < window.end(index); ++inner) {
    state_.ledger.enter(
        differing::alone(side, {on(scene.lanes, side)->id, window.event(inner).position}),
        alone_source_);
    write_alone(state_, scene, side, inner, alone_source_);
    view_alone(state_, scene, side, inner, alone_source_);
  }
  on(state_.alone_memory, side).changed(window.event(index));
}

/// Keeps what made the tensor that only one run detaches: no gradient reaches that.
void LaneComparison::note_detached(const Scene& scene, Side side, std::uint32_t event) {
  const Event& detach = on(scene.windows, side)->event(event);
  const auto input = std::find_if(detach.slots.begin(), detach.slots.end(),
                                  [](const Slot& slot) { return slot.role == Role::input; });
  if ((detach.flags & event_flag::in_backward) || input == detach.slots.end() ||
      input->writer_lane != on(scene.lanes, side)->id)
    return;
  const std::uint64_t number = walk_.partner_number(side, input->writer);
  const Side other = the_other(side);
  const auto& partners = on(scene.partners, other);
  const auto maker = std::find(partners.begin(), partners.end(), number);
  if (number == 0 || maker == partners.end()) return;
  const Window& window = *on(scene.windows, other);
  const std::uint32_t made =
      window.items()[static_cast<std::size_t>(maker - partners.begin())].event;
  for (std::uint32_t inner = made; inner < window.end(made); ++inner)
    state_.ledger.enter(
        differing::detached(other, {on(scene.lanes, other)->id, window.event(inner).position}),
        alone_source_);
}

/// The stretch is what backward does for an op whose result only the other run detaches.
std::optional<Source> LaneComparison::cut_by_detach(const Scene& scene) const {
  for (const auto& [side, window, index] : alone(scene)) {
    const Event& event = window.event(index);
    if (!is_unit(event) || ignored(event)) continue;
    if (!(event.flags & event_flag::in_backward)) return std::nullopt;
    if (auto source = state_.ledger.find(differing::detached(side, forward_place(window, index))))
      return source;
  }
  return std::nullopt;
}

std::vector<LaneComparison::Alone> LaneComparison::alone(const Scene& scene) const {
  std::vector<Alone> events;
  for (std::size_t k = walk_.cursor(); k < alone_until_; ++k) {
    const EventPair at = walk_.events_of(walk_.entries()[k]);
    const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    events.push_back({side, *on(scene.windows, side), index});
  }
  return events;
}

LaneComparison::Stretch LaneComparison::stretch(const Scene& scene) const {
  Stretch result;
  Both<bool> goes_on{};  // beyond the update that it may begin with
  for (const auto& [side, window, index] : alone(scene)) {
    const Event& event = window.event(index);
    if (!is_unit(event) || ignored(event)) continue;
    std::uint32_t& first =
        side == Side::reference ? result.first.reference : result.first.candidate;
    if (first == kNoIndex) first = index;
    on(result.ops, side).emplace_back(event.op);
    if (casts(event)) ++on(result.casts, side);
    for (const Slot& slot : event.slots)
      if (!slot.name.empty()) on(result.names, side).emplace_back(slot.name);
    if (!updates_parameter(event) && event.phase != Phase::optimizer) on(goes_on, side) = true;
    if (!on(goes_on, side)) add_updated(event, on(result.updated, side));
    for (std::uint32_t inner = index; inner < window.end(index); ++inner)
      result.draws = result.draws || drew(window.event(inner));
  }
  return result;
}

/// Why what the stretch reads differs, where that is known; with `flags`, of values that have one.
std::optional<Source> LaneComparison::differs_already(const Scene& scene, std::uint32_t flags) {
  for (const auto& [side, window, index] : alone(scene))
    for (const Slot& slot : window.event(index).slots)
      if (slot.role == Role::input && (flags == 0 || (slot.flags & flags)))
        if (const auto source = on(state_.ledger.memory, side).find(slot, scene.step))
          return source;
  return std::nullopt;
}

/// The stretch is what backward does for forward ops that only one run has, and for their
/// gradients: it follows from those.
std::optional<Source> LaneComparison::follows_alone(const Scene& scene) {
  std::optional<Source> source;
  Both<std::unordered_set<std::uint64_t>> before;  // positions of the stretch's own ops
  for (const auto& [side, window, index] : alone(scene)) {
    const Event& event = window.event(index);
    if (!is_unit(event) || ignored(event)) continue;
    if (!(event.flags & event_flag::in_backward)) return std::nullopt;
    std::optional<Source> why;
    if (const EventPlace forward = forward_place(window, index); forward.position != kNone)
      why = state_.ledger.find(differing::alone(side, forward));
    else if (!accumulates(window, index) && op_has(event, facts::fact::of_engine)) {
      for (const Slot& slot : event.slots) {
        if (slot.role != Role::input || why) continue;
        why = on(before, side).contains(slot.writer)
                  ? source
                  : on(state_.ledger.memory, side).find(slot, scene.step);
      }
    }
    if (!why) return std::nullopt;
    if (!source) source = why;
    add_positions(window, index, on(before, side));
  }
  return source;
}

/// Forward ops that both runs have and compute through different ops, and for which one run's
/// backward has ops that the other one's lacks.
const std::set<std::uint64_t>& LaneComparison::replaced_backwards(const Scene& scene) {
  const std::size_t known = state_.otherwise.reference.size();
  if (replaced_.generation == walk_.generation() && replaced_.known == known)
    return replaced_.numbers;
  replaced_ = {walk_.generation(), known, {}};
  if (known == 0) return replaced_.numbers;
  for (const Entry& entry : walk_.entries()) {
    if (entry.aligned()) continue;
    const EventPair at = walk_.events_of(entry);
    const Side side = at.reference != kNoIndex ? Side::reference : Side::candidate;
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    const Window& window = *on(scene.windows, side);
    if (!is_unit(window.event(index))) continue;
    if (const auto number = on(state_.otherwise, side).find(forward_place(window, index)))
      replaced_.numbers.insert(*number);
  }
  return replaced_.numbers;
}

/// The stretch is what backward does for forward ops that both runs have and compute through
/// different ops: a different library's, which has its own node. It does the same to values that
/// differ already.
std::optional<Source> LaneComparison::of_op_computed_otherwise(const Scene& scene) {
  const std::set<std::uint64_t>& replaced = replaced_backwards(scene);
  if (replaced.empty()) return std::nullopt;
  std::optional<Source> source;
  Both<std::unordered_set<std::uint64_t>> before;  // positions of the stretch's own ops
  for (const auto& [side, window, index] : alone(scene)) {
    const Event& event = window.event(index);
    if (!is_unit(event) || ignored(event)) continue;
    if (!(event.flags & event_flag::in_backward)) return std::nullopt;
    const EventPlace forward = forward_place(window, index);
    const auto number = on(state_.otherwise, side).find(forward);
    const bool belongs = number && replaced.contains(*number);
    // What its nodes pass on may be summed differently, and taken over, but not added to a gradient
    // that the other run has dropped.
    const bool added = facts::Op(event.op).plain_name() == "add";
    const bool between_nodes = forward.position == kNone && op_has(event, facts::fact::of_engine);
    if (!belongs && !between_nodes && !accumulates(window, index)) return std::nullopt;
    if (accumulates(window, index) && added) return std::nullopt;
    for (const Slot& slot : event.slots) {
      if (slot.role != Role::input) continue;
      const auto why = on(state_.ledger.memory, side).find(slot, scene.step);
      if (!belongs && !why && !on(before, side).contains(slot.writer)) return std::nullopt;
      if (!source) source = why;
    }
    add_positions(window, index, on(before, side));
  }
  return source;
}

/// Its ops return their inputs in a different layout, as a tensor with a different layout needs.
bool LaneComparison::only_copies(const Scene& scene) const {
  const std::vector<Alone> events = alone(scene);
  return std::all_of(events.begin(), events.end(), [&](const Alone& one) {
    const Event& event = one.window.event(one.index);
    return !is_unit(event) || ignored(event) || op_has(event, facts::fact::relays_out) ||
           (accumulates(one.window, one.index) && op_has(event, facts::fact::takes_over));
  });
}

/// Both runs update parameters near the stretch, with nothing between that does not belong to it.
bool LaneComparison::stands_among_updates(const Scene& scene) const {
  const auto event = [&](EventPair at) -> const Event& {
    return scene.windows.reference->event(at.reference);
  };
  for (auto before = passed_.rbegin(); before != passed_.rend(); ++before) {
    if (updates_parameter(event(before->at))) return true;
    if (event(before->at).phase != Phase::optimizer) break;
  }
  for (std::size_t k = alone_until_; k < walk_.entries().size(); ++k) {
    const Entry& entry = walk_.entries()[k];
    if (!entry.aligned()) return false;
    if (!scene.windows.reference->items()[entry.reference].op) continue;
    if (updates_parameter(event(walk_.events_of(entry)))) return true;
    if (event(walk_.events_of(entry)).phase != Phase::optimizer) return false;
  }
  return false;
}

/// One finding for all ops without a partner between two partners.
void LaneComparison::enter_stretch(const Scene& scene) {
  const Stretch ops = stretch(scene);
  const bool in_reference = ops.first.reference != kNoIndex;
  const Event& event = in_reference ? scene.windows.reference->event(ops.first.reference)
                                    : scene.windows.candidate->event(ops.first.candidate);
  KeyHash key;
  for (const Side side : kSides) {
    key.add(std::uint64_t{on(ops.ops, side).size()});
    for (const std::string& op : on(ops.ops, side)) key.add(op);
  }
  // An update does the same for every parameter, and so does what adds to their gradients; a module
  // each time it is called, and the program's own code around the model for many things in a row.
  const bool adds = in_reference ? accumulates(*scene.windows.reference, ops.first.reference)
                                 : accumulates(*scene.windows.candidate, ops.first.candidate);
  const bool updates =
      adds || (event.flags & event_flag::in_optimizer) || event.phase == Phase::optimizer;
  const bool in_loss = !adds && !event.has_module &&
                       (event.phase == Phase::forward || event.phase == Phase::backward);
  const std::size_t records = state_.book.records().size();
  if (const auto otherwise = state_.only_layers ? std::nullopt : of_op_computed_otherwise(scene)) {
    alone_source_ = *otherwise;
    alone_otherwise_ = true;
    return;
  }
  const bool follows_gradients =
      (event.flags & (event_flag::in_backward | event_flag::in_optimizer)) != 0 ||
      event.phase == Phase::optimizer;
  const auto other_parameter =
      follows_gradients ? state_.other_parameters.first() : std::optional<Source>();
  if (other_parameter) {
    alone_source_ = *other_parameter;
    watch_.add(alone_source_, walk_, alone_until_);
    return;
  }
  const auto detached = state_.only_layers ? std::nullopt : cut_by_detach(scene);
  if (const auto forward = detached || state_.only_layers ? detached : follows_alone(scene)) {
    alone_source_ = *forward;
    watch_.add(alone_source_, walk_, alone_until_);
    return;
  }
  const std::optional<Source> inherited = differs_already(scene);
  if (inherited && !state_.only_layers && only_copies(scene)) {
    alone_source_ = *inherited;
    return;
  }
  // A step that only one run has continues from parameters that only it has updated.
  if (step_alone_)
    if (const auto update = differs_already(scene, slot_flag::parameter))
      state_.book.make_diverging(*update);
  alone_source_ = enter_alone(
      state_, FindingKind::sequence, scene, ops.first,
      in_reference ? std::optional(event.position) : last_position_,
      {.key = key.value(), .once_per_step = in_loss, .any_place = updates, .harmless = true},
      [&](Record& record) {
        record.finding.diverges = false;
        record.listed = !state_.only_layers;  // how much is seen of modules is not a difference
        for (const Side side : kSides)
          if (!on(ops.ops, side).empty())
            record.finding.notes.push_back(
                fmt::format("only in the {}: {}", name(side), listed(on(ops.ops, side))));
        record.evidence.alone = ops.ops;
        record.evidence.alone_names = ops.names;
        record.evidence.alone_updates = ops.updated;
        record.evidence.alone_draws = ops.draws;
        record.evidence.alone_casts = ops.casts;
        record.evidence.among_updates = stands_among_updates(scene);
      });
  const bool known = records == state_.book.records().size();
  if (state_.only_layers)
    layers_.alone(alone_source_);
  else if (known && inherited && !state_.book.diverges(alone_source_))
    alone_source_ = *inherited;  // it changed nothing while that could be determined
  else
    watch_.add(alone_source_, walk_, alone_until_);
  if (known || state_.options.context == 0) return;

  auto& neighbours = state_.book.records().back().finding.neighbours;
  for (const Passed& before : passed_)
    neighbours.push_back(
        neighbour(scene.windows.reference->event(before.at.reference), before.outcome));
  Neighbour self = neighbour(event, Outcome::found);
  self.finding = true;
  self.note = fmt::format("only in {}", name(in_reference ? Side::reference : Side::candidate));
  neighbours.push_back(std::move(self));
  wanted_.push_back({records, state_.options.context});
}

bool LaneComparison::report_missing_steps(Side side, std::int64_t step,
                                          std::int64_t candidate_step) {
  walk_.preview(side, step, candidate_step);
  for (; !walk_.at_end(); walk_.next()) {
    const Scene scene = walk_.scene();
    const EventPair at = walk_.events_of(walk_.current());
    const std::uint32_t index = side == Side::reference ? at.reference : at.candidate;
    if (index == kNoIndex) continue;
    const Event& event = on(scene.windows, side)->event(index);
    if (!is_unit(event)) continue;
    (void)enter_alone(state_, FindingKind::sequence, scene, at,
                      side == Side::reference ? std::optional(event.position) : last_position_, {},
                      [&](Record& record) {
                        record.evidence.missing_steps = true;
                        record.finding.notes.push_back(
                            fmt::format("the {} goes on where the other run ends", name(side)));
                      });
    return true;
  }
  return false;
}

}  // namespace ulpscope::comparison
