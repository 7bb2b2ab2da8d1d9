#include "compare/measure/axes.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

using namespace ulpscope;
using namespace ulpscope::comparison;

namespace {

using Sizes = std::vector<std::int64_t>;

/// Packed float16 values that differ at `places`, offsets in elements.
ValuePair pair_of(const Sizes& shape, const Sizes& strides, const std::set<std::size_t>& places) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  TensorBytes tensor{Dtype::float16, shape, strides, {}};
  tensor.bytes.reference.resize(2 * count);
  tensor.bytes.candidate.resize(2 * count);
  for (const std::size_t place : places) tensor.bytes.candidate[2 * place + 1] = std::byte{1};
  return ValuePair(std::move(tensor));
}

std::vector<AxisDifference> differing_axes(const ValuePair& pair) {
  DifferingElements elements(pair);
  pair.for_each_piece([&](ValuePair::Piece reference, ValuePair::Piece candidate) {
    elements.update(reference, candidate);
    return true;
  });
  return elements.axes();
}

/// The indices of one dimension on which an element differs, found element by element.
std::set<std::uint64_t> indices_of(const Sizes& shape, const Sizes& strides,
                                   const std::set<std::size_t>& places, std::size_t dimension) {
  std::set<std::uint64_t> found;
  Sizes index(shape.size(), 0);
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) offset += index[d] * strides[d];
    if (places.contains(static_cast<std::size_t>(offset)))
      found.insert(static_cast<std::uint64_t>(index[dimension]));
    std::size_t d = 0;
    while (d < shape.size() && ++index[d] == shape[d]) index[d++] = 0;
    if (d == shape.size()) return found;
  }
}

void check(const Sizes& shape, const Sizes& strides, const std::set<std::size_t>& places) {
  const auto axes = differing_axes(pair_of(shape, strides, places));
  REQUIRE(axes.size() == shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto expected = indices_of(shape, strides, places, d);
    CHECK(axes[d].size == static_cast<std::uint64_t>(shape[d]));
    CHECK(axes[d].differing == expected.size());
    const std::size_t kept = std::min<std::size_t>(expected.size(), 8);
    const std::vector<std::uint64_t> first(expected.begin(),
                                           std::next(expected.begin(), std::ptrdiff_t(kept)));
    CHECK(axes[d].indices == first);
  }
}

}  // namespace

TEST_SUITE("axes") {
  TEST_CASE("one channel of a value in channels-last order") {
    const Sizes shape{2, 3, 4, 5};
    const Sizes strides{60, 1, 15, 3};
    std::set<std::size_t> places;
    for (std::size_t pixel = 0; pixel < 40; ++pixel) places.insert(3 * pixel + 1);
    const auto axes = differing_axes(pair_of(shape, strides, places));
    REQUIRE(axes.size() == 4);
    CHECK(axes[0].differing == 2);
    CHECK(axes[1].differing == 1);
    CHECK(axes[1].indices == std::vector<std::uint64_t>{1});
    CHECK(axes[3].differing == 5);
  }

  TEST_CASE("any elements of any order are where an element by element search finds them") {
    std::mt19937 random(11);
    const std::vector<std::pair<Sizes, Sizes>> layouts{{{7}, {1}},
                                                       {{4, 9}, {9, 1}},
                                                       {{4, 9}, {1, 4}},
                                                       {{3, 1, 6}, {6, 0, 1}},
                                                       {{2, 3, 4, 5}, {60, 1, 15, 3}},
                                                       {{2, 3, 4, 5}, {1, 2, 6, 24}},
                                                       {{40, 2}, {2, 1}}};
    for (const auto& [shape, strides] : layouts) {
      std::size_t count = 1;
      for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
      for (const std::size_t differing : {std::size_t{0}, std::size_t{1}, count / 3, count}) {
        std::set<std::size_t> places;
        while (places.size() < differing) places.insert(random() % count);
        check(shape, strides, places);
      }
    }
  }

  TEST_CASE("a number has no axes") { CHECK(differing_axes(pair_of({}, {}, {0})).empty()); }
}
