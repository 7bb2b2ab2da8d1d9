#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ulpscope::comparison {

/// Which of the values that differ a process measures, if several processes walk the same events:
/// each next value goes to the one that has had the fewest bytes so far. All of them reach the same
/// answer without communication, because they meet the values in the same order.
class ValueShare {
 public:
  /// Everything falls to this process.
  ValueShare() = default;
  ValueShare(std::size_t members, std::size_t member) : load_(members, 0), member_(member) {}

  /// Whether this process measures the next value.
  [[nodiscard]] bool takes(std::uint64_t bytes) {
    ++met_;
    if (load_.size() < 2) return true;
    const auto least = std::min_element(load_.begin(), load_.end());
    *least += bytes + kBytesThatCostAsMuch;
    return least - load_.begin() == static_cast<std::ptrdiff_t>(member_);
  }

  /// Values met so far: the progress of a process, to decide which of two failed first.
  [[nodiscard]] std::uint64_t met() const noexcept { return met_; }

 private:
  /// The data around the bytes of a value.
  static constexpr std::uint64_t kBytesThatCostAsMuch = 1 << 14;

  std::vector<std::uint64_t> load_;
  std::size_t member_ = 0;
  std::uint64_t met_ = 0;
};

}  // namespace ulpscope::comparison
