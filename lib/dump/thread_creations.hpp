#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// How the threads of a rank were created, as capture recorded it among the settings:
/// `capture.thread` is "LANE WAY", where WAY says how many threads each creator on the way from the
/// main thread had created before, for example "1.0". What cannot be read is unknown.
class ThreadCreations {
 public:
  explicit ThreadCreations(std::span<const EnvironmentEntry> environment);

  /// By their creators' order, then their own. Lanes without this information come later.
  [[nodiscard]] bool is_earlier(std::uint32_t lane, std::uint32_t other) const;

 private:
  std::map<std::uint32_t, std::vector<std::uint32_t>> ways_;  ///< by lane
};

}  // namespace ulpscope::dump
