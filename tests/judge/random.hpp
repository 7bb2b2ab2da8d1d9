#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace judge {

/// Draws that are the same on every machine (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// From 0 to `count` - 1.
  int below(int count) { return static_cast<int>(next() % static_cast<std::uint64_t>(count)); }

  /// From `first` to `last`, both included.
  int between(int first, int last) { return first + below(last - first + 1); }

  bool chance(double probability) { return unit() < probability; }

  /// A multiple of 1/64 from `low` to `high`, which prints and reads back exactly.
  double real(double low, double high) {
    const auto steps = static_cast<int>((high - low) * 64);
    return low + static_cast<double>(below(steps + 1)) / 64;
  }

  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
  }

 private:
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  std::uint64_t state_;
};

}  // namespace judge
