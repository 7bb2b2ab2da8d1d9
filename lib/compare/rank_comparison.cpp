#include "compare/rank_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compare/hash.hpp"
#include "compare/words.hpp"

namespace ulpscope::comparison {

RankComparison::RankComparison(const Run& reference, const Run& candidate,
                               const Both<std::uint32_t>& ranks, const CompareOptions& options,
                               FindingBook& book, Totals& totals, ValueJudge& judge)
    : state_(reference, candidate, ranks, options, book, totals, judge) {
  pair_lanes();
}

void RankComparison::pair_lanes() {
  const std::vector<Lane> left = state_.runs.reference->lanes(state_.ranks.reference);
  const std::vector<Lane> right = state_.runs.candidate->lanes(state_.ranks.candidate);
  const auto same = [](const Lane& a, const Lane& b) {
    return a.role == b.role && a.ordinal == b.ordinal;
  };
  const auto alone = [&](const Lane& lane, Side side) {
    if (lane.events == 0) return;
    unseen_.push_back(fmt::format("only the {} has the {} (thread {}, {})", name(side),
                                  lane_words(lane, Event{}), lane.thread_name,
                                  counted(lane.events, "event")));
  };
  for (const Lane& lane : left) {
    const auto partner = std::find_if(right.begin(), right.end(),
                                      [&](const Lane& other) { return same(lane, other); });
    Both<std::optional<Lane>> pair{lane, std::nullopt};
    if (partner != right.end())
      pair.candidate = *partner;
    else
      alone(lane, Side::reference);
    lanes_.push_back(std::make_unique<LaneComparison>(state_, pair));
  }
  for (const Lane& lane : right) {
    if (std::any_of(left.begin(), left.end(),
                    [&](const Lane& other) { return same(lane, other); }))
      continue;
    alone(lane, Side::candidate);
    lanes_.push_back(std::make_unique<LaneComparison>(
        state_, Both<std::optional<Lane>>{std::nullopt, lane}));
  }
  const auto order = [](const std::unique_ptr<LaneComparison>& comparison) {
    const auto& lane = comparison->walk().lane(Side::reference);
    const Lane& known = lane ? *lane : *comparison->walk().lane(Side::candidate);
    return std::pair(known.role, known.ordinal);
  };
  std::stable_sort(lanes_.begin(), lanes_.end(),
                   [&](const auto& a, const auto& b) { return order(a) < order(b); });
}

std::int64_t RankComparison::to_candidate(std::int64_t step) const {
  return step == kSetup ? kSetup : step + state_.options.step_offset;
}

std::int64_t RankComparison::to_reference(std::int64_t step) const {
  return step == kSetup ? kSetup : step - state_.options.step_offset;
}

std::optional<RankComparison::NextStep> RankComparison::next_step() const {
  std::optional<NextStep> next;
  for (const auto& lane : lanes_) {
    const auto steps = lane->walk().next_steps();
    for (const Side side : kSides) {
      if (!on(steps, side)) continue;
      const std::int64_t step =
          side == Side::reference ? *steps.reference : to_reference(*steps.candidate);
      if (!next || step < next->step) next = NextStep{step, {}};
      if (step == next->step) on(next->has, side) = true;
    }
  }
  return next;
}

bool RankComparison::is_over(Side side) const {
  return std::all_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    return !on(lane->walk().next_steps(), side).has_value();
  });
}

void RankComparison::pass_over(Side side, std::int64_t step) {
  Coverage& coverage = state_.totals.coverage;
  for (const auto& lane : lanes_)
    (side == Side::reference ? coverage.only_reference : coverage.only_candidate) +=
        lane->walk().skip(side, side == Side::reference ? step : to_candidate(step));
}

/// With steps shifted against each other, setup and the first steps of one run have no partner.
void RankComparison::pass_over_shifted_start() {
  const std::int64_t offset = state_.options.step_offset;
  if (offset == 0) return;
  const Both<std::int64_t> last{offset < 0 ? -offset - 1 : kSetup, offset > 0 ? offset - 1 : kSetup};
  for (const Side side : kSides)
    for (const auto& lane : lanes_) lane->walk().skip(side, on(last, side));
  unseen_.push_back(fmt::format(
      "steps are shifted by {}: setup and the {}'s steps before {} are not compared", offset,
      offset > 0 ? "candidate" : "reference", offset > 0 ? offset : -offset));
}

void RankComparison::run() {
  pass_over_shifted_start();
  while (const auto next = next_step()) {
    const bool setup = next->step == kSetup && !is_over(Side::reference) && !is_over(Side::candidate);
    if (setup || (next->has.reference && next->has.candidate)) {
      compare_step(next->step);
      continue;
    }
    const Side side = next->has.reference ? Side::reference : Side::candidate;
    const Side other = side == Side::reference ? Side::candidate : Side::reference;
    if (is_over(other)) {
      end_with_extra_steps(side);
      return;
    }
    unseen_.push_back(
        fmt::format("only the {} has {}", name(side), step_words(next->step)));
    ++skipped_steps_;
    pass_over(side, next->step);
  }
}

void RankComparison::compare_step(std::int64_t step) {
  state_.judge.begin_step(step);
  if (step != kSetup) ++common_steps_;
  for (const auto& lane : lanes_)
    lane->begin_step(step, to_candidate(step),
                     [this](Side side, std::uint32_t id, std::uint64_t position) {
                       return forward_number(side, id, position);
                     });
  const Ensure order = lanes_.size() < 2
                           ? Ensure{}
                           : [this](Side side, std::uint32_t id, std::uint64_t position) {
                               ensure(side, id, position);
                             };
  for (const auto& lane : lanes_)
    while (lane->advance(order)) {
    }
  for (const auto& lane : lanes_) lane->end_step();
  state_.taint.reference.purge(step);
  state_.taint.candidate.purge(step);
}

void RankComparison::ensure(Side side, std::uint32_t id, std::uint64_t position) {
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

/// Where everything before is equal, the missing steps are what parts the runs. Where it is not, the
/// number of steps may follow from that.
void RankComparison::end_with_extra_steps(Side side) {
  bool entered = !state_.runs.reference->info().complete ||
                 !state_.runs.candidate->info().complete || state_.book.diverges();
  std::uint64_t& steps = on(extra_steps_, side);
  const auto first = next_step();
  while (const auto next = next_step()) {
    ++steps;
    if (!entered) {
      entered = std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
        return lane->report_missing_steps(side, next->step, to_candidate(next->step));
      });
    }
    pass_over(side, next->step);
  }
  unseen_.push_back(fmt::format("the {} goes on for {} after {}, where the {} ends", name(side),
                                counted(steps, "step"), step_words(first->step - 1),
                                name(side == Side::reference ? Side::candidate : Side::reference)));
}

}  // namespace ulpscope::comparison
