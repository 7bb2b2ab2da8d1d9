#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// How the threads of a rank were created, as capture recorded it among the settings:
/// `capture.thread` is "LANE WAY CALL...", where WAY says how many threads each creator on the way
/// from the main thread had created before, for example "1.0", and calls, innermost first, are
/// those in the program's code that created it, for example "train+11a0". What cannot be read is
/// unknown.
class ThreadCreations {
 public:
  explicit ThreadCreations(std::span<const EnvironmentEntry> environment);

  /// By their creators' order, then their own. Lanes without this information come later.
  [[nodiscard]] bool is_earlier(std::uint32_t lane, std::uint32_t other) const;
  /// The calls that created a lane's thread; empty if they are unknown.
  [[nodiscard]] std::string_view calls(std::uint32_t lane) const;

 private:
  struct Creation {
    std::vector<std::uint32_t> way;
    std::string calls;
  };
  std::map<std::uint32_t, Creation> creations_;  ///< by lane
};

}  // namespace ulpscope::dump
