#include "compare/measure/axes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>

namespace ulpscope::comparison {
namespace {

/// In bytes of one run's value.
constexpr std::uint64_t kLargest = std::uint64_t{1} << 28;
constexpr std::size_t kIndicesKept = 8;

[[nodiscard]] std::size_t product(std::span<const std::size_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{1}, std::multiplies<>());
}

/// How many elements differ on each index of a dimension. Of a matrix of matrices, its middle one
/// is that dimension: with a fixed rank xtensor sums up 6 million elements in 2 to 20 ms, and with
/// a dynamic one over outer dimensions in ten times that.
[[nodiscard]] xt::xtensor<std::uint64_t, 1> along(const xt::xarray<std::uint8_t>& elements,
                                                  const std::vector<std::size_t>& shape,
                                                  std::size_t dimension) {
  const std::span<const std::size_t> sizes(shape);
  const std::array<std::size_t, 3> joined{product(sizes.first(dimension)), shape[dimension],
                                          product(sizes.subspan(dimension + 1))};
  const auto cube = xt::adapt(elements.data(), elements.size(), xt::no_ownership(), joined);
  return xt::sum<std::uint64_t>(cube, {0, 2}, xt::evaluation_strategy::immediate);
}

}  // namespace

DifferingElements::DifferingElements(const ValuePair& pair)
    : shape_(pair.shape().begin(), pair.shape().end()),
      strides_(pair.strides().begin(), pair.strides().end()) {
  const std::size_t element = element_size(pair.dtype());
  const bool fits = !shape_.empty() && element != 0 && pair.size() != 0 &&
                    pair.size() <= kLargest && product(shape_) * element == pair.size();
  if (!fits) return;
  element_ = element;
  packed_.reserve(pair.size() / element);
}

void DifferingElements::update(ValuePair::Piece reference, ValuePair::Piece candidate) {
  if (element_ == 0) return;
  for (std::size_t at = 0; at + element_ <= reference.size(); at += element_)
    packed_.push_back(std::memcmp(&reference[at], &candidate[at], element_) == 0 ? 0 : 1);
}

std::vector<AxisDifference> DifferingElements::axes() const {
  if (element_ == 0 || packed_.size() != product(shape_)) return {};
  const xt::xarray<std::uint8_t> elements =
      xt::adapt(packed_.data(), packed_.size(), xt::no_ownership(), shape_, strides_);
  std::vector<AxisDifference> axes;
  for (std::size_t dimension = 0; dimension < shape_.size(); ++dimension) {
    AxisDifference& axis = axes.emplace_back();
    axis.size = shape_[dimension];
    const xt::xtensor<std::uint64_t, 1> counts = along(elements, shape_, dimension);
    for (std::size_t index = 0; index < axis.size; ++index) {
      if (counts[index] == 0) continue;
      ++axis.differing;
      if (axis.indices.size() < kIndicesKept) axis.indices.push_back(index);
    }
  }
  return axes;
}

}  // namespace ulpscope::comparison
