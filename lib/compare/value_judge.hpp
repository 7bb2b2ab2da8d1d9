#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compare/side.hpp"
#include "compare/tolerance.hpp"
#include "ulpscope/compare.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Looks at every value that differs: whether it is inside the tolerance asked for, and how the
/// gradients grow apart.
class ValueJudge {
 public:
  explicit ValueJudge(const CompareOptions& options) : tolerance_(options) {}

  [[nodiscard]] const Tolerance& tolerance() const noexcept { return tolerance_; }

  void begin_step(std::int64_t step);
  /// A value that both runs have, with other bits. `names` says where it belongs; without it, its
  /// memory was judged where it was written.
  void differs(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
               const Slot& reference, const Slot& candidate, const NamesOf& names);
  /// Whether the tolerance allows what else would not pass.
  [[nodiscard]] bool allows(const TensorBytes& tensor, const NamesOf& names);
  /// The value that backward starts from in this step: its number goes beside the step's growth.
  void loss(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks, const Slot& reference,
            const Slot& candidate);
  /// Whether an op that gave other values is on the way from the first difference to the loss of
  /// its step, or to the step's end for a difference in backward.
  [[nodiscard]] bool follows_path(bool in_backward) noexcept;
  /// Such an op: how far apart its values are.
  void on_the_way(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                  const Slot& reference, const Slot& candidate, PathPoint point);
  [[nodiscard]] const Path& path() const noexcept { return path_; }
  /// A difference that no tolerance covers: another dtype or shape, a tensor in one run only.
  void differs_beyond_tolerance() noexcept { ++outside_; }

  /// Differences outside of the tolerance, and those whose bytes were not recorded.
  [[nodiscard]] std::uint64_t outside() const noexcept { return outside_; }
  [[nodiscard]] std::uint64_t unknown() const noexcept { return unknown_; }
  /// By step, how far the gradients are apart where bytes were recorded.
  [[nodiscard]] std::vector<GrowthPoint> growth() const;

 private:
  using Contents = std::set<std::pair<Digest, Digest>>;

  void grow(const Difference& difference);

  Tolerance tolerance_;
  std::int64_t step_ = kSetup;
  Contents judged_;         ///< in this step
  Contents judged_before_;  ///< in the step before: what it wrote is read in this one
  Contents grown_;
  std::uint64_t outside_ = 0;
  std::uint64_t unknown_ = 0;
  std::map<std::int64_t, GrowthPoint> growth_;
  std::map<std::int64_t, Both<double>> losses_;
  Path path_;
  bool path_in_backward_ = false;
};

}  // namespace ulpscope::comparison
