#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compare/measure/value_pair.hpp"
#include "ulpscope/difference.hpp"

namespace ulpscope::comparison {

/// Collects, piece by piece, on which indices of each dimension the elements of a value differ in
/// their bits.
class DifferingElements {
 public:
  explicit DifferingElements(const ValuePair& pair);

  /// Takes the next piece of both values, in their packed order.
  void update(ValuePair::Piece reference, ValuePair::Piece candidate);
  /// After all pieces: one entry for each dimension of the shape; an expanded dimension has one
  /// index. Empty for a value of more than 256 MiB, or without dimensions.
  [[nodiscard]] std::vector<AxisDifference> axes() const;

 private:
  std::size_t element_ = 0;  ///< bytes of one; 0: nothing is collected
  std::vector<std::size_t> shape_;
  std::vector<std::ptrdiff_t> strides_;  ///< in packed_
  std::vector<std::uint8_t> packed_;     ///< 1 for each element that differs
};

}  // namespace ulpscope::comparison
