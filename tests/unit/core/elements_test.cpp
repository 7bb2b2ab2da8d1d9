#include "core/elements.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

using namespace ulpscope::core;

namespace {

using Sizes = std::vector<std::int64_t>;
using Offsets = std::vector<std::int64_t>;

Offsets offsets_of(const Sizes& sizes, const Sizes& strides) {
  Offsets offsets;
  for_each_element<1>(sizes, {strides}, [&](std::int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

}  // namespace

TEST_SUITE("elements") {
  TEST_CASE("come in row-major order, the last dimension first") {
    CHECK(offsets_of({2, 3}, {1, 2}) == Offsets{0, 2, 4, 1, 3, 5});
    CHECK(offsets_of({2, 1, 2}, {10, 7, 3}) == Offsets{0, 3, 10, 13});
  }

  TEST_CASE("of an expanded or reversed dimension have its stride") {
    CHECK(offsets_of({2, 3}, {1, 0}) == Offsets{0, 0, 0, 1, 1, 1});
    CHECK(offsets_of({3}, {-2}) == Offsets{0, -2, -4});
  }

  TEST_CASE("a value without dimensions has one, and one with a size of zero none") {
    CHECK(offsets_of({}, {}) == Offsets{0});
    CHECK(offsets_of({0, 3}, {3, 1}).empty());
    CHECK(offsets_of({3, 0}, {0, 1}).empty());
  }

  TEST_CASE("two orders are walked at once") {
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    const Sizes sizes{2, 2};
    const Sizes rows{2, 1};
    const Sizes columns{1, 2};
    for_each_element<2>(sizes, {rows, columns},
                        [&](std::int64_t a, std::int64_t b) { pairs.emplace_back(a, b); });
    CHECK(pairs == decltype(pairs){{0, 0}, {1, 2}, {2, 1}, {3, 3}});
  }

  TEST_CASE("are where their indices say, in five dimensions") {
    const Sizes sizes{3, 1, 2, 4, 2};
    const Sizes strides{5, 100, -7, 11, 64};
    Offsets expected;
    for (std::int64_t a = 0; a < 3; ++a)
      for (std::int64_t c = 0; c < 2; ++c)
        for (std::int64_t d = 0; d < 4; ++d)
          for (std::int64_t e = 0; e < 2; ++e) expected.push_back(a * 5 - c * 7 + d * 11 + e * 64);
    CHECK(offsets_of(sizes, strides) == expected);
  }

  TEST_CASE("the stride of a dimension of one element may be any") {
    constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
    CHECK(offsets_of({1, 2}, {kLargest, 1}) == Offsets{0, 1});
    CHECK(offsets_of({2, 1}, {1, kLargest}) == Offsets{0, 1});
  }
}
