#pragma once

#include <bit>
#include <cstdint>

#include "device/portable.hpp"

namespace ulpscope::device {

/// Divides by a number that is known beforehand: dividends below 2^31 by a multiplication, which is
/// what almost all are.
class Divisor {
 public:
  Divisor() = default;
  /// `value` must not be 0.
  explicit constexpr Divisor(std::uint64_t value) noexcept : value_(value) {
    if (value > kLimit) {
      shift_ = 31;  // every short dividend is smaller
      return;
    }
    shift_ = static_cast<std::uint32_t>(std::bit_width(value - 1));
    factor_ = static_cast<std::uint32_t>(
        (std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift_) - value) / value + 1);
  }

  [[nodiscard]] ULPSCOPE_HOST_DEVICE std::uint64_t value() const { return value_; }

  [[nodiscard]] ULPSCOPE_HOST_DEVICE std::uint64_t quotient(std::uint64_t dividend) const {
    if (dividend >= kLimit) return dividend / value_;
    const auto small = static_cast<std::uint32_t>(dividend);
    const auto high = static_cast<std::uint32_t>(std::uint64_t{small} * factor_ >> 32);
    return (high + small) >> shift_;
  }

 private:
  static constexpr std::uint64_t kLimit = std::uint64_t{1} << 31;

  std::uint64_t value_ = 1;
  std::uint32_t factor_ = 1;
  std::uint32_t shift_ = 0;
};

}  // namespace ulpscope::device
