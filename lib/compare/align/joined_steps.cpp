#include "compare/align/joined_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

using Ahead = std::deque<StepSketch>;

/// Of one run.
constexpr std::size_t kMostJoined = 4;
/// So many of the next steps are looked at.
constexpr std::size_t kMostSteps = 2 * kMostJoined;
constexpr std::size_t kOpsOfBeginning = 8;
/// Of the data that one run has where steps belong together, the other one has at least so much.
constexpr double kSharedPart = 0.9;

/// Values from outside of the model that the steps of one run use.
class OutsideData {
 public:
  explicit OutsideData(const Ahead& steps) {
    for (std::size_t k = 0; k < std::min(steps.size(), kMostSteps); ++k) {
      const StepSketch& step = steps[k];
      steps_.push_back(outside_data(step));
      for (const Keys* kind : {&step.data, &step.read})
        if (kind->size() == StepSketch::kKept) complete_to_ = std::min(complete_to_, kind->back());
    }
  }

  /// All keys up to this one are known.
  [[nodiscard]] std::uint64_t complete_to() const { return complete_to_; }

  /// What three steps in a row use.
  void add_constants(Keys& constants) const {
    for (std::size_t k = 2; k < steps_.size(); ++k) {
      const Keys in_three = common(common(steps_[k - 2], steps_[k - 1]), steps_[k]);
      constants.insert(constants.end(), in_three.begin(), in_three.end());
    }
  }

  /// Of each step, keys up to `last` without `constants`, which ascend.
  [[nodiscard]] std::vector<Keys> without(const Keys& constants, std::uint64_t last) const {
    std::vector<Keys> result;
    for (const Keys& step : steps_) {
      Keys& keys = result.emplace_back();
      std::set_difference(step.begin(), step.end(), constants.begin(), constants.end(),
                          std::back_inserter(keys));
      keys.erase(std::upper_bound(keys.begin(), keys.end(), last), keys.end());
    }
    return result;
  }

 private:
  std::vector<Keys> steps_;
  std::uint64_t complete_to_ = ~std::uint64_t{0};
};

/// Keys as they are used for the first time, the second time, and so on.
[[nodiscard]] std::vector<Keys> uses(const std::vector<Keys>& steps) {
  std::unordered_map<std::uint64_t, std::uint64_t> times;
  std::vector<Keys> result;
  for (const Keys& step : steps) {
    Keys& keys = result.emplace_back();
    for (const std::uint64_t key : step)
      keys.push_back(KeyHash().add(key).add(times[key]++).value());
    std::sort(keys.begin(), keys.end());
  }
  return result;
}

/// Which steps of the two runs use the same data.
class SharedData {
 public:
  SharedData(const std::vector<Keys>& reference, const std::vector<Keys>& candidate)
      : columns_(candidate.size()) {
    for (const Keys& one : reference)
      for (const Keys& other : candidate) counts_.push_back(shared(one, other));
  }

  [[nodiscard]] std::size_t at(std::size_t row, std::size_t column) const {
    return counts_[row * columns_ + column];
  }

  /// The smallest group from (`row`, `column`) on that shares data with no step after it; its ends.
  [[nodiscard]] Both<std::size_t> group(std::size_t row, std::size_t column) const {
    Both<std::size_t> end{row + 1, column + 1};
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t r = row; r < rows(); ++r)
        for (std::size_t c = column; c < columns_; ++c) {
          if ((r >= end.reference) == (c >= end.candidate) || at(r, c) == 0) continue;
          end = {std::max(end.reference, r + 1), std::max(end.candidate, c + 1)};
          grows = true;
        }
    }
    return end;
  }

  /// These steps share data with each other, and from them on with no other ones.
  [[nodiscard]] bool are_partners(const Both<std::size_t>& steps) const {
    if (steps.reference >= rows() || steps.candidate >= columns_) return false;
    const Both<std::size_t> end = group(steps.reference, steps.candidate);
    return at(steps.reference, steps.candidate) > 0 && end.reference == steps.reference + 1 &&
           end.candidate == steps.candidate + 1;
  }

  /// The group up to `end`, and one more step of one run where that one alone has it.
  [[nodiscard]] Both<std::size_t> with_step_alone(const Both<std::size_t>& end) const {
    if (are_partners(end)) return end;
    const Both<std::size_t> more_of_reference{end.reference + 1, end.candidate};
    const Both<std::size_t> more_of_candidate{end.reference, end.candidate + 1};
    if (are_partners(more_of_reference) && !row_shares(end.reference)) return more_of_reference;
    if (are_partners(more_of_candidate) && !column_shares(end.candidate)) return more_of_candidate;
    return end;
  }

  /// Of the group up to `end`: later steps of one run share data with the same steps of the other
  /// one or later ones, and the first and the last of both with each other.
  [[nodiscard]] bool is_in_order(const Both<std::size_t>& end) const {
    std::size_t last = 0;
    for (std::size_t r = 0; r < end.reference; ++r) {
      std::size_t newest = last;
      for (std::size_t c = 0; c < end.candidate; ++c) {
        if (at(r, c) == 0) continue;
        if (c < last) return false;
        newest = c;
      }
      last = newest;
    }
    return at(0, 0) > 0 && at(end.reference - 1, end.candidate - 1) > 0;
  }

 private:
  [[nodiscard]] std::size_t rows() const { return columns_ == 0 ? 0 : counts_.size() / columns_; }
  [[nodiscard]] bool row_shares(std::size_t row) const {
    for (std::size_t column = 0; column < columns_; ++column)
      if (at(row, column) > 0) return true;
    return false;
  }
  [[nodiscard]] bool column_shares(std::size_t column) const {
    for (std::size_t row = 0; row < rows(); ++row)
      if (at(row, column) > 0) return true;
    return false;
  }

  std::size_t columns_;
  std::vector<std::size_t> counts_;
};

/// The larger set has almost all keys of the smaller one.
[[nodiscard]] bool is_part(const Keys& one, const Keys& other) {
  const auto fewest = static_cast<double>(std::min(one.size(), other.size()));
  return static_cast<double>(shared(one, other)) >= kSharedPart * fewest;
}

[[nodiscard]] bool begin_alike(const std::vector<std::uint64_t>& one,
                               const std::vector<std::uint64_t>& other) {
  const auto count = std::min({one.size(), other.size(), kOpsOfBeginning});
  return std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(count), other.begin());
}

/// The forwards of the first steps of one run are those of the other run's, and perhaps more.
[[nodiscard]] bool do_the_same(const Ahead& reference, const Ahead& candidate,
                               const Both<std::size_t>& end) {
  const auto ops = [](const Ahead& steps, std::size_t count) {
    std::vector<std::uint64_t> all;
    for (std::size_t k = 0; k < count; ++k)
      all.insert(all.end(), steps[k].forward_ops.begin(), steps[k].forward_ops.end());
    return all;
  };
  const auto contains = [](const std::vector<std::uint64_t>& longer,
                           const std::vector<std::uint64_t>& shorter) {
    auto next = shorter.begin();
    for (const std::uint64_t op : longer)
      if (next != shorter.end() && *next == op) ++next;
    return next == shorter.end();
  };
  const auto a = ops(reference, end.reference);
  const auto b = ops(candidate, end.candidate);
  return a.size() < b.size() ? contains(b, a) : contains(a, b);
}

[[nodiscard]] Keys first_of(const std::vector<Keys>& steps, std::size_t count) {
  Keys all;
  for (std::size_t k = 0; k < count; ++k) all.insert(all.end(), steps[k].begin(), steps[k].end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Data show nothing: all steps of both runs use the same.
[[nodiscard]] bool use_the_same(const std::vector<Keys>& reference,
                                const std::vector<Keys>& candidate) {
  const auto is_first = [&](const Keys& step) { return step == reference.front(); };
  return std::all_of(reference.begin(), reference.end(), is_first) &&
         std::all_of(candidate.begin(), candidate.end(), is_first);
}

/// The backward passes of each step, numbered from the first one on.
[[nodiscard]] std::vector<Keys> numbered_passes(const Ahead& steps) {
  std::vector<Keys> result;
  std::uint64_t number = 0;
  for (std::size_t k = 0; k < std::min(steps.size(), kMostSteps); ++k) {
    Keys& keys = result.emplace_back();
    for (std::size_t pass = 0; pass < steps[k].backward_passes; ++pass) keys.push_back(number++);
  }
  return result;
}

/// Steps that together have the same keys, `a` and `b`, in the same order.
[[nodiscard]] std::optional<Both<std::size_t>> joined_by(const std::vector<Keys>& a,
                                                         const std::vector<Keys>& b,
                                                         const Ahead& reference,
                                                         const Ahead& candidate) {
  const SharedData data(uses(a), uses(b));
  Both<std::size_t> end = data.group(0, 0);
  if (end.reference > kMostJoined || end.candidate > kMostJoined) return std::nullopt;
  if (!data.is_in_order(end)) return std::nullopt;
  const Keys left = first_of(a, end.reference);
  const Keys right = first_of(b, end.candidate);
  const auto most = static_cast<double>(std::max(left.size(), right.size()));
  if (static_cast<double>(shared(left, right)) < kSharedPart * most) return std::nullopt;
  // Both begin and end with the same.
  if (!is_part(a[0], b[0]) || !is_part(a[end.reference - 1], b[end.candidate - 1]))
    return std::nullopt;
  end = data.with_step_alone(end);
  if (end.reference == 1 && end.candidate == 1) return end;
  const bool reference_ends = end.reference == reference.size();
  const bool candidate_ends = end.candidate == candidate.size();
  if (reference_ends != candidate_ends) return std::nullopt;
  const bool goes_on = reference_ends || (data.are_partners(end) &&
                                          begin_alike(reference[end.reference].forward_ops,
                                                      candidate[end.candidate].forward_ops));
  if (!goes_on || !do_the_same(reference, candidate, end)) return std::nullopt;
  return end;
}

/// The run that has more of these steps has more of them left, too.
[[nodiscard]] bool have_more_left(const Both<std::size_t>& end, const CountStepsLeft& count_left) {
  const StepsLeft left = count_left();
  if (!left.reference || !left.candidate) return false;
  const auto more = [](std::uint64_t one, std::uint64_t other) {
    return one > other ? one - other : 0;
  };
  return more(*left.reference, *left.candidate) >= more(end.reference, end.candidate) &&
         more(*left.candidate, *left.reference) >= more(end.candidate, end.reference);
}

/// Steps that together have as many backward passes. Where the run with more of these steps has not
/// more of them left, a pass of one run alone changes no model.
[[nodiscard]] std::optional<Both<std::size_t>> joined_by_passes(const Ahead& reference,
                                                                const Ahead& candidate,
                                                                const CountStepsLeft& count_left) {
  const auto end =
      joined_by(numbered_passes(reference), numbered_passes(candidate), reference, candidate);
  if (!end || (end->reference == 1 && end->candidate == 1)) return std::nullopt;
  return have_more_left(*end, count_left) ? end : std::nullopt;
}

/// One step of one run, and so many of the other one that their forwards are in the same calls of
/// the program. If that run does not have more steps left, it has left a call out instead.
[[nodiscard]] std::optional<Both<std::size_t>> joined_by_calls(const Ahead& reference,
                                                               const Ahead& candidate,
                                                               const CountStepsLeft& count_left) {
  const auto calls_of = [](const Ahead& steps) {
    Keys calls;
    for (const StepSketch& step : steps)
      calls.insert(calls.end(), step.calls.begin(), step.calls.end());
    std::ranges::sort(calls);
    return calls;
  };
  // A call that only one run makes says nothing.
  const Keys shared_calls = common(calls_of(reference), calls_of(candidate));
  const auto without_others = [&](const StepSketch& step) {
    std::vector<std::uint64_t> calls = step.calls;
    std::erase_if(calls, [&](std::uint64_t call) {
      return call != 0 && !std::ranges::binary_search(shared_calls, call);
    });
    return calls;
  };
  const auto are_known = [](const std::vector<std::uint64_t>& calls) {
    return !calls.empty() && std::ranges::find(calls, 0) == calls.end();
  };
  const auto set_of = [](Keys calls) {
    std::ranges::sort(calls);
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    return calls;
  };
  const bool reference_is_one =
      set_of(without_others(reference[0])).size() >= set_of(without_others(candidate[0])).size();
  const auto calls_of_one = without_others(reference_is_one ? reference[0] : candidate[0]);
  if (!are_known(calls_of_one)) return std::nullopt;
  const Keys wanted = set_of(calls_of_one);
  const Ahead& several = reference_is_one ? candidate : reference;
  Keys found;
  for (std::size_t count = 1; count <= std::min(several.size(), kMostJoined); ++count) {
    const auto calls = without_others(several[count - 1]);
    if (calls.empty()) continue;
    const bool begins_otherwise =
        calls.front() == several[count - 1].calls.front() && calls.front() != calls_of_one.front();
    if (!are_known(calls) || begins_otherwise || !std::ranges::includes(wanted, set_of(calls)))
      return std::nullopt;
    found.insert(found.end(), calls.begin(), calls.end());
    found = set_of(found);
    if (found != wanted || calls.back() != calls_of_one.back()) continue;
    if (count == 1) return std::nullopt;
    const Both<std::size_t> end =
        reference_is_one ? Both<std::size_t>{1, count} : Both<std::size_t>{count, 1};
    return have_more_left(end, count_left) ? std::optional(end) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Both<std::size_t>> joined_steps(const Ahead& reference, const Ahead& candidate,
                                              const CountStepsLeft& count_left) {
  if (reference.empty() || candidate.empty()) return std::nullopt;
  const OutsideData ours(reference);
  const OutsideData theirs(candidate);
  const std::uint64_t last = std::min(ours.complete_to(), theirs.complete_to());
  Keys constants;
  ours.add_constants(constants);
  theirs.add_constants(constants);
  std::sort(constants.begin(), constants.end());
  const std::vector<Keys> a = ours.without(constants, last);
  const std::vector<Keys> b = theirs.without(constants, last);
  const auto end = use_the_same(a, b) ? joined_by_passes(reference, candidate, count_left)
                                      : joined_by(a, b, reference, candidate);
  return end ? end : joined_by_calls(reference, candidate, count_left);
}

}  // namespace ulpscope::comparison
