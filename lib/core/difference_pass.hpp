#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/difference_kernel.hpp"
#include "core/extremes.hpp"
#include "core/vectors.hpp"
#include "ulpscope/ulp.hpp"

/// Everything about a block of floating-point numbers in one pass over it, so that memory is read
/// steadily while the processor computes. In an unnamed namespace, like everything that is compiled
/// once per instruction set.
namespace ulpscope::core {
namespace {

/// How two blocks are expected to differ. A pass reports whether that was right.
enum class Apart : std::uint8_t {
  nowhere,
  near,  ///< numbers of one sign and up to kMostNear steps apart
  far,
};
constexpr unsigned kMostNear = 255;

template <class Bits>
struct PassResult {
  Bits unequal = 0;                  ///< bits that differ somewhere
  bool may_have_specials = false;    ///< NaNs or infinities; then the rest means nothing
  bool may_have_subnormals = false;  ///< on either side
  bool flipped_zeros = false;        ///< bits differ somewhere without a distance
  Bits reference_max = 0;            ///< magnitude
  Bits distance_max = 0;
  std::uint64_t distance_sum = 0;       ///< of the distances' lower halves
  std::uint64_t distance_sum_high = 0;  ///< of their upper halves
  Bits bits_sum = 0;                    ///< of the reference less the candidate, wrapping around
  double absolute_max = 0;
  alignas(64) double squares[kColumns] = {};
};

template <class Vector, class Combine>
auto combined(Vector vector, Combine combine) {
  using Number = std::remove_cvref_t<decltype(vector[0])>;
  Number numbers[sizeof(Vector) / sizeof(Number)];
  std::memcpy(numbers, &vector, sizeof(vector));
  for (std::size_t half = sizeof(Vector) / sizeof(Number) / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) numbers[i] = combine(numbers[i], numbers[i + half]);
  return numbers[0];
}

template <class Format, Apart kApart>
class Pass {
  using Bits = typename Format::Bits;
  using Numbers = typename VectorOf<Bits>::type;
  using Values = std::conditional_t<sizeof(Bits) == 8, Doubles, Floats>;
  static constexpr bool kNear = kApart == Apart::near;
  static constexpr std::size_t kNumbers = sizeof(Numbers) / sizeof(Bits);
  static constexpr std::size_t kDoubles = sizeof(Doubles) / sizeof(double);
  static constexpr Bits kSign = Format::kSign;
  static constexpr Bits kMagnitude = static_cast<Bits>(~kSign);
  static constexpr Bits kHalfBits = static_cast<Bits>(sizeof(Bits) * 4);
  static constexpr Bits kLowerHalf = static_cast<Bits>((Bits{1} << kHalfBits) - 1);
  static_assert(kNumbers <= kColumns);

 public:
  /// Reads kPieceElements of each value, and writes as many distances.
  static PassResult<Bits> over(const std::byte* reference, const std::byte* candidate,
                               Bits* distances) {
    Pass pass;
    for (std::size_t row = 0; row < kPieceElements; row += kColumns) {
#pragma GCC unroll 16
      for (std::size_t column = 0; column < kColumns; column += kNumbers)
        pass.measure(reference, candidate, row + column, distances);
#pragma GCC unroll 16
      for (std::size_t column = 0; column < kColumns;
           column += sizeof(Values) / sizeof(Values{}[0]))
        pass.subtract(reference, candidate, row, column);
    }
    return pass.result();
  }

 private:
  void measure(const std::byte* reference, const std::byte* candidate, std::size_t at,
               Bits* distances) {
    const auto left = load_vector<Numbers>(reference + at * sizeof(Bits));
    const auto right = load_vector<Numbers>(candidate + at * sizeof(Bits));
    const Numbers differing = left ^ right;
    const Numbers left_size = left & kMagnitude;
    unequal_ |= differing;
    bits_sum_ += left - right;
    reference_max_ = larger_of(reference_max_, left_size);
    Numbers distance;
    if constexpr (kNear) {
      distance = larger_of(left, right) - smaller_of(left, right);
      distance_sum_ += distance;
      // Zero only where both are; otherwise less than twice the larger one.
      smallest_less_one_ = smaller_of(smallest_less_one_, ((left | right) & kMagnitude) - 1);
    } else {
      const Numbers right_size = right & kMagnitude;
      const Numbers upper = larger_of(left_size, right_size);
      const Numbers lower = smaller_of(left_size, right_size);
      candidate_max_ = larger_of(candidate_max_, right_size);
      smallest_less_one_ =
          smaller_of(smallest_less_one_, smaller_of(left_size - 1, right_size - 1));
      distance = (differing & kSign) != 0 ? upper + lower : upper - lower;
      flipped_zeros_ |= distance == 0 ? differing : Numbers{};
      distance_sum_ += distance & kLowerHalf;
      distance_sum_high_ += distance >> kHalfBits;
    }
    distance_max_ = larger_of(distance_max_, distance);
    std::memcpy(distances + at, &distance, sizeof(distance));
  }

  void subtract(const std::byte* reference, const std::byte* candidate, std::size_t row,
                std::size_t column) {
    const Values left = values_at(reference, row + column);
    const Values right = values_at(candidate, row + column);
    const std::size_t at = column / kDoubles;
    if constexpr (sizeof(Bits) == 8) {
      add(left - right, at);
    } else if constexpr (kNear) {
      // Exact, because floats so near have digits of nearly the same weight.
      const Floats difference = left - right;
      nearest_max_ = larger_of(nearest_max_, size_of(difference));
      const DoublePair wide = widened(difference);
      squares_[at] += wide.first * wide.first;
      squares_[at + 1] += wide.second * wide.second;
    } else {
      const DoublePair lefts = widened(left);
      const DoublePair rights = widened(right);
      add(lefts.first - rights.first, at);
      add(lefts.second - rights.second, at + 1);
    }
  }

  static Values values_at(const std::byte* bytes, std::size_t first) {
    const std::byte* at = bytes + first * sizeof(Bits);
    if constexpr (std::is_base_of_v<BFloat16, Format>)
      return floats_of_bfloat16(reinterpret_cast<const std::uint16_t*>(at));
    else if constexpr (std::is_base_of_v<Float16, Format>)
      return floats_of_float16(reinterpret_cast<const std::uint16_t*>(at));
    else
      return load_vector<Values>(at);
  }

  void add(Doubles difference, std::size_t column) {
    squares_[column] += difference * difference;
    absolute_max_ = larger_of(absolute_max_, size_of(difference));
  }

  PassResult<Bits> result() const {
    const auto max = [](auto a, auto b) { return larger(a, b); };
    const auto min = [](auto a, auto b) { return smaller(a, b); };
    const auto either = [](auto a, auto b) { return static_cast<Bits>(a | b); };
    PassResult<Bits> result;
    result.unequal = combined(unequal_, either);
    result.reference_max = combined(reference_max_, max);
    result.distance_max = combined(distance_max_, max);
    const Bits smallest_less_one = combined(smallest_less_one_, min);
    if constexpr (kNear) {
      result.may_have_specials =
          result.reference_max > Format::kLargestFinite - result.distance_max;
      result.may_have_subnormals = smallest_less_one < 2 * Format::kSmallestNormal;
    } else {
      result.may_have_specials =
          larger(result.reference_max, combined(candidate_max_, max)) > Format::kLargestFinite;
      result.may_have_subnormals = smallest_less_one < Format::kSmallestNormal - 1;
    }
    result.flipped_zeros = combined(flipped_zeros_, either) != 0;
    for (std::size_t i = 0; i < kNumbers; ++i) {
      result.bits_sum = static_cast<Bits>(result.bits_sum + bits_sum_[i]);
      result.distance_sum += distance_sum_[i];
      result.distance_sum_high += distance_sum_high_[i];
    }
    result.absolute_max =
        larger(combined(absolute_max_, max), static_cast<double>(combined(nearest_max_, max)));
    std::memcpy(result.squares, squares_, sizeof(squares_));
    return result;
  }

  Numbers unequal_{};
  Numbers bits_sum_{};
  Numbers reference_max_{};
  Numbers candidate_max_{};
  Numbers smallest_less_one_ = ~Numbers{};
  Numbers distance_max_{};
  Numbers distance_sum_{};
  Numbers distance_sum_high_{};
  Numbers flipped_zeros_{};
  Floats nearest_max_{};
  Doubles absolute_max_{};
  Doubles squares_[kColumns / kDoubles]{};
};

}  // namespace
}  // namespace ulpscope::core
