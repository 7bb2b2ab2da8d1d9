#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ulpscope/report.hpp"

/// Many runs of one program: which of them are equal, and where the others leave them.
namespace ulpscope {

/// Runs with equal results. The first one represents them.
struct RunGroup {
  std::vector<std::size_t> runs;  ///< in the order in which they were added
};

/// An op up to which some groups agree, and at which they get several results.
struct RunSplit {
  std::optional<std::int64_t> step;  ///< empty in setup
  Finding at;                        ///< the first finding between two of the groups
  /// Indices of groups, by the result that they get here: as many as the op has distinct results.
  std::vector<std::vector<std::size_t>> groups;
};

/// Sorts runs into groups as they come. Only a run that represents a group is compared again, so
/// that all others can be deleted.
class RunGroups {
 public:
  /// Compares two runs, by their numbers.
  using Compare = std::function<Report(std::size_t reference, std::size_t candidate)>;
  explicit RunGroups(Compare compare) : compare_(std::move(compare)) {}

  /// Compares a run with those that represent the groups, the first one first. Returns the index of
  /// its group, which is new if it is equal to none.
  std::size_t add(std::size_t run);

  [[nodiscard]] const std::vector<RunGroup>& groups() const noexcept { return groups_; }
  /// The comparison of two groups' first runs, `first` before `second`.
  [[nodiscard]] const Report& between(std::size_t first, std::size_t second) const;
  /// Whether all comparisons were conclusive.
  [[nodiscard]] bool conclusive() const noexcept { return conclusive_; }
  /// The group with the most runs; of several the first.
  [[nodiscard]] std::size_t largest() const;
  /// Where groups split, in the order of a run.
  [[nodiscard]] std::vector<RunSplit> splits() const;

 private:
  void split(const std::vector<std::size_t>& among, std::vector<RunSplit>& found) const;

  Compare compare_;
  std::vector<RunGroup> groups_;
  std::vector<std::vector<Report>> reports_;  ///< [second][first]
  bool conclusive_ = true;
};

}  // namespace ulpscope
