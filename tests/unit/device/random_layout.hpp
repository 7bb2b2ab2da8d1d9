#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "device/batch.hpp"

namespace ulpscope::test {

using Bytes = std::vector<std::byte>;
using Dims = std::vector<std::int64_t>;

inline Bytes random_bytes(std::mt19937& random, std::size_t size) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 255);
  return bytes;
}

template <class Number>
Bytes bytes_of(const std::vector<Number>& numbers) {
  Bytes bytes(numbers.size() * sizeof(Number));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// Those with a name, and one that is compared by its bytes.
inline std::vector<Dtype> all_dtypes() {
  std::vector<Dtype> dtypes;
  for (unsigned number = 0; number < 30; ++number)
    if (const auto dtype = static_cast<Dtype>(number); element_size(dtype) > 0 || number == 20)
      dtypes.push_back(dtype);
  return dtypes;
}

/// A strided value with its own memory, which begins at any byte.
struct Strided {
  Bytes memory;
  std::size_t begin = 0;
  std::size_t element_size = 1;
  Dims sizes;
  Dims strides;

  [[nodiscard]] device::Value value(core::Order order) const {
    return {{memory.data() + begin, element_size, sizes, strides}, Dtype::uint8, order};
  }
};

/// Some dimensions are expanded, of size 1 or 0, padded, or walked backwards in memory order.
inline Strided random_strided(std::mt19937& random, std::size_t most_elements) {
  Strided strided;
  const std::size_t dims = random() % 6;
  strided.element_size = 1 + random() % 16;
  strided.sizes.resize(dims);
  strided.strides.resize(dims);
  std::vector<std::size_t> order(dims);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  std::int64_t stride = 1 + static_cast<std::int64_t>(random() % 2);
  std::int64_t extent = 1;
  std::size_t elements = 1;
  for (const std::size_t place : order) {
    const std::size_t most = std::min<std::size_t>(most_elements / elements, 40);
    strided.sizes[place] =
        random() % 50 == 0
            ? 0
            : 1 + static_cast<std::int64_t>(random() % std::max<std::size_t>(most, 1));
    strided.strides[place] = random() % 8 == 0 ? 0 : stride;
    if (strided.strides[place] != 0)
      elements *= std::max<std::size_t>(static_cast<std::size_t>(strided.sizes[place]), 1);
    extent += std::max<std::int64_t>(strided.sizes[place] - 1, 0) * strided.strides[place];
    stride *= std::max<std::int64_t>(strided.sizes[place], 1);
    if (random() % 3 == 0) stride += static_cast<std::int64_t>(random() % 5);
  }
  strided.begin = random() % 2 == 0 ? 0 : random() % 17;
  strided.memory =
      random_bytes(random, strided.begin + static_cast<std::size_t>(extent) * strided.element_size);
  return strided;
}

}  // namespace ulpscope::test
