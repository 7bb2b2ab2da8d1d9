#pragma once

#include "compare/value_pair.hpp"

namespace ulpscope::comparison {

/// Adds up the bits of the numbers of both values. Where the sums differ, so do the numbers, in
/// whatever order: two values that differ at all are mostly told apart so.
class NumberSums {
 public:
  explicit NumberSums(std::size_t element) : element_(element) {}
  void add(ValuePair::Piece reference, ValuePair::Piece candidate);
  [[nodiscard]] bool equal() const noexcept { return sums_.reference == sums_.candidate; }

 private:
  std::size_t element_;
  Both<std::uint64_t> sums_;
};

/// Whether both values hold the same numbers, in another order.
[[nodiscard]] bool same_numbers(const ValuePair& pair);

/// Whether both hold the same rows of the first dimension, in another order.
[[nodiscard]] bool same_rows(const ValuePair& pair);

/// Whether a number stands in a value more than once.
[[nodiscard]] bool number_repeats(std::span<const std::byte> bytes, std::size_t element);

}  // namespace ulpscope::comparison
