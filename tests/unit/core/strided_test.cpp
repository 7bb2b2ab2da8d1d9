#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "ulpscope/digest.hpp"

namespace {

using ulpscope::StridedBytes;
using Bytes = std::vector<std::byte>;
using Dims = std::vector<std::int64_t>;
using ulpscope::digest_in_logical_order;
using ulpscope::digest_in_memory_order;
using ulpscope::pack_in_memory_order;

/// Packs by counting through all indices of the dimensions in the given order.
Bytes pack_in_order(const StridedBytes& value, const std::vector<std::size_t>& order) {
  Bytes packed;
  if (std::ranges::find(value.sizes, 0) != value.sizes.end()) return packed;
  Dims index(order.size(), 0);
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < order.size(); ++i) offset += index[i] * value.strides[order[i]];
    const std::byte* element = value.data + offset * static_cast<std::int64_t>(value.element_size);
    packed.insert(packed.end(), element, element + value.element_size);
    std::size_t level = order.size();
    while (level > 0 && ++index[level - 1] == value.sizes[order[level - 1]]) index[--level] = 0;
    if (level == 0) return packed;
  }
}

/// Dimensions that are neither expanded nor of size 1, in logical order.
std::vector<std::size_t> walked(const StridedBytes& value) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < value.sizes.size(); ++i)
    if (value.sizes[i] != 1 && value.strides[i] != 0) order.push_back(i);
  return order;
}

std::vector<std::size_t> by_decreasing_stride(const StridedBytes& value) {
  std::vector<std::size_t> order = walked(value);
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return value.strides[a] > value.strides[b]; });
  return order;
}

void check(const Dims& sizes, const Dims& strides, std::size_t element_size) {
  std::int64_t extent = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    extent += std::max<std::int64_t>(sizes[i] - 1, 0) * strides[i];
  Bytes memory(static_cast<std::size_t>(extent) * element_size);
  std::mt19937 random(1);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random() & 255);
  const StridedBytes value{memory.data(), element_size, sizes, strides};
  const Bytes in_memory_order = pack_in_order(value, by_decreasing_stride(value));
  const Bytes in_logical_order = pack_in_order(value, walked(value));

  CAPTURE(sizes.size());
  CAPTURE(element_size);
  CHECK(packed_size(value) == in_memory_order.size());
  CHECK(digest_in_memory_order(value) == ulpscope::digest(in_memory_order));
  CHECK(digest_in_logical_order(value) == ulpscope::digest(in_logical_order));
  Bytes packed(in_memory_order.size());
  CHECK(pack_in_memory_order(value, packed) == packed.size());
  CHECK(packed == in_memory_order);

  const Dims packed_strides = ulpscope::packed_strides(sizes, strides);
  const StridedBytes as_packed{packed.data(), element_size, sizes, packed_strides};
  CHECK(pack_in_order(as_packed, walked(value)) == in_logical_order);
}

}  // namespace

TEST_SUITE("strided") {
  TEST_CASE("named layouts have the digest of their packed elements") {
    for (const std::size_t element_size : {1, 2, 4, 8, 16, 3}) {
      check({}, {}, element_size);                        // 0 dimensions
      check({5}, {1}, element_size);                      // dense
      check({3, 0, 2}, {2, 2, 1}, element_size);          // empty
      check({4, 5}, {5, 1}, element_size);                // row-major
      check({4, 5}, {1, 4}, element_size);                // transposed
      check({2, 3, 4, 5}, {60, 1, 15, 3}, element_size);  // channels last
      check({4, 5}, {10, 2}, element_size);               // every second column
      check({4, 5}, {12, 1}, element_size);               // rows with gaps
      check({4, 5, 6}, {0, 6, 1}, element_size);          // expanded
      check({7}, {0}, element_size);                      // one element, repeated
      check({1, 6, 1}, {99, 2, 77}, element_size);        // sizes of 1
      check({3, 4}, {1, 1}, element_size);                // overlapping windows
    }
  }

  TEST_CASE("layouts larger than the gather buffer have the digest of their packed elements") {
    check({300, 200}, {1, 300}, 4);
    check({300, 200}, {256, 1}, 4);
    check({7, 9000}, {10001, 1}, 2);
    check({3, 5000}, {20000, 2}, 8);
    check({4, 64, 30, 31}, {64 * 930, 1, 64 * 31, 64}, 4);
    check({70000}, {3}, 1);
  }

  TEST_CASE("random layouts have the digest of their packed elements") {
    std::mt19937 random(9);
    for (int trial = 0; trial < 500; ++trial) {
      const std::size_t dims = random() % 6;
      Dims sizes(dims);
      Dims strides(dims);
      std::vector<std::size_t> order(dims);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::shuffle(order, random);
      std::int64_t stride = 1 + random() % 2;
      for (const std::size_t place : order) {
        sizes[place] = static_cast<std::int64_t>(random() % 7);
        strides[place] = random() % 8 == 0 ? 0 : stride;
        stride *= std::max<std::int64_t>(sizes[place], 1);
        if (random() % 3 == 0) stride += random() % 5;
      }
      check(sizes, strides, std::size_t{1} << (random() % 5));
    }
  }

  TEST_CASE("a transposed value has the digest of its memory") {
    const Dims sizes{30, 40};
    const Dims transposed{1, 30};
    Bytes memory(30 * 40 * 4);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i & 255);
    CHECK(digest_in_memory_order({memory.data(), 4, sizes, transposed}) ==
          ulpscope::digest(memory));
    CHECK(digest_in_logical_order({memory.data(), 4, sizes, transposed}) !=
          ulpscope::digest(memory));
  }

  TEST_CASE("without strides the packed order is row-major") {
    CHECK(ulpscope::packed_strides(Dims{2, 1, 3, 4}, {}) == Dims{12, 0, 4, 1});
    CHECK(ulpscope::packed_strides(Dims{2, 3, 4}, Dims{12, 1, 3}) == Dims{12, 1, 3});
    CHECK(ulpscope::packed_strides({}, {}).empty());
  }

  TEST_CASE("a size beyond all memory is said, not walked") {
    const Dims sizes{std::int64_t{1} << 40, std::int64_t{1} << 40};
    const Dims strides{1, 1};
    const std::byte element{};
    const StridedBytes value{&element, 4, sizes, strides};
    CHECK(packed_size(value) == std::numeric_limits<std::size_t>::max());
    CHECK(digest_in_memory_order(value) == ulpscope::Digest{});
    Bytes room(16);
    CHECK(pack_in_memory_order(value, room) == 0);
  }

  TEST_CASE("nothing is packed where there is too little room") {
    const Dims sizes{4};
    const Dims strides{1};
    const Bytes memory(16);
    Bytes room(15, std::byte{7});
    CHECK(pack_in_memory_order({memory.data(), 4, sizes, strides}, room) == 0);
    CHECK(room == Bytes(15, std::byte{7}));
  }
}
