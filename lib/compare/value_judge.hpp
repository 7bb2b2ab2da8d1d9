#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compare/side.hpp"
#include "ulpscope/compare.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Looks at every value that differs: whether it is inside the tolerance asked for, and how the
/// gradients grow apart.
class ValueJudge {
 public:
  explicit ValueJudge(const CompareOptions& options) : options_(options) {}

  [[nodiscard]] bool has_tolerance() const noexcept {
    return options_.max_ulp || options_.rtol || options_.atol;
  }

  void begin_step(std::int64_t step);
  void differs(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
               const Slot& reference, const Slot& candidate);
  /// The value that backward starts from in this step: its number goes beside the step's growth.
  void loss(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks, const Slot& reference,
            const Slot& candidate);
  /// A difference that no tolerance covers: another dtype or shape, a tensor in one run only.
  void differs_beyond_tolerance() noexcept { ++outside_; }

  /// Differences outside of the tolerance, and those whose bytes were not recorded.
  [[nodiscard]] std::uint64_t outside() const noexcept { return outside_; }
  [[nodiscard]] std::uint64_t unknown() const noexcept { return unknown_; }
  /// By step, how far the gradients are apart where bytes were recorded.
  [[nodiscard]] std::vector<GrowthPoint> growth() const;

 private:
  void grow(const Difference& difference);

  const CompareOptions& options_;
  std::int64_t step_ = kSetup;
  std::set<std::pair<Digest, Digest>> seen_;
  std::uint64_t outside_ = 0;
  std::uint64_t unknown_ = 0;
  std::map<std::int64_t, GrowthPoint> growth_;
  std::map<std::int64_t, Both<double>> losses_;
};

}  // namespace ulpscope::comparison
