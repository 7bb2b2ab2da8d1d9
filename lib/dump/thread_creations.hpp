#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// How the threads of a rank came to be, as capture wrote it down among the settings:
/// `capture.thread` is "LANE WAY", where WAY says how many threads each creator on the way from the
/// main thread had created before, as "1.0". What cannot be read is not known.
class ThreadCreations {
 public:
  explicit ThreadCreations(std::span<const EnvironmentEntry> environment);

  /// By their creators' order, then their own. Lanes of which nothing is known are later.
  [[nodiscard]] bool is_earlier(std::uint32_t lane, std::uint32_t other) const;

 private:
  std::map<std::uint32_t, std::vector<std::uint32_t>> ways_;  ///< by lane
};

}  // namespace ulpscope::dump
