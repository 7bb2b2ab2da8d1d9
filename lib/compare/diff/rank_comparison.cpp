#include "compare/diff/rank_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "compare/align/lane_pairs.hpp"
#include "compare/align/moved_work.hpp"
#include "compare/align/thread_draws.hpp"
#include "compare/diff/later_names.hpp"
#include "compare/diff/model_differences.hpp"
#include "compare/diff/outcomes/outcome_judge.hpp"
#include "compare/diff/shifted_start.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/injected.hpp"
#include "compare/model/layers_view.hpp"
#include "compare/model/place.hpp"
#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::uint64_t kMostSaidOfSteps = 16;

}  // namespace

RankComparison::RankComparison(const Run& reference, const Run& candidate,
                               const Both<std::uint32_t>& ranks, const CompareOptions& options,
                               FindingBook& book, Totals& totals, ValueJudge& judge,
                               const WindowLimits& windows)
    : state_(reference, candidate, ranks, options, book, totals, judge) {
  state_.mode.windows = windows;
  shift_ = options.step_offset;
  state_.mode.injected = std::any_of(kSides.begin(), kSides.end(), [&](Side side) {
    return !injected_at(*on(state_.runs, side), on(ranks, side)).empty();
  });
  if (state_.mode.injected) state_.memory.absorption.give_up();
  choose_view();
  pair_lanes();
}

/// Where one run has layers only, that is what both are compared by.
void RankComparison::choose_view() {
  Both<bool> ops;
  for (const Side side : kSides)
    on(ops, side) = holds_ops(*on(state_.runs, side), on(state_.ranks, side));
  const bool both = ops.reference && ops.candidate;
  state_.mode.only_layers = state_.options.by_layers || !both;
  if (!state_.mode.only_layers) return;
  unseen_.emplace_back(both ? "compared by layers: ops only inside of modules that differ, and not "
                              "what happens between modules"
                            : "compared by layers: not arguments, random draws and what happens "
                              "inside and between modules");
  if (ops.reference != ops.candidate)
    unseen_.push_back(fmt::format("only the {} has ops: they are not compared",
                                  name(ops.reference ? Side::reference : Side::candidate)));
}

void RankComparison::pair_lanes() {
  const DrawRace race = race_for_draws(state_.runs, state_.ranks);
  const bool fixed = race == DrawRace::fixed_work;
  state_.random.race = race != DrawRace::none;
  Both<std::vector<Lane>> lanes;
  Both<std::vector<Lane>> workers;
  for (const Side side : kSides) {
    for (const Lane& lane : on(state_.runs, side)->lanes(on(state_.ranks, side))) {
      const bool shared = shares_work(lane);
      if (shared) ++on(state_.totals.evidence.threads, side);
      const bool has_own_work = (state_.mode.only_layers || fixed) && lane.role == LaneRole::thread;
      if (!shared || has_own_work)
        on(lanes, side).push_back(lane);
      else if (!state_.mode.only_layers)
        on(workers, side).push_back(lane);
    }
  }
  auto pairs = comparison::pair_lanes(state_.runs, state_.ranks, lanes, race);
  // Trainers that take their work from a common store are compared by what was done, not by lane.
  state_.totals.work_moved = !fixed && has_moved_work(state_.runs, state_.ranks, pairs, workers);
  if (state_.totals.work_moved && !state_.mode.only_layers)
    std::erase_if(pairs, [&](const Both<std::optional<Lane>>& pair) {
      if ((pair.reference ? *pair.reference : *pair.candidate).role != LaneRole::trainer)
        return false;
      for (const Side side : kSides)
        if (const auto& lane = on(pair, side)) on(workers, side).push_back(*lane);
      return true;
    });
  Join join;
  if (!workers.reference.empty() || !workers.candidate.empty()) {
    workers_ = std::make_unique<WorkerPool>(state_, workers);
    join = [this](EventPlace a, EventPlace b, bool same) { workers_->join(a, b, same); };
  }
  const auto add = [&](const Both<std::optional<Lane>>& pair) {
    lanes_.push_back(std::make_unique<LaneComparison>(state_, pair, join));
    const LaneRole role = (pair.reference ? *pair.reference : *pair.candidate).role;
    if (pair.reference && pair.candidate) return;
    const Lane& lane = pair.reference ? *pair.reference : *pair.candidate;
    if (role == LaneRole::trainer) ++state_.totals.lone_trainers;
    const auto steps = lanes_.back()->walk().next_steps();
    if (steps.reference || steps.candidate)
      unseen_.push_back(fmt::format("only the {} has the {} lane (thread {}, {})",
                                    name(pair.reference ? Side::reference : Side::candidate),
                                    lane_words(lane, Event{}), lane.thread_name,
                                    core::counted(lane.events, "event")));
  };
  for (const Both<std::optional<Lane>>& pair : pairs) add(pair);
  const auto order = [](const std::unique_ptr<LaneComparison>& comparison) {
    const auto& lane = comparison->walk().lane(Side::reference);
    const Lane& known = lane ? *lane : *comparison->walk().lane(Side::candidate);
    return std::pair(known.role, known.ordinal);
  };
  std::stable_sort(lanes_.begin(), lanes_.end(),
                   [&](const auto& a, const auto& b) { return order(a) < order(b); });
  for (const auto& lane : lanes_) {
    const auto& known = lane->walk().lane(Side::reference);
    if ((known ? *known : *lane->walk().lane(Side::candidate)).role == LaneRole::trainer)
      trainers_.push_back({lane.get(), {}});
  }
  state_.mode.lanes_run_apart = trainers_.size() > 1 || workers_ != nullptr;
}

bool RankComparison::is_trainer(const LaneComparison& lane) const {
  return std::any_of(trainers_.begin(), trainers_.end(),
                     [&](const Trainer& trainer) { return trainer.lane == &lane; });
}

ForwardId RankComparison::forward_ids() const {
  return [this](Side side, std::uint32_t id, std::uint64_t position) {
    return forward_number(side, id, position);
  };
}

/// Of the reference's numbers.
std::optional<std::int64_t> RankComparison::next_step(const Trainer& trainer) const {
  const auto steps = trainer.lane->walk().next_steps();
  if (!steps.candidate) return steps.reference;
  const std::int64_t step = to_reference(*steps.candidate);
  return steps.reference ? std::min(*steps.reference, step) : step;
}

/// Compares the next entry of a trainer, in its next step where one is over. False at its end.
bool RankComparison::advance(Trainer& trainer) {
  const Ensure order = [this](Side side, std::uint32_t id, std::uint64_t position) {
    ensure(side, id, position);
  };
  while (true) {
    if (!trainer.step) {
      trainer.step = next_step(trainer);
      if (!trainer.step) return false;
      trainer.lane->begin_steps(StepsToCompare::one(*trainer.step, to_candidate(*trainer.step)),
                                forward_ids());
    }
    if (trainer.lane->advance(order)) return true;
    trainer.lane->end_step();
    trainer.step.reset();
  }
}

void RankComparison::ensure(Trainer& trainer, Side side, std::uint64_t position) {
  const LaneWalk& walk = trainer.lane->walk();
  const auto passed = [&] {
    if (trainer.step && !walk.at_end()) return walk.has_passed(side, position);
    const auto& reader = walk.reader(side);
    return !reader || reader->position() > position;
  };
  while (!passed() && !trainer.lane->busy() && advance(trainer)) {
  }
}

std::int64_t RankComparison::to_candidate(std::int64_t step) const {
  return step == kSetup ? kSetup : step + shift_;
}

std::int64_t RankComparison::to_reference(std::int64_t step) const {
  return step == kSetup ? kSetup : step - shift_;
}

std::optional<std::int64_t> RankComparison::next_step(Side side) const {
  std::optional<std::int64_t> next;
  for (const auto& lane : lanes_) {
    const auto step = on(lane->walk().next_steps(), side);
    if (step && (!next || *step < *next)) next = step;
  }
  return next;
}

std::optional<RankComparison::NextStep> RankComparison::next_step() const {
  std::optional<NextStep> next;
  for (const Side side : kSides) {
    const auto own = next_step(side);
    if (!own) continue;
    const std::int64_t step = side == Side::reference ? *own : to_reference(*own);
    if (!next || step < next->step) next = NextStep{step, {}};
    if (step == next->step) on(next->has, side) = true;
  }
  return next;
}

bool RankComparison::is_over(Side side) const { return !next_step(side).has_value(); }

/// The program of `side` has begun `step`, in its own numbering, whether it was recorded or not.
bool RankComparison::goes_on_unrecorded(Side side, std::int64_t step) const {
  const std::uint64_t begun = on(state_.runs, side)->info().steps_in_run;
  return step >= 0 && static_cast<std::uint64_t>(step) < begun;
}

void RankComparison::pass_over(Side side, std::int64_t step) {
  Coverage& coverage = state_.totals.coverage;
  for (const auto& lane : lanes_)
    (side == Side::reference ? coverage.only_reference : coverage.only_candidate) +=
        lane->walk().skip(side, side == Side::reference ? step : to_candidate(step));
}

/// With steps shifted against each other, setup and the first steps of one run have no partner, nor
/// has what prepares the step that the other one begins with.
void RankComparison::pass_over_shifted_start() {
  const std::int64_t offset = state_.options.step_offset;
  if (offset == 0) return;
  const Both<std::int64_t> last = last_before_shifted(offset);
  const Side longer = offset > 0 ? Side::candidate : Side::reference;
  const bool has_earlier_steps = std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    lane->walk().skip(longer, kSetup);
    const auto next = on(lane->walk().next_steps(), longer);
    return next && *next <= on(last, longer);
  });
  for (const Side side : kSides)
    for (const auto& lane : lanes_) lane->walk().skip(side, on(last, side));
  // What prepares the other run's first step is setup there.
  for (const auto& lane : lanes_) lane->walk().skip_preparation(longer);
  unseen_.push_back(fmt::format("steps are shifted by {}: setup {}", offset,
                                has_earlier_steps
                                    ? fmt::format("and the {}'s steps before {} are not compared",
                                                  name(longer), offset > 0 ? offset : -offset)
                                    : "is not compared"));
}

/// What one run recorded before the other one's recording begins has no partner.
void RankComparison::pass_over_unrecorded_start(const Both<bool>& begins_late) {
  const auto reference = next_step(Side::reference);
  const auto candidate = next_step(Side::candidate);
  if ((!begins_late.reference && !begins_late.candidate) || !reference || !candidate) return;
  const std::int64_t begins = std::max(*reference, to_reference(*candidate));
  state_.totals.evidence.late_begin[state_.ranks.reference] = {begins, begins_late};
  for (const Side side : kSides) {
    const std::int64_t first = *next_step(side);
    const std::int64_t end = side == Side::reference ? begins : to_candidate(begins);
    if (first >= end) continue;
    for (auto next = next_step(side); next && *next < end; next = next_step(side)) {
      ++skipped_steps_;
      pass_over(side, side == Side::reference ? *next : to_reference(*next));
    }
    unseen_.push_back(fmt::format("only the {} has what comes before step {}, from {} on",
                                  name(side), end, step_words(first)));
  }
}

void RankComparison::run() {
  Both<bool> begins_late{};
  for (const Side side : kSides) on(begins_late, side) = next_step(side).value_or(kSetup) > 0;
  pass_over_shifted_start();
  pass_over_unrecorded_start(begins_late);
  compare_steps();
  // What others read of a trainer can have taken it into its last step, but not to its end.
  for (Trainer& trainer : trainers_)
    while (advance(trainer)) {
    }
  RunEvidence& evidence = state_.totals.evidence;
  if (!evidence.accumulation) evidence.accumulation = state_.program.accumulations.other();
  evidence.gradients = state_.program.accumulations.of_one_run();
  evidence.models = model_differences(state_.program.models);
  for (Record& record : state_.book.records()) name_tensors(state_.program.models, record);
  state_.totals.coverage.roots = std::max(state_.program.models.reference.count_with_tensors(),
                                          state_.program.models.candidate.count_with_tensors());
  for (const Source& source : state_.ledger.layers.parameters.why_each())
    state_.book.make_diverging(source);
  if (workers_) {
    workers_->finish();
    state_.random.race = state_.random.race && !workers_->feeds_others();
    if (!state_.mode.only_layers)
      state_.totals.work_moved = state_.totals.work_moved && workers_->left_alone();
    unseen_.insert(unseen_.end(), workers_->unseen().begin(), workers_->unseen().end());
  }
  if (said_of_steps_ > kMostSaidOfSteps)
    unseen_.push_back(fmt::format("so it is with later steps at {}",
                                  core::counted(said_of_steps_ - kMostSaidOfSteps, "more place")));
  // Who takes which task may change what stands beside them, too.
  if (state_.mode.lanes_run_apart && state_.book.diverges() &&
      has_main_taken_others(state_.runs, state_.ranks))
    state_.totals.work_moved = true;
  state_.totals.outcomes.raced = state_.totals.outcomes.raced || state_.random.race;
  if (!state_.mode.only_layers && !state_.mode.lanes_run_apart)
    state_.memory.absorption.absorb(state_.book);
  if (!shares_no_step()) OutcomeJudge(state_).judge();
}

/// All steps of a run are without a partner: the runs end at different places.
bool RankComparison::shares_no_step() const {
  return !compared_a_step_ && skipped_steps_ + extra_steps_.reference + extra_steps_.candidate > 0;
}

void RankComparison::compare_steps() {
  while (const auto next = next_step()) {
    const bool setup =
        next->step == kSetup && !is_over(Side::reference) && !is_over(Side::candidate);
    if (setup || (next->has.reference && next->has.candidate)) {
      compare_group(next->step, setup ? StepGroup{1, 1} : steps_together());
      continue;
    }
    const Side side = next->has.reference ? Side::reference : Side::candidate;
    const Side other = the_other(side);
    if (is_over(other)) {
      end_with_extra_steps(side);
      return;
    }
    unseen_.push_back(fmt::format("only the {} has {}", name(side), step_words(next->step)));
    ++skipped_steps_;
    pass_over(side, next->step);
  }
}

/// Of steps that are not compared one by one.
void RankComparison::say_of_steps(std::string words) {
  if (++said_of_steps_ <= kMostSaidOfSteps) unseen_.push_back(std::move(words));
}

/// How many of the next steps of each run are compared with each other.
StepGroup RankComparison::steps_together() {
  const auto main = std::find_if(lanes_.begin(), lanes_.end(), [](const auto& lane) {
    return lane->walk().lane(Side::reference) && lane->walk().lane(Side::candidate) &&
           lane->walk().lane(Side::reference)->role == LaneRole::main;
  });
  if (main == lanes_.end()) return {1, 1};
  const LaneWalk& walk = (*main)->walk();
  return sync_.look(*walk.reader(Side::reference), *walk.reader(Side::candidate));
}

void RankComparison::compare_group(std::int64_t step, const StepGroup& group) {
  const auto of_reference = static_cast<std::int64_t>(group.reference);
  const auto of_candidate = static_cast<std::int64_t>(group.candidate);
  if (of_candidate == 0) return compare_extra_steps(step, Side::reference, of_reference);
  if (of_reference == 0) return compare_extra_steps(step, Side::candidate, of_candidate);
  compared_a_step_ = true;
  const Both<std::int64_t> first{step, to_candidate(step)};
  const Both<std::int64_t> last{first.reference + of_reference - 1,
                                first.candidate + of_candidate - 1};
  compare_step({first, last, {}});
  if (of_reference == 1 && of_candidate == 1) return;
  shift_ += of_candidate - of_reference;
  say_of_steps(
      fmt::format("{} of the reference and {} of the candidate are compared together: they use the "
                  "same data, and their optimizers step in different places",
                  steps_words({{first.reference, last.reference}}),
                  steps_words({{first.candidate, last.candidate}})));
}

/// Steps that one run lacks have no partner, and the later ones are partners under shifted numbers.
/// An effect of such a step is what its values leave in memory.
void RankComparison::compare_extra_steps(std::int64_t step, Side side, std::int64_t count) {
  const bool in_reference = side == Side::reference;
  const std::int64_t first = in_reference ? step : to_candidate(step);
  for (std::int64_t k = 0; k < count; ++k)
    compare_step(StepsToCompare::one(in_reference ? step + k : step,
                                     to_candidate(step) + (in_reference ? 0 : k), side));
  shift_ += in_reference ? -count : count;
  const std::int64_t next = in_reference ? step + count : step;
  say_of_steps(
      fmt::format("the {}'s {} {} no partner: from there on step {} of the reference is step {} of "
                  "the candidate",
                  name(side), steps_words({{first, first + count - 1}}),
                  count == 1 ? "has" : "have", next, to_candidate(next)));
}

void RankComparison::compare_step(const StepsToCompare& steps) {
  const std::int64_t step = steps.first.reference;
  state_.judge.begin_step(step);
  state_.ledger.layers.begin_step();
  state_.program.accumulations.begin_step(step);
  for (const Side side : kSides) on(state_.partners.otherwise_computed, side).begin_step();
  if (workers_) workers_->read(steps.last.reference, steps.last.candidate);
  for (const auto& lane : lanes_)
    if (!is_trainer(*lane)) lane->begin_steps(steps, forward_ids());
  const Ensure order =
      lanes_.size() < 2 ? Ensure{} : [this](Side side, std::uint32_t id, std::uint64_t position) {
        ensure(side, id, position);
      };
  const auto finish = [&](LaneComparison& lane) {
    while (lane.advance(order)) {
    }
  };
  for (const auto& lane : lanes_) {
    if (is_trainer(*lane)) continue;
    // Layers do not say what an optimizer has read: gradients come from all other lanes.
    while (state_.mode.only_layers && !lane->comes_to_update() && lane->advance(order)) {
    }
    if (state_.mode.only_layers && lane->comes_to_update())
      for (const auto& other : lanes_)
        if (other != lane && !is_trainer(*other)) finish(*other);
    finish(*lane);
  }
  for (const auto& lane : lanes_)
    if (!is_trainer(*lane)) lane->end_step();
  for (Trainer& trainer : trainers_)
    while (trainer.step.value_or(next_step(trainer).value_or(steps.last.reference + 1)) <=
               steps.last.reference &&
           advance(trainer)) {
    }
  state_.program.accumulations.end_step(state_.runs, state_.ranks);
  for (const Side side : kSides) on(state_.ledger.memory, side).purge(steps.last.reference);
}

void RankComparison::ensure(Side side, std::uint32_t id, std::uint64_t position) {
  for (Trainer& trainer : trainers_) {
    const auto& known = trainer.lane->walk().lane(side);
    if (known && known->id == id) return ensure(trainer, side, position);
  }
  for (const auto& lane : lanes_) {
    const auto& known = lane->walk().lane(side);
    if (!known || known->id != id || lane->busy()) continue;
    while (!lane->walk().has_passed(side, position) &&
           lane->advance([this](Side one, std::uint32_t other, std::uint64_t earlier) {
             ensure(one, other, earlier);
           })) {
    }
  }
}

std::uint64_t RankComparison::forward_number(Side side, std::uint32_t id,
                                             std::uint64_t position) const {
  for (std::size_t k = 0; k < lanes_.size(); ++k) {
    const auto& known = lanes_[k]->walk().lane(side);
    if (!known || known->id != id) continue;
    const std::uint64_t number = lanes_[k]->walk().partner_number(side, position);
    return number == 0 ? 0 : KeyHash().add(k).add(number).value();
  }
  return 0;
}

/// Where everything before is equal, the missing steps are where the runs diverge. Where it is not,
/// the number of steps may follow from that; where the runs share no step, nothing follows.
void RankComparison::end_with_extra_steps(Side side) {
  const auto first = next_step();
  if (first->step == kSetup) {  // the other run has no events at all
    while (const auto next = next_step()) pass_over(side, next->step);
    return;
  }
  const Side ended = the_other(side);
  const bool unrecorded =
      goes_on_unrecorded(ended, ended == Side::reference ? first->step : to_candidate(first->step));
  bool entered = unrecorded || state_.totals.coverage.aligned == 0 ||
                 !state_.runs.reference->info().complete ||
                 !state_.runs.candidate->info().complete || state_.book.diverges();
  if (!entered) state_.mode.longer = side;
  std::uint64_t& steps = on(extra_steps_, side);
  while (const auto next = next_step()) {
    ++steps;
    if (!entered) {
      entered = std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
        return lane->report_missing_steps(side, next->step, to_candidate(next->step));
      });
    }
    pass_over(side, next->step);
  }
  if (state_.mode.longer) {  // for longer than it was recorded, perhaps
    const std::int64_t begins = side == Side::reference ? first->step : to_candidate(first->step);
    const std::uint64_t begun = on(state_.runs, side)->info().steps_in_run;
    steps = std::max(steps, begun - std::min(begun, static_cast<std::uint64_t>(begins)));
  }
  unseen_.push_back(fmt::format("the {} goes on for {} after {}, where the {}{} ends", name(side),
                                core::counted(steps, "step"), step_words(first->step - 1),
                                name(ended), unrecorded ? "'s recording" : ""));
}

}  // namespace ulpscope::comparison
