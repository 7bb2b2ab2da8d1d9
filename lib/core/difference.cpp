#include "ulpscope/difference.hpp"

#include <cmath>
#include <cstring>

#include "core/cpu_level.hpp"
#include "core/default_floating_point.hpp"
#include "core/difference_kernel.hpp"
#include "core/number_text.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/ulp.hpp"

namespace ulpscope {
namespace {

using core::DifferenceKernel;
using core::DifferenceTotals;
using core::IndexMap;
using core::Severity;

Difference finish(Dtype dtype, const IndexMap& map, std::span<const std::byte> reference,
                  std::span<const std::byte> candidate, const DifferenceTotals& totals);

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

Difference difference_at(CpuLevel level, Dtype dtype, std::span<const std::int64_t> shape,
                         std::span<const std::int64_t> strides,
                         std::span<const std::byte> reference,
                         std::span<const std::byte> candidate) {
  if (reference.size() != candidate.size())
    throw Error(ErrorCode::usage, "Two values of different size cannot be compared.");
  const IndexMap map(shape, strides);
  const std::size_t size = element_size(dtype);
  std::uint64_t expected = 0;
  const bool fits = !__builtin_mul_overflow(map.elements(), size == 0 ? 1 : size, &expected) &&
                    expected == reference.size();
  const DefaultFloatingPoint environment;
  DifferenceTotals totals;
  if (fits) {
    const DifferenceKernel kernel = difference_kernel(level, size == 0 ? Dtype::uint8 : dtype);
    kernel(reference.data(), candidate.data(), map, totals);
    return finish(dtype, map, reference, candidate, totals);
  }
  if (size != 0)
    throw Error(ErrorCode::usage, "The bytes of a value do not fit its shape and dtype.");
  // An element that is not a whole number of bytes: the bytes are counted one after another.
  const std::int64_t bytes = static_cast<std::int64_t>(reference.size());
  const IndexMap flat({&bytes, 1}, {});
  difference_kernel(level, Dtype::uint8)(reference.data(), candidate.data(), flat, totals);
  return finish(dtype, flat, reference, candidate, totals);
}

}  // namespace core

namespace {

std::uint64_t number_at(Dtype dtype, std::span<const std::byte> bytes, std::uint64_t place) {
  const std::size_t size = core::number_bits(dtype) / 8;
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + place * size, size);
  return bits;
}

WorstElement worst_element(Dtype dtype, const IndexMap& map, std::span<const std::byte> reference,
                           std::span<const std::byte> candidate, const DifferenceTotals& totals) {
  const std::size_t parts = is_complex(dtype) ? 2 : 1;
  const std::uint64_t place = totals.worst_packed * parts;
  const auto text = [&](std::span<const std::byte> bytes) {
    const std::uint64_t number = number_at(dtype, bytes, place);
    if (parts == 1) return core::number_text(dtype, number);
    return core::complex_text(dtype, number, number_at(dtype, bytes, place + 1));
  };
  WorstElement worst;
  worst.index = map.index(totals.worst_packed);
  worst.reference = text(reference);
  worst.candidate = text(candidate);
  worst.bits = {number_at(dtype, reference, place + totals.worst_part),
                number_at(dtype, candidate, place + totals.worst_part)};
  worst.bit_width = core::number_bits(dtype);
  return worst;
}

/// Root mean square of the differences of float64 numbers whose squares leave float64's range.
double scaled_root_mean_square(std::size_t parts, std::span<const std::byte> reference,
                               std::span<const std::byte> candidate,
                               const DifferenceTotals& totals) {
  // In two factors, because the scale of the smallest subnormal would be infinite.
  const int exponent = std::ilogb(totals.absolute_max);
  const double scale[2] = {std::ldexp(1.0, -(exponent / 2)),
                           std::ldexp(1.0, -(exponent - exponent / 2))};
  const auto value = [](std::span<const std::byte> bytes, std::size_t place) {
    double number = 0;
    std::memcpy(&number, bytes.data() + place * sizeof(number), sizeof(number));
    return number;
  };
  double sum = 0;
  const std::size_t elements = reference.size() / sizeof(double) / parts;
  for (std::size_t element = 0; element < elements; ++element) {
    double furthest = 0;
    for (std::size_t place = element * parts; place < (element + 1) * parts; ++place) {
      const double a = value(reference, place);
      const double b = value(candidate, place);
      // Not a number where either is not: such an element does not count.
      const double size = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : NAN;
      furthest = size > furthest || std::isnan(size) ? size : furthest;
      if (std::isnan(furthest)) break;
    }
    if (std::isnan(furthest)) continue;
    const double scaled = furthest * scale[0] * scale[1];
    sum += scaled * scaled;
  }
  return std::ldexp(std::sqrt(sum / static_cast<double>(totals.finite)), exponent);
}

double root_mean_square(Dtype dtype, std::span<const std::byte> reference,
                        std::span<const std::byte> candidate, const DifferenceTotals& totals) {
  if (totals.finite == 0 || totals.absolute_max == 0) return 0;
  double sum = 0;
  for (const double column : totals.square_sum) sum += column;
  // Below this, squares that were lost to underflow could be seen in the result.
  constexpr double kSmallestSum = 1e-280;
  const bool in_range = sum >= kSmallestSum && std::isfinite(sum);
  if (in_range || !std::isfinite(totals.absolute_max))
    return std::sqrt(sum / static_cast<double>(totals.finite));
  return scaled_root_mean_square(dtype == Dtype::complex128 ? 2 : 1, reference, candidate, totals);
}

Difference finish(Dtype dtype, const IndexMap& map, std::span<const std::byte> reference,
                  std::span<const std::byte> candidate, const DifferenceTotals& totals) {
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
  result.absolute_rms = root_mean_square(dtype, reference, candidate, totals);
  if (totals.reference_max > 0) result.scaled_max = totals.absolute_max / totals.reference_max;
  if (totals.worst != Severity::none)
    result.worst = worst_element(dtype, map, reference, candidate, totals);
  result.nan = {totals.nan[0], totals.nan[1]};
  result.inf = {totals.infinite[0], totals.infinite[1]};
  result.subnormal = {totals.subnormal[0], totals.subnormal[1]};
  result.signed_zero = totals.signed_zero;
  return result;
}

}  // namespace

Difference difference(Dtype dtype, std::span<const std::int64_t> shape,
                      std::span<const std::int64_t> strides, std::span<const std::byte> reference,
                      std::span<const std::byte> candidate) {
  static const core::CpuLevel best = core::best_level();
  // Widening bytes to doubles is slower in AVX-512 (tests/bench/difference).
  const bool narrow = is_floating_point(dtype) && element_size(dtype) == 1;
  const core::CpuLevel level =
      narrow && best == core::CpuLevel::avx512 ? core::CpuLevel::avx2 : best;
  return core::difference_at(level, dtype, shape, strides, reference, candidate);
}

}  // namespace ulpscope
