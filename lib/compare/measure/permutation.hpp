#pragma once

#include "compare/measure/value_pair.hpp"

namespace ulpscope::comparison {

/// Whether both values hold the same numbers, in a different order.
[[nodiscard]] bool same_numbers(const ValuePair& pair);

/// Whether both hold the same rows of the first dimension, in a different order.
[[nodiscard]] bool same_rows(const ValuePair& pair);

/// Whether a number occurs in a value more than once.
[[nodiscard]] bool number_repeats(std::span<const std::byte> bytes, std::size_t element);

}  // namespace ulpscope::comparison
