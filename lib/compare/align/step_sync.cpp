#include "compare/align/step_sync.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "compare/align/joined_steps.hpp"

namespace ulpscope::comparison {
namespace {

/// Steps in a row that must agree, if there are so many.
constexpr std::size_t kInRow = 3;

/// Leaves only values that no other of these steps has: constants carry no information.
void leave_out_constants(Sketches& steps) {
  Keys all;
  for (const StepSketch& step : steps)
    std::ranges::set_union(step.data, step.made, std::back_inserter(all));
  std::sort(all.begin(), all.end());
  const auto stands_twice = [&](std::uint64_t key) {
    const auto at = std::lower_bound(all.begin(), all.end(), key);
    return std::next(at) != all.end() && *std::next(at) == key;
  };
  for (StepSketch& step : steps)
    for (Keys* kind : {&step.data, &step.made}) std::erase_if(*kind, stands_twice);
}

/// The same data was used with the same parameters. Equal data alone, and its results alone, may be
/// a different order of samples.
[[nodiscard]] bool same_computation(const StepSketch& a, const StepSketch& b) {
  const bool same_values = mostly_shared(a.made, b.made);
  if (a.parameters.empty() && b.parameters.empty()) return same_values;
  if (a.parameters != b.parameters) return same_values && mostly_shared(a.parameters, b.parameters);
  return shared(a.data, b.data) > 0 || shared(a.made, b.made) > 0;
}

/// The steps of both runs agree from these on, for at least as many as one run has before them.
[[nodiscard]] bool agree(const Sketches& a, std::size_t from_a, const Sketches& b,
                         std::size_t from_b) {
  if (from_a >= a.size() || from_b >= b.size()) return false;
  if (!same_computation(a[from_a], b[from_b])) return false;
  const std::size_t steps = std::min({kInRow, a.size() - from_a, b.size() - from_b});
  for (std::size_t k = 1; k < steps; ++k)
    if (shared(a[from_a + k].data, b[from_b + k].data) == 0 &&
        shared(a[from_a + k].made, b[from_b + k].made) == 0)
      return false;
  return steps >= std::min(kInRow, std::max(from_a, from_b));
}

/// Where only some are the same, these may be what every step uses.
[[nodiscard]] bool have_all_data(const StepSketch& a, const StepSketch& b) {
  return same_data(a, b) && a.data == b.data;
}

/// One run uses the same data so many steps later, to the end of what is known of both. Where the
/// numbers that order later data are others, its calls of the program come so much later: what it
/// does after each epoch.
[[nodiscard]] bool comes_later(const Sketches& later, std::size_t count, const Sketches& earlier) {
  if (count >= later.size()) return false;
  const std::size_t steps = std::min(later.size() - count, earlier.size());
  if (steps < kInRow) return false;
  bool same_data = true;
  bool same_calls = true;
  bool shows_in_calls = false;
  for (std::size_t k = 0; k < steps; ++k) {
    const StepSketch& one = later[k + count];
    same_data = same_data && mostly_shared(one.data, earlier[k].data);
    if (!same_data && k == 0) return false;
    same_calls = same_calls && one.all_calls == earlier[k].all_calls;
    shows_in_calls = shows_in_calls || later[k].all_calls != earlier[k].all_calls;
  }
  return same_data || (same_calls && shows_in_calls);
}

/// The steps consist of the same ops.
[[nodiscard]] bool same_ops(const std::vector<HeldEvent>& a, const std::vector<HeldEvent>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const HeldEvent& left, const HeldEvent& right) {
        return left.event->kind == right.event->kind && left.event->op == right.event->op;
      });
}

constexpr StepGroup kOneOfEach{1, 1};

}  // namespace

StepGroup StepSync::look(const LaneReader& reference, const LaneReader& candidate) {
  if (++steps_ == 1)
    training_ = {{reference.lane(), reference.position()},
                 {candidate.lane(), candidate.position()}};
  const bool looks_for_extra = extra_.is_over(steps_);
  const bool looks_for_joined = joined_.is_over(steps_);
  if (!looks_for_extra && !looks_for_joined) return kOneOfEach;
  const std::vector<HeldEvent> next = reference.peek();
  const std::vector<HeldEvent> other = candidate.peek();
  if (made_the_same(next, other)) return kOneOfEach;
  const bool have_same_data = have_all_data(sketch(next), sketch(other));
  const bool may_be_joined = looks_for_joined && !same_ops(next, other);
  if (have_same_data && !may_be_joined) return kOneOfEach;
  const auto& of_reference = ahead_.reference.from(reference, training_.reference);
  const auto& of_candidate = ahead_.candidate.from(candidate, training_.candidate);
  const auto count_left = [&] { return StepsLeft{reference.steps_left(), candidate.steps_left()}; };
  if (may_be_joined) {
    if (const auto group = joined_steps(of_reference, of_candidate, count_left))
      return {group->reference, group->candidate};
    joined_.begin_again(steps_);
  }
  if (have_same_data || !looks_for_extra) return kOneOfEach;
  Sketches a(of_reference.begin(), of_reference.end());
  Sketches b(of_candidate.begin(), of_candidate.end());
  leave_out_constants(a);
  leave_out_constants(b);
  if (a.empty() || b.empty() || same_computation(a.front(), b.front())) return kOneOfEach;
  for (std::size_t count = 1; count < std::max(a.size(), b.size()); ++count) {
    if (agree(a, 0, b, count)) return {0, count};
    if (agree(a, count, b, 0)) return {count, 0};
  }
  // An iteration that one run leaves out shifts the data, and ends it that much earlier.
  const auto left = count_left();
  if (left.reference && left.candidate && left.reference != left.candidate) {
    const bool reference_has_more = *left.reference > *left.candidate;
    const std::uint64_t more =
        reference_has_more ? *left.reference - *left.candidate : *left.candidate - *left.reference;
    if (reference_has_more && comes_later(a, more, b)) return {more, 0};
    if (!reference_has_more && comes_later(b, more, a)) return {0, more};
  }
  extra_.begin_again(steps_);
  return kOneOfEach;
}

}  // namespace ulpscope::comparison
