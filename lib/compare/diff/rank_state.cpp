#include "compare/diff/rank_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "compare/measure/budget/replay_judge.hpp"
#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

void add(Both<std::uint64_t>& to, const Both<std::uint64_t>& more) {
  to.reference += more.reference;
  to.candidate += more.candidate;
}

void add(NotCompared& to, const NotCompared& more) {
  to.uninitialised += more.uninitialised;
  to.handle += more.handle;
  to.layout += more.layout;
  to.no_bytes += more.no_bytes;
  to.ignored += more.ignored;
  to.opaque += more.opaque;
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Adds closed ranges to others; both ascend.
void add(Ranges& to, const Ranges& more) {
  Ranges all;
  std::merge(to.begin(), to.end(), more.begin(), more.end(), std::back_inserter(all));
  to.clear();
  for (const auto& range : all) {
    if (to.empty() || range.first > to.back().second + 1)
      to.push_back(range);
    else
      to.back().second = std::max(to.back().second, range.second);
  }
}

}  // namespace

void add(OutcomeTotals& to, const OutcomeTotals& more) {
  for (const Side side : kSides) {
    on(to.known, side) = on(to.known, side) && on(more.known, side);
    on(to.extra, side) += on(more.extra, side);
    if (on(to.extra_names, side).empty()) on(to.extra_names, side) = on(more.extra_names, side);
    on(to.extra_numbers, side) += on(more.extra_numbers, side);
    on(to.extra_saves, side) += on(more.extra_saves, side);
    on(to.unread, side) += on(more.unread, side);
    on(to.extra_draws, side) += on(more.extra_draws, side);
  }
  to.shared_generators.insert(to.shared_generators.end(), more.shared_generators.begin(),
                              more.shared_generators.end());
  to.compared += more.compared;
  to.unknown += more.unknown;
  to.unfilled += more.unfilled;
  to.exchanged += more.exchanged;
  to.raced = to.raced || more.raced;
  to.touched_alone = to.touched_alone || more.touched_alone;
  to.too_many = to.too_many || more.too_many;
}

void add(Totals& to, const Totals& more) {
  to.coverage.aligned += more.coverage.aligned;
  to.coverage.moved += more.coverage.moved;
  to.coverage.only_reference += more.coverage.only_reference;
  to.coverage.only_candidate += more.coverage.only_candidate;
  add(to.coverage.not_compared, more.coverage.not_compared);
  to.coverage.roots = std::max(to.coverage.roots, more.coverage.roots);
  to.propagated.events += more.propagated.events;
  add(to.propagated.steps, more.propagated.steps);
  add(to.ops, more.ops);
  to.aligned_ops += more.aligned_ops;
  to.values += more.values;
  to.given_up += more.given_up;
  to.lone_trainers += more.lone_trainers;
  add(to.lone_backwards, more.lone_backwards);
  to.work_moved = to.work_moved || more.work_moved;
  to.cut_off += more.cut_off;
  add(to.reads, more.reads);
  add(to.verified, more.verified);
  for (const Side side : kSides) {
    on(to.data, side).high += on(more.data, side).high;
    on(to.data, side).low += on(more.data, side).low;
    on(to.evidence.threads, side) += on(more.evidence.threads, side);
  }
  to.data_values += more.data_values;
  to.operations += more.operations;
  budget::add(to.op_budgets, more.op_budgets);
  budget::add(to.replay, more.replay);
  add(to.outcomes, more.outcomes);
  if (!to.evidence.accumulation) to.evidence.accumulation = more.evidence.accumulation;
  if (!to.evidence.gradients) to.evidence.gradients = more.evidence.gradients;
  // Ranks train the same model.
  if (to.evidence.models.empty()) to.evidence.models = more.evidence.models;
  to.evidence.other_batch = to.evidence.other_batch || more.evidence.other_batch;
  to.evidence.other_start = to.evidence.other_start || more.evidence.other_start;
  to.evidence.late_begin.insert(more.evidence.late_begin.begin(), more.evidence.late_begin.end());
}

std::uint64_t History::occurrence(std::uint64_t key, std::int64_t step) {
  Count& count = counts_[key];
  if (count.step != step) count = {step, 0};
  return KeyHash().add(key).add(count.count++).value();
}

const History::Past* History::past(std::uint64_t occurrence) const {
  const auto at = pasts_.find(occurrence);
  return at == pasts_.end() ? nullptr : &at->second;
}

void History::equal(std::uint64_t occurrence, std::int64_t step) {
  const auto [at, inserted] = pasts_.try_emplace(occurrence, Past{step, step, 1, false});
  if (inserted || at->second.broken) return;
  at->second.last = step;
  ++at->second.steps;
}

void History::differs(std::uint64_t occurrence) { pasts_[occurrence].broken = true; }

}  // namespace ulpscope::comparison
