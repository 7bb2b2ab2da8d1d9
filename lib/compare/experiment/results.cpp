#include "compare/experiment/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare/measure/elements.hpp"
#include "core/counts.hpp"
#include "ulpscope/difference.hpp"

namespace ulpscope::comparison::experiment {
namespace {

/// The number of a format that is nearest to a real one.
template <class Format>
[[nodiscard]] Number nearest(double value) {
  using Bits = typename Format::Bits;
  const double size = std::abs(value);
  Bits below = 0;
  Bits above = Format::kLargestFinite;
  while (below < above) {
    const auto middle = static_cast<Bits>(below + (above - below + 1) / 2);
    if (Format::finite_value(middle) <= size)
      below = middle;
    else
      above = static_cast<Bits>(middle - 1);
  }
  if (below < Format::kLargestFinite) {
    const double low = size - Format::finite_value(below);
    const double high = Format::finite_value(static_cast<Bits>(below + 1)) - size;
    if (high < low || (high == low && (below & 1) != 0)) ++below;
  }
  return FloatNumbers<Format>::number(
      static_cast<Bits>(below | (std::signbit(value) ? Format::kSign : Bits{0})));
}

[[nodiscard]] std::optional<Number> rounded(double value, Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
    case Dtype::complex128:
      return FloatNumbers<Float64>::number(std::bit_cast<std::uint64_t>(value));
    case Dtype::float32:
    case Dtype::complex64:
      return FloatNumbers<Float32>::number(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    case Dtype::float16:
    case Dtype::complex32:
      return nearest<Float16>(value);
    case Dtype::bfloat16:
      return nearest<BFloat16>(value);
    default:
      return std::nullopt;
  }
}

[[nodiscard]] std::uint64_t elements_of(const ReplayTensor& tensor) {
  std::uint64_t elements = 1;
  for (const std::int64_t size : tensor.sizes) elements *= static_cast<std::uint64_t>(size);
  return elements;
}

/// Sums over the results of an op.
struct ResultCounts {
  TrueDistance distance;
  double squares = 0;
  std::uint64_t count = 0;
};

/// False if the two cannot be compared.
[[nodiscard]] bool add(const ReplayTensor& result, const ReplayTensor& truth,
                       ResultCounts& totals) {
  const auto found = decode(result.dtype, result.bytes);
  const auto exact = decode(truth.dtype, truth.bytes);
  if (!found || !exact || found->size() != exact->size()) return false;
  double largest = 0;
  for (const Number& number : *exact)
    if (std::isfinite(number.value)) largest = std::max(largest, std::abs(number.value));
  for (std::size_t i = 0; i < found->size(); ++i) {
    const double value = (*found)[i].value;
    const double real = (*exact)[i].value;
    ++totals.count;
    if (std::isnan(value) || std::isnan(real)) {
      if (std::isnan(value) != std::isnan(real)) ++totals.distance.nan;
      continue;
    }
    const auto goal = rounded(real, result.dtype);
    if (!goal) return false;
    totals.distance.ulp_max = std::max(totals.distance.ulp_max, apart((*found)[i], *goal));
    if (!std::isfinite(value) || !std::isfinite(real) || largest == 0) continue;
    const double scaled = std::abs(value - real) / largest;
    totals.distance.scaled_max = std::max(totals.distance.scaled_max, scaled);
    totals.squares += scaled * scaled;
  }
  return true;
}

}  // namespace

bool same_bits(const Results& a, const Results& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ReplayTensor& one, const ReplayTensor& other) {
                      return one.dtype == other.dtype && one.sizes == other.sizes &&
                             one.bytes == other.bytes;
                    });
}

Results first_rows(Results results, std::int64_t rows) {
  std::erase_if(results, [](const ReplayTensor& result) { return !result.has_rows; });
  for (ReplayTensor& result : results) {
    if (result.sizes.empty() || result.sizes[0] <= rows) continue;
    result.bytes.resize(result.bytes.size() / static_cast<std::size_t>(result.sizes[0]) *
                        static_cast<std::size_t>(rows));
    result.sizes[0] = rows;
  }
  return results;
}

std::optional<TrueDistance> true_distance(const Results& results, const Results& truth) {
  if (results.size() != truth.size()) return std::nullopt;
  ResultCounts totals;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const bool is_float = is_floating_point(results[k].dtype) || is_complex(results[k].dtype);
    if (!is_float || elements_of(results[k]) == 0) continue;
    if (results[k].sizes != truth[k].sizes || !add(results[k], truth[k], totals))
      return std::nullopt;
  }
  if (totals.count == 0) return std::nullopt;
  totals.distance.scaled_rms = std::sqrt(totals.squares / static_cast<double>(totals.count));
  return totals.distance;
}

std::string difference_words(const Results& a, const Results& b) {
  std::uint64_t elements = 0;
  std::uint64_t differing = 0;
  std::uint64_t ulp = 0;
  if (a.size() != b.size()) return {};
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].dtype != b[k].dtype || a[k].sizes != b[k].sizes) return {};
    const Difference apart = difference(a[k].dtype, a[k].sizes, {}, a[k].bytes, b[k].bytes);
    elements += apart.elements;
    differing += apart.differing;
    ulp = std::max(ulp, apart.ulp_max);
  }
  return fmt::format("{} of {} by up to {} ULP", core::grouped(differing),
                     core::counted(elements, "element"), core::grouped(ulp));
}

}  // namespace ulpscope::comparison::experiment
