#include "dump/timeline.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace ulpscope::dump {
namespace {

constexpr std::size_t kMostBoundaries = 65536;
constexpr std::size_t kMostLeaves = 65536;
constexpr std::uint64_t kInferredOptimizer = std::uint64_t{1} << 63;

bool has(const TimelineEvent& event, std::uint32_t flag) { return (event.flags & flag) != 0; }

bool is_backward(const TimelineEvent& event) {
  return has(event, event_flag::in_backward) || event.kind == EventKind::node ||
         event.kind == EventKind::gradient || event.kind == EventKind::module_gradient;
}

bool is_quiet(const TimelineEvent& event) {
  return !has(event, event_flag::grad_mode) || has(event, event_flag::inference_mode);
}

bool contains(const std::vector<std::uint64_t>& items, std::uint64_t item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

void insert(std::vector<std::uint64_t>& items, std::uint64_t item) {
  if (!contains(items, item)) items.push_back(item);
}

bool belongs_to_root(const TimelineEvent& event) {
  const bool fits = event.kind == EventKind::op || event.kind == EventKind::module ||
                    event.kind == EventKind::scope;
  return fits && (event.root != 0 || event.module != 0) && !is_backward(event) &&
         !event.writes_parameter;
}

/// The same without grad mode, where nothing trains: there a view of a parameter is not evidence.
bool runs_in_quiet_forward(const TimelineEvent& event) {
  const bool evident =
      !has(event, event_flag::module_from_parameter) || !has(event, event_flag::view);
  return belongs_to_root(event) && evident && is_quiet(event);
}

Phase follower_phase(const TimelineEvent& event, std::int64_t step) {
  if (is_backward(event)) return Phase::backward;
  if (has(event, event_flag::in_optimizer) || event.kind == EventKind::optimizer ||
      event.kind == EventKind::parameters || event.kind == EventKind::outcome) {
    return Phase::optimizer;
  }
  if (step == kSetup) return Phase::setup;
  if (event.kind == EventKind::zero_grad) return Phase::optimizer;
  if (event.root == 0 && event.module == 0) return Phase::data;
  return is_quiet(event) ? Phase::eval : Phase::forward;
}

}  // namespace

/// Not whether it begins one.
bool Timeline::runs_in_forward(const TimelineEvent& event) {
  // Moving a module to a device, detaching or clipping its weights touches parameters too, but
  // outside the graph; only a use that trains is evidence that its owner's forward runs.
  const bool evident =
      !has(event, event_flag::module_from_parameter) || event.uses_trained_parameter;
  return belongs_to_root(event) && evident && !is_quiet(event);
}

bool Timeline::runs_without_root(const TimelineEvent& event) {
  return event.extends_graph && event.root == 0 && event.module == 0 && !is_backward(event) &&
         !is_quiet(event) && !event.writes_parameter;
}

bool Timeline::trains(const TimelineEvent& event) {
  return is_backward(event) || event.kind == EventKind::optimizer;
}

void Timeline::open(std::uint32_t lane, bool is_main) {
  lanes_.try_emplace(lane);
  if (!leader_ || (is_main && !leader_is_main_ && !any_settled_ && entries_.empty())) {
    leader_ = lane;
    leader_is_main_ = is_main;
  }
}

void Timeline::add(std::uint32_t lane, TimelineEvent event) {
  if (lane != leader_ && event.depth == 0 && is_backward(event)) {
    backward_elsewhere_.push_back(event.epoch);
    std::push_heap(backward_elsewhere_.begin(), backward_elsewhere_.end(), std::greater<>());
  }
  lanes_[lane].waiting.push_back(std::move(event));
}

void Timeline::advance(std::uint32_t lane) {
  auto& mine = lanes_[lane];
  mine.readable = mine.waiting.size();
  if (lane == leader_) {
    for (; mine.readable > 0; --mine.readable) {
      TimelineEvent event = std::move(mine.waiting.front());
      mine.waiting.pop_front();
      read(std::move(event));
    }
    settle();
  }
  place_followers();
}

void Timeline::close(std::uint32_t lane) {
  advance(lane);
  lanes_[lane].closed = true;
  if (lane == leader_) {
    leave_ranges(0);
    decide_what_is_left(/*more_comes=*/false);
  }
  place_followers();
}

void Timeline::finish() {
  for (auto& [id, lane] : lanes_) lane.readable = lane.waiting.size();
  if (leader_) close(*leader_);
  finished_ = true;
  place_followers();
}

std::vector<Placement> Timeline::take() { return std::exchange(placements_, {}); }

std::int64_t Timeline::step_at(std::uint64_t epoch) const {
  const auto after = std::upper_bound(
      boundaries_.begin(), boundaries_.end(), epoch,
      [](std::uint64_t value, const Boundary& boundary) { return value < boundary.epoch; });
  if (after != boundaries_.begin()) return std::prev(after)->step;
  return boundaries_.empty() ? kSetup : boundaries_.front().step - 1;
}

bool Timeline::is_decided(std::uint64_t epoch) const noexcept {
  if (finished_ || !leader_) return true;
  return (any_settled_ && epoch <= settled_epoch_) || lanes_.at(*leader_).closed;
}

void Timeline::read(TimelineEvent event) {
  leave_ranges(event.depth);
  mark_settled();
  auto& entry = entries_.emplace_back();
  entry.epoch = event.epoch;
  entry.quiet = is_quiet(event);
  entry.seam.position = event.position;
  entry.seam.depth = event.depth;
  entry.seam.neutral = event.kind == EventKind::zero_grad || event.kind == EventKind::parameters ||
                       event.kind == EventKind::outcome;
  entry.without_root = runs_without_root(event);
  const bool is_update = updates_leaf(event);
  note_trained_leaves(event);
  if (!reading_.in_setup) entry.seam.uses = std::move(event.uses);
  note_backward_elsewhere(event);
  if (reading_.step_begins && event.kind != EventKind::outcome) {
    reading_.step_begins = false;
    entry.epoch = std::min(event.epoch, reading_.step_epoch + 1);
    if (reading_.stretch == Stretch::after_backward) {
      resolve_gap(Phase::optimizer);
      reading_.stretch = Stretch::after_optimizer;
    }
    begin_step(first_entry_ + entries_.size() - 1);
  }
  note_trained_reads(event);
  place(event, entry, is_update);
  note_quiet_run(event);
  if (entry.pending && !gap_) gap_ = first_entry_ + entries_.size() - 1;
  if (!reading_.op.open && event.kind == EventKind::op) {
    reading_.op = {event.depth, true};
    reading_.op_phase = entry.phase;
    reading_.op_is_pending = entry.pending;
    reading_.op_is_quiet = entry.quiet;
  }
  if (entries_.size() >= kMostHeld) {
    if (reading_.known.empty() && !reading_.in_setup) reading_.without_optimizer = true;
    decide_what_is_left(/*more_comes=*/true);
  }
}

void Timeline::place(const TimelineEvent& event, Entry& entry, bool updates_leaf) {
  const std::uint64_t at = first_entry_ + entries_.size() - 1;
  if (is_backward(event)) {
    entry.phase = Phase::backward;
    reading_.backward_seen = true;
    if (reading_.optimizer.open) {
      reading_.optimizer_has_forward = true;
      resolve_gap(Phase::data);
    } else {
      resolve_gap(reading_.stretch == Stretch::after_backward ? Phase::forward : Phase::data);
    }
    // Gradients that are part of the loss are computed in grad mode and not accumulated.
    const bool of_forward = !is_quiet(event) && event.kind != EventKind::gradient &&
                            reading_.stretch != Stretch::backward && !reading_.in_setup;
    reading_.stretch = of_forward ? Stretch::forward : Stretch::backward;
    return;
  }
  if (event.kind == EventKind::parameters || event.kind == EventKind::outcome) {
    // Their state belongs to what changed them; it says nothing about what comes next.
    const bool in_setup = reading_.in_setup && !reading_.optimizer.open;
    entry.phase = in_setup ? Phase::setup : Phase::optimizer;
    return;
  }
  if (reading_.op.open) {
    entry.phase = reading_.op_phase;
    entry.pending = reading_.op_is_pending;
    entry.quiet = reading_.op_is_quiet;
    return;
  }
  if (event.kind == EventKind::zero_grad || reading_.zero_grad.open) {
    if (!reading_.zero_grad.open) reading_.zero_grad = {event.depth, true};
    const bool in_setup = reading_.in_setup && !reading_.optimizer.open;
    entry.phase = in_setup ? Phase::setup : Phase::optimizer;
    return;
  }
  if (reading_.optimizer.open) return place_inside_optimizer(event, entry);
  if (event.kind == EventKind::optimizer) {
    reading_.optimizer_events = true;
    entry.phase = Phase::optimizer;
    return begin_optimizer(event, event.object);
  }
  // Also in grad mode: what trains cannot be written in place there, so it is through `data`.
  const bool inferred = !reading_.optimizer_events && event.kind == EventKind::op &&
                        (event.writes_parameter || updates_leaf) && reading_.backward_seen;
  if (inferred) {
    entry.phase = Phase::optimizer;
    return begin_optimizer(event, kInferredOptimizer | event.root);
  }
  if (begins_forward(event)) {
    begin_forward(event, at);
  } else if (begins_quiet_forward(event)) {
    begin_quiet_forward(event, at);
  } else {
    if (event.module != reading_.forward_module) reading_.left_first_module = true;
    if (runs_in_forward(event)) insert(reading_.entered, event.root);
    if (reading_.in_setup && entry.without_root && !rootless_forward_) rootless_forward_ = at;
  }
  if (event.kind == EventKind::step) {
    reading_.explicit_steps = true;
    reading_.step_begins = true;
    reading_.step_epoch = event.epoch;
    candidates_.clear();
    newcomer_.reset();
  }
  if (reading_.stretch == Stretch::backward) reading_.stretch = Stretch::after_backward;
  if (reading_.in_setup) {
    entry.phase = Phase::setup;
  } else if (reading_.without_grad) {
    entry.phase = entry.quiet ? Phase::eval : Phase::data;
  } else if (reading_.stretch == Stretch::forward) {
    entry.phase = entry.quiet ? Phase::eval : Phase::forward;
  } else {
    entry.pending = true;
  }
}

/// A step with a closure runs forward and backward inside the optimizer.
void Timeline::place_inside_optimizer(const TimelineEvent& event, Entry& entry) {
  note_trained_module(event);
  if (entry.quiet) {
    entry.phase = Phase::optimizer;
    reading_.stretch = Stretch::after_backward;
    return;
  }
  if (begins_forward(event)) {
    if (!reading_.optimizer_has_forward) {
      reading_.optimizer_has_forward = true;
      const Candidate at_optimizer{optimizer_entry_, gap_.value_or(optimizer_entry_)};
      resolve_gap(Phase::data);
      const bool again = contains(reading_.stepped, reading_.optimizer_object);
      reading_.rootless = reading_.rootless || !runs_in_forward(event);
      if (reading_.in_setup || (again && !reading_.explicit_steps))
        begin_step(at_optimizer);
      else if (is_newcomer() && !reading_.explicit_steps)
        newcomer_ = {reading_.optimizer_object, at_optimizer};
    }
    reading_.stretch = Stretch::forward;
  }
  entry.phase = reading_.stretch == Stretch::forward ? Phase::forward : Phase::data;
}

/// Keeps account of what runs without grad mode inside a forward.
void Timeline::note_quiet_run(const TimelineEvent& event) {
  if (reading_.stretch != Stretch::forward || reading_.without_grad) return quiet_runs_.clear();
  const std::uint64_t at = first_entry_ + entries_.size() - 1;
  if (entries_.back().phase != Phase::eval) return;
  if (quiet_runs_.empty() || quiet_runs_.back().end_entry != at) {
    quiet_runs_.push_back({at, at, event.position, event.position});
  }
  quiet_runs_.back().end_entry = at + 1;
  quiet_runs_.back().last_position = event.position;
}

/// Only an autograd function makes a value without grad mode that trains.
void Timeline::note_trained_reads(const TimelineEvent& event) {
  for (const std::uint64_t writer : event.trained_writers) {
    const auto made_by =
        std::find_if(quiet_runs_.begin(), quiet_runs_.end(), [writer](const QuietRun& run) {
          return run.first_position <= writer && writer <= run.last_position;
        });
    if (writer == kNone || made_by == quiet_runs_.end()) continue;
    for (auto at = made_by->first_entry; at < made_by->end_entry; ++at) {
      entries_[at - first_entry_].phase = Phase::forward;
    }
    if (reading_.op.open && made_by->end_entry + 1 == first_entry_ + entries_.size()) {
      reading_.op_phase = Phase::forward;
    }
    quiet_runs_.erase(made_by);
  }
}

/// What a program without modules trains shows when it is written to.
void Timeline::note_trained_leaves(const TimelineEvent& event) {
  const bool any = (reading_.in_setup || reading_.rootless) && !reading_.optimizer_events;
  if (!any || !runs_without_root(event)) return;
  for (auto* const storages : {&leaves_, &made_by_graph_})
    if (storages->size() >= kMostLeaves) storages->clear();
  for (const MemoryUse& use : event.uses) {
    if (!use.trains || use.is_view) continue;
    if (!use.is_read)
      made_by_graph_.insert(use.storage);
    else if (!made_by_graph_.contains(use.storage))
      leaves_.insert(use.storage);
  }
}

/// Not by an op of the graph.
bool Timeline::updates_leaf(const TimelineEvent& event) const {
  if (event.kind != EventKind::op || leaves_.empty() || !(reading_.in_setup || reading_.rootless))
    return false;
  return std::any_of(event.uses.begin(), event.uses.end(), [&](const MemoryUse& use) {
    return use.is_written && !use.is_view && (is_quiet(event) || !use.trains) &&
           leaves_.contains(use.storage);
  });
}

void Timeline::leave_ranges(std::uint16_t depth) {
  for (Range* range : {&reading_.op, &reading_.zero_grad, &reading_.root_module}) {
    if (range->open && depth <= range->depth) range->open = false;
  }
  if (reading_.optimizer.open && depth <= reading_.optimizer.depth) end_optimizer();
}

/// On a GPU graph the leader waits while another lane runs the backward pass.
void Timeline::note_backward_elsewhere(const TimelineEvent& event) {
  bool any = false;
  while (!backward_elsewhere_.empty() && backward_elsewhere_.front() <= event.epoch) {
    std::pop_heap(backward_elsewhere_.begin(), backward_elsewhere_.end(), std::greater<>());
    backward_elsewhere_.pop_back();
    any = true;
  }
  if (!any) return;
  reading_.backward_seen = true;
  reading_.op.open = false;
  if (reading_.in_setup) return;
  if (!reading_.optimizer.open) {
    resolve_gap(reading_.stretch == Stretch::after_backward ? Phase::forward : Phase::data);
  }
  reading_.stretch = Stretch::after_backward;
}

/// An optimizer that runs a closure has a forward, if there is any graph.
bool Timeline::is_in_forward(const TimelineEvent& event) const {
  const bool without_root = reading_.rootless || (reading_.in_setup && reading_.optimizer.open);
  return runs_in_forward(event) || (without_root && runs_without_root(event));
}

bool Timeline::begins_forward(const TimelineEvent& event) const {
  if (!is_in_forward(event)) return false;
  return reading_.stretch != Stretch::forward || begins_forward_again(event);
}

/// Without a backward pass or an optimizer between them, forwards are separated by their root
/// module, or by the first module being called again. A root that has not run in this forward yet,
/// such as the loss, continues it.
bool Timeline::begins_forward_again(const TimelineEvent& event) const {
  const bool continues = event.root != reading_.forward_root && event.root != 0 &&
                         !contains(reading_.entered, event.root);
  return reading_.known.empty() && !continues && comes_round_again(event);
}

bool Timeline::comes_round_again(const TimelineEvent& event) const {
  if (reading_.root_module.open) return false;
  if (event.root != reading_.forward_root) return true;
  if (event.kind == EventKind::module && event.is_root_module) return true;
  return event.module == reading_.forward_module && reading_.left_first_module;
}

bool Timeline::begins_quiet_forward(const TimelineEvent& event) const {
  if (!reading_.without_grad && !(reading_.in_setup && reading_.known.empty())) return false;
  if (!runs_in_quiet_forward(event)) return false;
  const bool first = !reading_.without_grad && quiet_forwards_.empty();
  return first || comes_round_again(event);
}

void Timeline::remember_forward(const TimelineEvent& event) {
  reading_.forward_root = event.root;
  reading_.forward_module = event.module;
  reading_.left_first_module = false;
  reading_.entered = {event.root};
  if (event.kind == EventKind::module && event.is_root_module) {
    reading_.root_module = {event.depth, true};
  }
}

void Timeline::begin_forward(const TimelineEvent& event, std::uint64_t at) {
  const Candidate candidate{at, gap_.value_or(at)};
  resolve_gap(Phase::data);
  reading_.stretch = Stretch::forward;
  reading_.backward_seen = false;
  reading_.without_grad = false;
  quiet_runs_.clear();
  remember_forward(event);
  if (reading_.in_setup) return begin_step(at);
  if (reading_.explicit_steps) return;
  if (reading_.without_optimizer) return begin_step(candidate);
  const bool waiting_for_first = reading_.known.empty();
  if (waiting_for_first || (!reading_.stepped.empty() && candidates_.empty())) {
    candidates_.push_back(candidate);
  }
}

void Timeline::begin_quiet_forward(const TimelineEvent& event, std::uint64_t at) {
  remember_forward(event);
  if (!reading_.in_setup) return begin_step(at);
  quiet_forwards_.push_back(at);
}

void Timeline::begin_optimizer(const TimelineEvent& event, std::uint64_t object) {
  optimizer_entry_ = first_entry_ + entries_.size() - 1;
  reading_.optimizer = {event.depth, true};
  reading_.optimizer_object = object;
  reading_.optimizer_has_forward = false;
  reading_.without_optimizer = false;
  resolve_rootless_forward();
  if (!reading_.in_setup) reading_.stretch = Stretch::after_backward;
  resolve_newcomer(object);
  // A new optimizer: what it writes will show whether it alternates with the others or replaces
  // one.
  if (contains(reading_.known, object) || reading_.stepped.empty()) {
    resolve_candidates(contains(reading_.stepped, object));
  }
}

/// A new optimizer that writes what a different one has written in this step replaces it.
void Timeline::note_trained_module(const TimelineEvent& event) {
  if (!event.writes_parameter || event.module == 0) return;
  const std::uint64_t module = (std::uint64_t{event.root} << 32U) | event.module;
  const auto lately = newly_trained_by_.find(module);
  const auto before = trained_by_.find(module);
  std::optional<std::uint64_t> by;
  if (before != trained_by_.end()) by = before->second;
  if (lately != newly_trained_by_.end()) by = lately->second;
  if (by && contains(reading_.stepped, *by)) {
    resolve_candidates(true);
  } else {
    keep_together();
  }
  newly_trained_by_[module] = reading_.optimizer_object;
}

void Timeline::end_optimizer() {
  keep_together();
  resolve_gap(Phase::optimizer);
  reading_.optimizer.open = false;
  if (contains(reading_.known, reading_.optimizer_object)) reading_.steps_again = true;
  insert(reading_.stepped, reading_.optimizer_object);
  insert(reading_.known, reading_.optimizer_object);
  reading_.stretch = reading_.in_setup ? Stretch::setup : Stretch::after_optimizer;
}

/// With what prepares its forward, which ends where the next one begins.
void Timeline::begin_step(const Candidate& candidate, std::uint64_t next_forward) {
  std::vector<const SeamEvent*> between;
  for (auto at = std::max(candidate.between, first_entry_); at < candidate.forward; ++at)
    between.push_back(&entries_[at - first_entry_].seam);
  std::vector<const SeamEvent*> forward;
  const auto end = std::min<std::uint64_t>(next_forward, first_entry_ + entries_.size());
  for (auto at = candidate.forward; at < end; ++at) {
    const Entry& entry = entries_[at - first_entry_];
    if (entry.phase == Phase::backward || entry.phase == Phase::optimizer) break;
    forward.push_back(&entry.seam);
  }
  begin_step(candidate.forward - between.size() +
             events_before_seam(between, forward, reading_.step_position));
}

void Timeline::begin_step(std::uint64_t at) {
  entries_[at - first_entry_].begins_step = true;
  reading_.step_position = entries_[at - first_entry_].seam.position;
  if (reading_.in_setup && reading_.stretch == Stretch::setup) {
    reading_.stretch = Stretch::after_optimizer;
  }
  reading_.in_setup = false;
  reading_.steps_again = false;
  reading_.stepped.clear();
  quiet_forwards_.clear();
  rootless_forward_.reset();
}

void Timeline::resolve_gap(Phase phase) {
  if (!gap_) return;
  for (auto at = *gap_; at < first_entry_ + entries_.size(); ++at) {
    auto& entry = entries_[at - first_entry_];
    if (!entry.pending) continue;
    entry.pending = false;
    entry.phase = entry.quiet && phase != Phase::optimizer ? Phase::eval : phase;
  }
  gap_.reset();
  if (!reading_.op.open || !reading_.op_is_pending) return;
  reading_.op_is_pending = false;
  reading_.op_phase = reading_.op_is_quiet && phase != Phase::optimizer ? Phase::eval : phase;
}

/// Before any optimizer has stepped every forward is a candidate (without optimizer each is a
/// step, with one they accumulate); later only the first after an optimizer's step is.
void Timeline::resolve_candidates(bool begins) {
  if (candidates_.empty()) return;
  for (std::size_t i = 0; begins && i < candidates_.size(); ++i) {
    const bool last = i + 1 == candidates_.size();
    begin_step(candidates_[i], last ? kNone : candidates_[i + 1].forward);
  }
  candidates_.clear();
}

/// The optimizer that runs steps for the first time, after others have trained step by step.
bool Timeline::is_newcomer() const {
  return reading_.steps_again && !contains(reading_.known, reading_.optimizer_object);
}

/// An optimizer that trains other parameters continues the step, for now.
void Timeline::keep_together() {
  if (is_newcomer() && !candidates_.empty())
    newcomer_ = {reading_.optimizer_object, candidates_.front()};
  resolve_candidates(false);
}

/// A new optimizer alternates with the others if one of them steps next. If it steps again itself,
/// it has taken over: its first step was one of the program's.
void Timeline::resolve_newcomer(std::uint64_t next_optimizer) {
  const auto newcomer = std::exchange(newcomer_, {});
  if (!newcomer || newcomer->optimizer != next_optimizer) return;
  begin_step(newcomer->candidate);
  insert(reading_.stepped, next_optimizer);
}

/// Nothing trains: every forward without grad mode is a step.
void Timeline::resolve_quiet_forwards() {
  if (quiet_forwards_.empty()) return;
  const auto forwards = std::exchange(quiet_forwards_, {});
  for (auto at = forwards.front(); at < first_entry_ + entries_.size(); ++at) {
    Entry& entry = entries_[at - first_entry_];
    if (entry.phase == Phase::setup) entry.phase = entry.quiet ? Phase::eval : Phase::data;
  }
  if (reading_.op_phase == Phase::setup) {
    reading_.op_phase = reading_.op_is_quiet ? Phase::eval : Phase::data;
  }
  for (const auto at : forwards) begin_step(at);
  reading_.without_grad = true;
}

/// An optimizer steps, and no root has run: what it trains is the graph before it.
void Timeline::resolve_rootless_forward() {
  if (!rootless_forward_ || !reading_.backward_seen) return;
  const std::uint64_t first = *rootless_forward_;
  Phase phase = Phase::forward;
  Range neutral;
  Range graph;
  for (auto at = first; at < optimizer_entry_; ++at) {
    Entry& entry = entries_[at - first_entry_];
    if (neutral.open && entry.seam.depth <= neutral.depth) neutral.open = false;
    if (!neutral.open && entry.seam.neutral) neutral = {entry.seam.depth, true};
    if (entry.phase == Phase::backward) phase = Phase::optimizer;
    if (graph.open && entry.seam.depth <= graph.depth) graph.open = false;
    if (!graph.open && entry.without_root) graph = {entry.seam.depth, true};
    if (graph.open) phase = Phase::forward;
    if (entry.phase != Phase::setup) continue;
    const bool in_forward = phase == Phase::forward && !neutral.open;
    const bool evaluates = entry.quiet && !graph.open;
    entry.phase = !in_forward ? Phase::optimizer : evaluates ? Phase::eval : Phase::forward;
  }
  reading_.rootless = true;
  begin_step(first);
}

/// The leader's end, or too much held: what comes next is not known. A forward whose optimizer has
/// not stepped began a step if a backward pass followed or may still come; else the program only
/// evaluated its model.
void Timeline::decide_what_is_left(bool more_comes) {
  const bool trains = more_comes || reading_.known.empty() || reading_.backward_seen;
  quiet_runs_.clear();
  newcomer_.reset();
  rootless_forward_.reset();
  resolve_quiet_forwards();
  resolve_candidates(trains && expects_new_step());
  if (gap_) {
    resolve_gap(reading_.stretch == Stretch::after_backward ? Phase::optimizer : Phase::data);
  }
  settle();
}

bool Timeline::expects_new_step() const {
  return std::all_of(reading_.known.begin(), reading_.known.end(),
                     [&](std::uint64_t object) { return contains(reading_.stepped, object); });
}

/// Number of the first entry that something still to come may change.
std::uint64_t Timeline::first_undecided() const {
  std::uint64_t first = first_entry_ + entries_.size();
  if (gap_) first = std::min(first, *gap_);
  if (!candidates_.empty()) first = std::min(first, candidates_.front().between);
  if (newcomer_) first = std::min(first, newcomer_->candidate.between);
  if (!quiet_forwards_.empty()) first = std::min(first, quiet_forwards_.front());
  if (rootless_forward_) first = std::min(first, *rootless_forward_);
  if (!quiet_runs_.empty()) first = std::min(first, quiet_runs_.front().first_entry);
  if (reading_.optimizer.open && !reading_.optimizer_has_forward) {
    first = std::min(first, std::max(optimizer_entry_, first_entry_));
  }
  return first;
}

/// Remembers the state wherever everything read so far is decided.
void Timeline::mark_settled() {
  const auto end = first_entry_ + entries_.size();
  if (first_undecided() != end) return;
  settled_ = reading_;
  settled_entry_ = end;
  for (const auto& [module, optimizer] : newly_trained_by_) trained_by_[module] = optimizer;
  newly_trained_by_.clear();
}

void Timeline::settle() {
  mark_settled();
  while (first_entry_ < settled_entry_) {
    const Entry& entry = entries_.front();
    if (entry.begins_step) {
      ++settled_step_;
      boundaries_.push_back({entry.epoch, settled_step_});
      if (boundaries_.size() > kMostBoundaries) boundaries_.pop_front();
    }
    settled_epoch_ = std::max(settled_epoch_, entry.epoch);
    any_settled_ = true;
    auto& lane = lanes_.at(*leader_);
    lane.last_step = settled_step_;
    placements_.push_back({*leader_, settled_step_, entry.phase});
    entries_.pop_front();
    ++first_entry_;
  }
}

void Timeline::place_followers() {
  for (const auto& [id, lane] : lanes_) {
    if (id != leader_) place_followers_of(id, lane.waiting.size() > kMostHeld);
  }
}

void Timeline::place_followers_of(std::uint32_t id, bool all) {
  auto& lane = lanes_.at(id);
  while (!lane.waiting.empty() && (all || is_decided(lane.waiting.front().epoch))) {
    const auto& event = lane.waiting.front();
    lane.last_step = std::max(lane.last_step, step_at(event.epoch));
    placements_.push_back({id, lane.last_step, follower_phase(event, lane.last_step)});
    lane.waiting.pop_front();
    lane.readable -= lane.readable > 0 ? 1 : 0;
  }
}

}  // namespace ulpscope::dump
