#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// Dtype and shape of a value that can be in the layer tree, and how its recorded bytes, packed in
/// memory order, map to it.
struct ValueShape {
  Dtype dtype = Dtype::undefined;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> packed_strides;  ///< elements; 0 if a dimension is expanded
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;  ///< in row-major order, expanded dimensions repeated
  bool row_major = true;    ///< the recorded bytes are already in row-major order
};

/// Empty if a dataset cannot show a value of that geometry: more than 32 dimensions, a layout that
/// is not strided, a dtype without whole bytes, an expanded value of more than 256 MiB.
[[nodiscard]] std::optional<ValueShape> value_shape(const Geometry& geometry);

/// The elements in row-major order, expanded ones repeated. `packed` has packed_bytes.
[[nodiscard]] std::vector<std::byte> in_row_major_order(const ValueShape& shape,
                                                        std::span<const std::byte> packed);

}  // namespace ulpscope::dump
