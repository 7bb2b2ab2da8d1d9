#include "compare/diff/rank_state.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/measure/budget/replay_judge.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/words.hpp"

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

/// Those of "5" or "[1, 2]"; empty for any other text.
[[nodiscard]] std::vector<std::int64_t> integers_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    if (*at == '[' || *at == ']' || *at == ',' || *at == ' ') {
      ++at;
      continue;
    }
    std::int64_t number = 0;
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    numbers.push_back(number);
    at = behind;
  }
  return numbers;
}

}  // namespace

void add(OutcomeTotals& to, const OutcomeTotals& more) {
  for (const Side side : kSides) {
    on(to.known, side) = on(to.known, side) && on(more.known, side);
    on(to.extra, side) += on(more.extra, side);
    on(to.extra_numbers, side) += on(more.extra_numbers, side);
    on(to.extra_draws, side) += on(more.extra_draws, side);
  }
  to.compared += more.compared;
  to.unknown += more.unknown;
  to.unfilled += more.unfilled;
  to.touched_alone = to.touched_alone || more.touched_alone;
  to.too_many = to.too_many || more.too_many;
}

void add(Totals& to, const Totals& more) {
  to.coverage.aligned += more.coverage.aligned;
  to.coverage.only_reference += more.coverage.only_reference;
  to.coverage.only_candidate += more.coverage.only_candidate;
  add(to.coverage.not_compared, more.coverage.not_compared);
  to.propagated.events += more.propagated.events;
  add(to.propagated.steps, more.propagated.steps);
  add(to.ops, more.ops);
  to.aligned_ops += more.aligned_ops;
  to.values += more.values;
  to.given_up += more.given_up;
  to.lone_trainers += more.lone_trainers;
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
  to.evidence.other_batch = to.evidence.other_batch || more.evidence.other_batch;
  to.evidence.other_start = to.evidence.other_start || more.evidence.other_start;
  to.evidence.late_begin.insert(more.evidence.late_begin.begin(), more.evidence.late_begin.end());
}

void HostNumbers::differ(const std::string& reference, const std::string& candidate,
                         const Source& source) {
  source_ = source;
  const auto is_count = [](const std::string& text) {
    const auto number = number_in(text);
    return !number || *number == std::floor(*number);
  };
  fraction_ = fraction_ || !is_count(reference) || !is_count(candidate);
  if (contains(reference, candidate)) return;
  known_.emplace_back(reference, candidate);
  if (known_.size() > kKept) known_.pop_front();
}

bool HostNumbers::contains(const std::string& reference, const std::string& candidate) const {
  return std::find(known_.begin(), known_.end(), std::pair(reference, candidate)) != known_.end();
}

void OtherSizes::differ(const Geometry& reference, const Geometry& candidate,
                        const Source& source) {
  const auto& a = reference.sizes;
  const auto& b = candidate.sizes;
  for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d)
    if (a[d] != b[d] && known_.size() < kKept) known_.try_emplace({a[d], b[d]}, source);
}

std::optional<Source> OtherSizes::explain(const std::string& reference,
                                          const std::string& candidate) const {
  const std::vector<std::int64_t> a = integers_in(reference);
  const std::vector<std::int64_t> b = integers_in(candidate);
  if (a.size() != b.size()) return std::nullopt;
  std::optional<Source> source;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    const auto at = known_.find({a[k], b[k]});
    if (at == known_.end()) return std::nullopt;
    source = at->second;
  }
  return source;
}

void OtherValues::differ(const Digest& reference, const Digest& candidate, const Source& source) {
  if (lately_.size() == kKept) before_ = std::exchange(lately_, {});
  lately_.insert_or_assign(KeyHash().add(reference).add(candidate).value(), source);
}

std::optional<Source> OtherValues::explain(const Digest& reference, const Digest& candidate) const {
  const std::uint64_t key = KeyHash().add(reference).add(candidate).value();
  for (const Known* known : {&lately_, &before_})
    if (const auto at = known->find(key); at != known->end()) return at->second;
  return std::nullopt;
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
