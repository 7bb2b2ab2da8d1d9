#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/difference_kernel.hpp"
#include "core/extremes.hpp"
#include "core/vectors.hpp"

/// A histogram of distances by their bit width. In an unnamed namespace, like all that is compiled
/// once per instruction set.
namespace ulpscope::core {
namespace {

constexpr std::size_t kBlock = kPieceElements;  // a block and its buffers stay in the L1 cache

/// Number of bits that `value` needs. Through the exponent of a float, because every level converts
/// integers to floats in vectors, and few count leading zeros.
std::uint32_t bit_width(std::uint32_t value) {
#if defined(__AVX512CD__)
  return value == 0 ? 0U : 32U - static_cast<std::uint32_t>(__builtin_clz(value));
#else
  // Without the bit below the highest one, rounding cannot carry into the next exponent.
  const std::uint32_t unrounded = value & ~(value >> 1);
  const auto half = static_cast<std::int32_t>(unrounded >> 1);
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(static_cast<float>(half)) >> 23;
  return half == 0 ? value : exponent - 125;
#endif
}

[[maybe_unused]] std::uint32_t bit_width(std::uint64_t value) {
  const auto high = static_cast<std::uint32_t>(value >> 32);
  const auto low = static_cast<std::uint32_t>(value);
  const std::uint32_t width = bit_width(high != 0 ? high : low);
  return high != 0 ? width + 32 : width;
}

/// Elements of whole blocks by the bit width of their distance. Counts in columns, which are added
/// up in the end.
class WidthCounts {
 public:
  /// A block of kBlock distances, up to `largest`.
  template <class Bits>
  void add(const Bits* distances, Bits largest) {
    if (largest <= 255)
      add_short(distances, largest);
    else
      add_long(distances);
  }

  /// Adds all of them to the histogram and to the number of elements that differ.
  void add_to(DifferenceTotals& totals) const {
    for (unsigned width = 0; width < reached_; ++width) {
      const std::uint64_t known = blocks_[width] * kBlock;
      std::uint64_t lifted = 0;
      for (std::size_t i = 0; i < sizeof(LongWords) / sizeof(std::uint64_t); ++i)
        lifted += lifted_[width][i];
      totals.histogram[width] += known + lifted;
      if (width == 0) continue;
      totals.histogram[width - 1] -= lifted;
      const std::uint64_t differing = known + (width == 1 ? lifted : 0);
      totals.differing += differing;
      totals.differing_with_distance += differing;
    }
  }

 private:
  /// Distances that fit a byte, by the powers of two that they reach.
  template <class Bits>
  void add_short(const Bits* distances, Bits largest) {
    alignas(kVectorBytes) std::uint8_t bytes[kBlock];
    for (std::size_t i = 0; i < kBlock; ++i) bytes[i] = static_cast<std::uint8_t>(distances[i]);
    add_block(0);
    for (unsigned width = 1, bound = 1; bound <= largest; ++width, bound *= 2)
      lift(bytes, static_cast<std::uint8_t>(bound), width);
  }

  template <class Bits>
  void add_long(const Bits* distances) {
    using Word = std::conditional_t<sizeof(Bits) == 8, std::uint64_t, std::uint32_t>;
    alignas(kVectorBytes) std::uint8_t widths[kBlock];
    for (std::size_t i = 0; i < kBlock; ++i)
      widths[i] = static_cast<std::uint8_t>(bit_width(Word{distances[i]}));
    std::uint8_t lowest = 255;
    std::uint8_t highest = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      lowest = smaller(lowest, widths[i]);
      highest = larger(highest, widths[i]);
    }
    add_block(lowest);
    for (unsigned width = lowest + 1U; width <= highest; ++width)
      lift(widths, static_cast<std::uint8_t>(width), width);
  }

  /// A block of which every element has that width at least.
  void add_block(unsigned width) {
    reach(width);
    blocks_[width] += 1;
  }

  /// Its elements with bytes of `bound` or more have `width`, one more than known so far.
  void lift(const std::uint8_t* bytes, std::uint8_t bound, unsigned width) {
    reach(width);
    static_assert(kBlock / sizeof(Bytes) <= 255, "columns of bytes must not overflow");
    Bytes found{};
#pragma GCC unroll 8
    for (std::size_t at = 0; at < kBlock; at += sizeof(Bytes))
      found -= bits_as<Bytes>(load_vector<Bytes>(bytes + at) >= bound);
    lifted_[width] += sums_of_eight(found);
  }

  void reach(unsigned width) {
    for (; reached_ <= width; ++reached_) {
      lifted_[reached_] = LongWords{};
      blocks_[reached_] = 0;
    }
  }

  unsigned reached_ = 0;  ///< widths below it are in use
  LongWords lifted_[65];
  std::uint64_t blocks_[65];
};

}  // namespace
}  // namespace ulpscope::core
