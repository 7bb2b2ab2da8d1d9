#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// Steps of a dump that all of its ranks have published, counted from the run's first; 0 if nothing
/// can be read yet.
[[nodiscard]] std::uint64_t published_steps(const std::string& dump);

/// Of two dumps as the command line names them.
[[nodiscard]] Report compare_dumps(const std::string& reference, const std::string& candidate);

/// Compares two dumps step by step while one or both are being recorded, segment by segment.
class StepFollower {
 public:
  StepFollower(std::string reference, std::string candidate)
      : reference_(std::move(reference)), candidate_(std::move(candidate)) {}

  /// Compares the steps that both have published since the last call. The first comparison of runs
  /// that diverge; empty if they do not, or nothing new was published.
  /// @throws Error with ErrorCode::incomplete if steps were removed before they could be compared.
  [[nodiscard]] std::optional<Report> look();
  /// The same of steps before `end`.
  [[nodiscard]] std::optional<Report> look(std::uint64_t end);

  /// Whether each step that was compared is known to be equal or not.
  [[nodiscard]] bool conclusive() const noexcept { return conclusive_; }

  /// Steps that were compared.
  [[nodiscard]] std::uint64_t steps() const noexcept { return next_; }

 private:
  std::string reference_;
  std::string candidate_;
  std::uint64_t next_ = 0;
  bool conclusive_ = true;
};

}  // namespace ulpscope::cli
