#include "compare/measure/elements.hpp"

namespace ulpscope::comparison {

std::optional<std::vector<Number>> decode(Dtype dtype, std::span<const std::byte> bytes) {
  return with_numbers(dtype, [&]<class Numbers>(Numbers) {
    std::vector<Number> numbers(bytes.size() / sizeof(typename Numbers::Bits));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = Numbers::number(bits_at<Numbers>(bytes, i));
    return numbers;
  });
}

}  // namespace ulpscope::comparison
