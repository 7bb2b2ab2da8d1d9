#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "compare/measure/tolerance.hpp"
#include "compare/measure/value_share.hpp"
#include "compare/measure/value_sums.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/compare.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Judges every value of a rank that differs: whether it is inside the requested tolerance, and how
/// the gradients grow apart.
class ValueJudge {
 public:
  /// Of the values, it reads the bytes of those that fall to `share`.
  explicit ValueJudge(const CompareOptions& options, ValueShare share = {})
      : tolerance_(options), share_(std::move(share)) {}

  [[nodiscard]] const Tolerance& tolerance() const noexcept { return tolerance_; }

  void begin_step(std::int64_t step);
  /// A value that both runs have, with other bits. `names` says where it belongs; without it, its
  /// memory was judged where it was written.
  void differs(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
               const Slot& reference, const Slot& candidate, const NamesOf& names);
  /// Whether the tolerance allows what else would not pass.
  [[nodiscard]] bool allows(const TensorBytes& tensor, const NamesOf& names);
  /// The value that backward starts from in this step: its number is printed with the step's
  /// growth.
  void loss(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks, const Slot& reference,
            const Slot& candidate);
  /// Whether an op with differing results, of this phase, is between the first difference and the
  /// loss of its step; for a difference after the loss, in the same backward pass or optimizer
  /// step.
  [[nodiscard]] bool follows_path(Phase phase) noexcept;
  /// Such an op: how far apart its values are.
  void on_the_way(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                  const Slot& reference, const Slot& candidate, PathPoint point);
  /// A difference that no tolerance covers: a different dtype or shape, a tensor in one run only.
  void differs_beyond_tolerance() noexcept { ++common_.outside; }

  /// What the bytes of this process's share show. Where several processes share a rank's values,
  /// one of them adds what all of them know alike.
  [[nodiscard]] ValueSums sums(bool with_common = true) const;
  /// Differing values met so far.
  [[nodiscard]] std::uint64_t met() const noexcept { return share_.met(); }

 private:
  using Contents = std::set<std::pair<Digest, Digest>>;

  void outside(const Both<const Run*>& runs, ValueQuestion question, const ValueNames& names);
  static void count(ValueSums& sums, const ToleranceResult& result);

  Tolerance tolerance_;
  ValueShare share_;
  std::int64_t step_ = kSetup;
  Contents judged_;         ///< in this step
  Contents judged_before_;  ///< in the step before: what it wrote is read in this one
  Contents grown_;
  ValueSums own_;                     ///< of this process's share
  ValueSums common_;                  ///< what every process that walks this rank finds
  Phase path_part_ = Phase::forward;  ///< forward for all that is before the loss
  bool path_ended_ = false;
};

}  // namespace ulpscope::comparison
