#include "ceiling.hpp"

#include <cstring>

namespace ulpscope::bench {

std::uint64_t ULPSCOPE_BENCH_CEILING(const std::byte* a, const std::byte* b, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    std::uint64_t left;
    std::uint64_t right;
    std::memcpy(&left, a + i, 8);
    std::memcpy(&right, b + i, 8);
    sum += left ^ right;
  }
  return sum;
}

}  // namespace ulpscope::bench
