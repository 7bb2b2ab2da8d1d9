#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ulpscope {

/// Processes that compare the same two dumps together. Every member makes the same calls in the
/// same order; number 0 reports the result.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  [[nodiscard]] virtual std::uint32_t size() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t member() const noexcept = 0;

  /// What a member delivers goes to member 0, which calls `take` for each member in turn.
  virtual void gather(
      const std::string& own,
      const std::function<void(std::uint32_t member, const std::string& handed_in)>& take) = 0;
  /// What member 0 says, everywhere.
  [[nodiscard]] virtual std::string broadcast(const std::string& from_first) = 0;
  /// Ends all members at once with the exit code of trouble: for a member that cannot continue and
  /// cannot notify the others.
  virtual void end_all() noexcept = 0;
};

}  // namespace ulpscope
