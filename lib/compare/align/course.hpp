#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What a row of ops did, in a form that can be compared with a second row. Its memory grows with
/// the logarithm of their number.
class Course {
 public:
  enum class Of : std::uint8_t {
    structure,  ///< which ops, on which shapes
    values,     ///< and with which values
  };
  explicit Course(Of what = Of::values) : what_(what) {}

  /// The next op.
  void add(const Event& op);

  [[nodiscard]] bool empty() const noexcept { return ops_ == 0; }

  friend bool operator==(const Course&, const Course&) = default;

  friend std::size_t common(const Course& a, const Course& b);

 private:
  Of what_;
  std::uint64_t key_ = 0;
  std::uint64_t ops_ = 0;
  std::vector<std::uint64_t> prefixes_;  ///< keys of the first 1, 2, 4, ... ops
};

/// The largest number of digits that a number of ops can have up to which both did the same.
[[nodiscard]] std::size_t common(const Course& a, const Course& b);

}  // namespace ulpscope::comparison
