#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// Of two dumps as the command line names them.
[[nodiscard]] Report compare_dumps(const std::string& reference, const std::string& candidate);

/// Says that what both had of the steps in [first, end) was removed before it was compared.
[[nodiscard]] std::string removed_steps(std::uint64_t first, std::uint64_t end);

/// Compares two dumps step by step while one or both are being recorded, segment by segment.
class StepFollower {
 public:
  StepFollower(std::string reference, std::string candidate)
      : reference_(std::move(reference)), candidate_(std::move(candidate)) {}

  /// Compares the steps that both have published since the last call. The first comparison of runs
  /// that diverge for certain; empty if they do not, or nothing new was published, or only what
  /// follows can show whether they do: the same steps are compared again then.
  /// @throws Error with ErrorCode::incomplete if steps were removed before they could be compared.
  [[nodiscard]] std::optional<Report> look();
  /// The same of steps before `end`.
  [[nodiscard]] std::optional<Report> look(std::uint64_t end);

  /// Why not every step that was compared is known to be equal; empty if each is.
  [[nodiscard]] const std::string& open() const noexcept { return open_; }

  /// Steps that were compared.
  [[nodiscard]] std::uint64_t steps() const noexcept { return next_; }
  /// Others were, and are compared again once there are more.
  [[nodiscard]] bool is_undecided() const noexcept { return undecided_before_ > next_; }

 private:
  [[nodiscard]] std::optional<Report> if_certain(Report report, std::int64_t first_step,
                                                 std::uint64_t end);

  std::string reference_;
  std::string candidate_;
  std::uint64_t next_ = 0;
  std::uint64_t undecided_before_ = 0;  ///< steps before it would show more if there were others
  std::string open_;
};

}  // namespace ulpscope::cli
