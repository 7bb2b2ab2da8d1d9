#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compare/diff/evidence.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// How often each parameter's gradient is accumulated in a step, and its result. Keeps the
/// first step in which the runs do that a different number of times.
class Accumulations {
 public:
  void begin_step(std::int64_t step);
  /// A gradient was accumulated in the run of `side`: `anew` if there was none before, because the
  /// previous one had been dropped.
  void add(Side side, const Event& gradient, bool anew);
  /// Gradients were set to zero in place: the next accumulation starts over.
  void zero(Side side, const Event& event);
  /// Looks at the step that ends. Reads what the gradients came to from both runs.
  void end_step(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks);

  [[nodiscard]] const std::optional<OtherAccumulation>& other() const noexcept { return other_; }
  /// Parameters that get a gradient in one run only, in the first step in which some do, where the
  /// other run has gone through backward, too.
  [[nodiscard]] const std::optional<OtherGradients>& of_one_run() const noexcept {
    return of_one_run_;
  }

 private:
  struct Last {
    std::uint32_t times = 0;
    Digest digest;
    Geometry geometry;
  };
  void find_gradients_of_one_run();

  std::int64_t step_ = kSetup;
  std::unordered_map<std::string, Both<Last>> gradients_;
  Both<std::unordered_set<std::string>> zeroed_;
  std::optional<OtherAccumulation> other_;
  std::optional<OtherGradients> of_one_run_;
};

}  // namespace ulpscope::comparison
