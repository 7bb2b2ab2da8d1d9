// Runs one of the kernels over N floats, for a tool that counts instructions:
//   count_kernels none|digest|statistics|same|sparse|dense|unrelated N

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "ulpscope/difference.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/statistics.hpp"

using namespace ulpscope;

namespace {

std::vector<float> numbers(std::size_t count, std::uint32_t state = 1) {
  std::vector<float> values(count);
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(state >> 8) / (1 << 24) - 0.5F;
  }
  return values;
}

/// One of every `period` moved by one ULP.
std::vector<float> moved(std::vector<float> values, std::size_t period) {
  for (std::size_t i = 0; i < values.size(); i += period) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &values[i], sizeof bits);
    ++bits;
    std::memcpy(&values[i], &bits, sizeof bits);
  }
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view kernel = argv[1];
  const auto count = static_cast<std::size_t>(std::atoll(argv[2]));
  const std::vector<float> values = numbers(count);
  const auto bytes = std::as_bytes(std::span(values));
  const std::size_t period = kernel == "dense" ? 2 : kernel == "sparse" ? 10'000 : count + 1;
  const std::vector<float> others =
      kernel == "unrelated" ? numbers(count, 2) : moved(values, period);
  if (kernel == "none") return 0;
  if (kernel == "digest") return digest(bytes) == Digest{} ? 1 : 0;
  if (kernel == "statistics") return statistics_of(Dtype::float32, bytes).elements == count ? 0 : 1;
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(count)};
  const std::vector<std::int64_t> strides{1};
  const Difference found =
      difference(Dtype::float32, shape, strides, bytes, std::as_bytes(std::span(others)));
  return found.elements == count ? 0 : 1;
}
