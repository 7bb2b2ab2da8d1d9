#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "compare/evidence.hpp"
#include "compare/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// How often each parameter's gradient is accumulated in a step, and what it comes to. Keeps the
/// first step in which the runs do that another number of times.
class Accumulations {
 public:
  void begin_step(std::int64_t step);
  /// A gradient was accumulated in the run of `side`.
  void add(Side side, const Event& gradient);
  /// Looks at the step that ends. Reads what the gradients came to from both runs.
  void end_step(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks);

  [[nodiscard]] const std::optional<OtherAccumulation>& other() const noexcept { return other_; }

 private:
  struct Last {
    std::uint32_t times = 0;
    Digest digest;
    Geometry geometry;
  };
  std::int64_t step_ = kSetup;
  std::unordered_map<std::string, Both<Last>> gradients_;
  std::optional<OtherAccumulation> other_;
};

}  // namespace ulpscope::comparison
