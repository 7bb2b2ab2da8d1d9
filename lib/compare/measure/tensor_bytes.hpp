#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Both runs' bytes of one tensor, in the same order, and how to read them.
struct TensorBytes {
  Dtype dtype = Dtype::undefined;
  std::vector<std::int64_t> shape;    ///< expanded dimensions as size 1
  std::vector<std::int64_t> strides;  ///< in the packed bytes, in elements
  Both<std::vector<std::byte>> bytes;
};

/// Sizes with expanded dimensions as 1: the elements that packed bytes hold.
[[nodiscard]] std::vector<std::int64_t> packed_shape(const Geometry& geometry);

/// Strides of the same elements packed without gaps in their memory order.
[[nodiscard]] std::vector<std::int64_t> packed_strides(const Geometry& geometry,
                                                       const std::vector<std::int64_t>& shape);

/// The bytes of a tensor once packed; the largest number where they are more than that.
[[nodiscard]] std::uint64_t packed_bytes(const Geometry& geometry);

/// Whether tensor_bytes() would return something, without reading it.
[[nodiscard]] bool holds_bytes(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                               const Both<Digest>& digests, const Both<Geometry>& geometries);

/// The bytes of a tensor in both runs, the candidate's brought into the reference's order; empty
/// if a dump does not hold them or where they have no element-by-element comparison.
[[nodiscard]] std::optional<TensorBytes> tensor_bytes(const Both<const Run*>& runs,
                                                      const Both<std::uint32_t>& ranks,
                                                      const Both<Digest>& digests,
                                                      const Both<Geometry>& geometries);

}  // namespace ulpscope::comparison
