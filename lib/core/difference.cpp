#include "ulpscope/difference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "core/cpu_level.hpp"
#include "core/default_floating_point.hpp"
#include "core/difference_kernel.hpp"
#include "core/number_text.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/ulp.hpp"

namespace ulpscope {
namespace {

using core::CpuLevel;
using core::DifferenceKernel;
using core::DifferenceTotals;
using core::IndexMap;
using core::Severity;
using core::WorstBytes;

}  // namespace

namespace core {

DifferenceKernel difference_kernel(CpuLevel level, Dtype dtype) noexcept {
  const auto first_of = [dtype](auto... find) {
    DifferenceKernel kernel = nullptr;
    ((kernel = kernel == nullptr ? find(dtype) : kernel), ...);
    return kernel;
  };
#if defined(__x86_64__)
  if (level == CpuLevel::avx512)
    return first_of(float_kernel_Avx512, small_float_kernel_Avx512, integer_kernel_Avx512);
  if (level == CpuLevel::avx2)
    return first_of(float_kernel_Avx2, small_float_kernel_Avx2, integer_kernel_Avx2);
#else
  static_cast<void>(level);
#endif
  return first_of(float_kernel_Baseline, small_float_kernel_Baseline, integer_kernel_Baseline);
}

}  // namespace core

namespace {

[[nodiscard]] CpuLevel level_for(Dtype dtype) {
  static const CpuLevel best = core::best_level();
  // Widening bytes to doubles is slower in AVX-512 (tests/bench/difference).
  const bool narrow = is_floating_point(dtype) && element_size(dtype) == 1;
  return narrow && best == CpuLevel::avx512 ? CpuLevel::avx2 : best;
}

[[nodiscard]] std::uint64_t bits_of(const std::byte* number, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, number, size);
  return bits;
}

[[nodiscard]] WorstElement worst_element(const DifferenceTotals& totals, Dtype dtype,
                                         const IndexMap& map, const WorstBytes& worst) {
  const std::size_t size = core::number_bits(dtype) / 8;
  const auto number = [&](std::size_t side, std::size_t part) {
    return bits_of(worst[side].data() + part * size, size);
  };
  const auto text = [&](std::size_t side) {
    if (!is_complex(dtype)) return core::number_text(dtype, number(side, 0));
    return core::complex_text(dtype, number(side, 0), number(side, 1));
  };
  WorstElement element_of;
  element_of.index = map.index(totals.worst_packed);
  element_of.reference = text(0);
  element_of.candidate = text(1);
  element_of.bits = {number(0, totals.worst_part), number(1, totals.worst_part)};
  element_of.bit_width = core::number_bits(dtype);
  return element_of;
}

}  // namespace

namespace core {

IndexMap difference_map(Dtype dtype, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> strides, std::uint64_t bytes) {
  const IndexMap map(shape, strides);
  const std::size_t size = element_size(dtype);
  std::uint64_t expected = 0;
  if (!__builtin_mul_overflow(map.elements(), size == 0 ? 1 : size, &expected) && expected == bytes)
    return map;
  if (size != 0)
    throw Error(ErrorCode::usage, "The bytes of a value do not fit its shape and dtype.");
  const auto flat = static_cast<std::int64_t>(bytes);
  return IndexMap({&flat, 1}, {});
}

Difference difference_from(const DifferenceTotals& totals, Dtype dtype, const IndexMap& map,
                           const WorstBytes& worst, double root_mean_square) {
  Difference result;
  result.elements = map.elements();
  result.differing = totals.differing;
  result.ulp_max = totals.distance_max;
  if (totals.differing_with_distance > 0)
    result.ulp_mean = static_cast<double>(totals.distance_sum) /
                      static_cast<double>(totals.differing_with_distance);
  for (std::size_t width = 0; width < totals.histogram.size(); ++width)
    if (totals.histogram[width] > 0)
      result.histogram.push_back(
          {width == 0 ? 0 : std::uint64_t{1} << (width - 1), totals.histogram[width]});
  result.absolute_max = totals.absolute_max;
  result.absolute_rms = root_mean_square;
  if (totals.reference_max > 0) result.scaled_max = totals.absolute_max / totals.reference_max;
  if (totals.worst != Severity::none) result.worst = worst_element(totals, dtype, map, worst);
  result.nan = {totals.nan[0], totals.nan[1]};
  result.inf = {totals.infinite[0], totals.infinite[1]};
  result.subnormal = {totals.subnormal[0], totals.subnormal[1]};
  result.signed_zero = totals.signed_zero;
  result.sums_equal = totals.bits_sum << (64 - core::number_bits(dtype)) == 0;
  return result;
}

/// Squares of differences of float64 numbers that leave float64's range, scaled by a power of two.
class ScaledSquares {
 public:
  ScaledSquares(double absolute_max, std::size_t parts)
      // In two factors, because the scale of the smallest subnormal would be infinite.
      : exponent_(std::ilogb(absolute_max)),
        scale_{std::ldexp(1.0, -(exponent_ / 2)), std::ldexp(1.0, -(exponent_ - exponent_ / 2))},
        parts_(parts) {}

  void add(std::span<const std::byte> reference, std::span<const std::byte> candidate) {
    const auto value = [](std::span<const std::byte> bytes, std::size_t place) {
      double number = 0;
      std::memcpy(&number, bytes.data() + place * sizeof(number), sizeof(number));
      return number;
    };
    const std::size_t elements = reference.size() / sizeof(double) / parts_;
    for (std::size_t element = 0; element < elements; ++element) {
      double furthest = 0;
      for (std::size_t place = element * parts_; place < (element + 1) * parts_; ++place) {
        const double a = value(reference, place);
        const double b = value(candidate, place);
        // Not a number where either is not: such an element does not count.
        const double size = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : NAN;
        furthest = size > furthest || std::isnan(size) ? size : furthest;
        if (std::isnan(furthest)) break;
      }
      if (std::isnan(furthest)) continue;
      const double scaled = furthest * scale_[0] * scale_[1];
      sum_ += scaled * scaled;
    }
  }
  [[nodiscard]] double root_mean(std::uint64_t elements) const {
    return std::ldexp(std::sqrt(sum_ / static_cast<double>(elements)), exponent_);
  }

 private:
  int exponent_;
  double scale_[2];
  std::size_t parts_;
  double sum_ = 0;
};

}  // namespace core

struct DifferenceStream::State {
  State(CpuLevel level, Dtype of, IndexMap by)
      : dtype(of),
        element(std::max<std::size_t>(element_size(of), 1)),
        kernel(core::difference_kernel(level, element_size(of) == 0 ? Dtype::uint8 : of)),
        map(std::move(by)) {}

  Dtype dtype;
  std::size_t element;  ///< bytes
  DifferenceKernel kernel;
  IndexMap map;
  DifferenceTotals totals;
  std::uint64_t done = 0;  ///< elements
  core::WorstBytes worst{};
  std::optional<core::ScaledSquares> squares;

  void update(std::span<const std::byte> reference, std::span<const std::byte> candidate) {
    const std::uint64_t elements = reference.size() / element;
    if (reference.size() != candidate.size() || reference.size() % element != 0 ||
        elements > map.elements() - done || done % core::kPieceElements != 0)
      throw Error(ErrorCode::usage, "Two values of different size cannot be compared.");
    const core::DefaultFloatingPoint environment;
    if (squares) {
      squares->add(reference, candidate);
    } else {
      const Severity before = totals.worst;
      const std::uint64_t place_before = totals.worst_packed;
      kernel(reference.data(), candidate.data(), done, elements, map, totals);
      if (totals.worst != before || totals.worst_packed != place_before) {
        const std::size_t at = (totals.worst_packed - done) * element;
        std::memcpy(worst[0].data(), reference.data() + at, element);
        std::memcpy(worst[1].data(), candidate.data() + at, element);
      }
    }
    done += elements;
  }

  [[nodiscard]] double sum_of_squares() const {
    double sum = 0;
    for (const double column : totals.square_sum) sum += column;
    return sum;
  }

  [[nodiscard]] bool again() {
    if (squares || totals.finite == 0 || totals.absolute_max == 0) return false;
    const double sum = sum_of_squares();
    // Below this, squares that were lost to underflow could be seen in the result.
    constexpr double kSmallestSum = 1e-280;
    if ((sum >= kSmallestSum && std::isfinite(sum)) || !std::isfinite(totals.absolute_max))
      return false;
    squares.emplace(totals.absolute_max, dtype == Dtype::complex128 ? 2 : 1);
    done = 0;
    return true;
  }

  [[nodiscard]] double root_mean_square() const {
    if (totals.finite == 0 || totals.absolute_max == 0) return 0;
    if (squares) return squares->root_mean(totals.finite);
    return std::sqrt(sum_of_squares() / static_cast<double>(totals.finite));
  }

  [[nodiscard]] Difference finish() const {
    return core::difference_from(totals, dtype, map, worst, root_mean_square());
  }
};

DifferenceStream::DifferenceStream(Dtype dtype, std::span<const std::int64_t> shape,
                                   std::span<const std::int64_t> strides)
    : state_(std::make_unique<State>(level_for(dtype), dtype, IndexMap(shape, strides))) {}

DifferenceStream::~DifferenceStream() = default;

void DifferenceStream::update(std::span<const std::byte> reference,
                              std::span<const std::byte> candidate) {
  state_->update(reference, candidate);
}

bool DifferenceStream::again() { return state_->again(); }

Difference DifferenceStream::finish() const {
  if (state_->done != state_->map.elements())
    throw Error(ErrorCode::usage, "The bytes of a value do not fit its shape and dtype.");
  const core::DefaultFloatingPoint environment;
  return state_->finish();
}

namespace core {

Difference difference_at(CpuLevel level, Dtype dtype, std::span<const std::int64_t> shape,
                         std::span<const std::int64_t> strides,
                         std::span<const std::byte> reference,
                         std::span<const std::byte> candidate) {
  if (reference.size() != candidate.size())
    throw Error(ErrorCode::usage, "Two values of different size cannot be compared.");
  DifferenceStream::State state(level, dtype,
                                difference_map(dtype, shape, strides, reference.size()));
  do state.update(reference, candidate);
  while (state.again());
  const DefaultFloatingPoint environment;
  return state.finish();
}

}  // namespace core

Difference difference(Dtype dtype, std::span<const std::int64_t> shape,
                      std::span<const std::int64_t> strides, std::span<const std::byte> reference,
                      std::span<const std::byte> candidate) {
  return core::difference_at(level_for(dtype), dtype, shape, strides, reference, candidate);
}

}  // namespace ulpscope
