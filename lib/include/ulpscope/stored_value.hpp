#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ulpscope/run.hpp"

/// Values of a dump by name, and their elements as bytes. `ulpscope/arrays.hpp` has them as arrays.
namespace ulpscope {

/// A value of a dump under a name that `ulpscope inspect` prints and takes: a path of the layer
/// tree ("steps/000003/forward/layer1.conv1/0/output.0"), or a slot of an event
/// ("17/140913/output.0"; "event:140913/output.0" in any step; "event:2:140913/output.0" on lane 2,
/// where that is not the main one).
struct StoredValue {
  std::uint32_t rank = 0;
  std::int64_t step = kSetup;
  std::string path;
  Digest digest;
  Geometry geometry;
  bool has_digest = true;
  bool in_row_major_order = false;  ///< its content, whatever the geometry says
};

/// All that the glob matches, by rank, then by path; one that is in two segments once. In a part
/// between slashes `*`, `?` and `[a-z]` mean what they do in a shell; a part `**` is any number of
/// parts. An event's position counts in its lane: without a lane the main one's, or, of a step
/// in which that has no such event, those of the others. Nothing is read of their bytes.
/// @throws Error with ErrorCode::usage for an event without a number.
[[nodiscard]] std::vector<StoredValue> find_values(const Run& run, std::string_view glob);

/// The one value of that name; a layer's path is not a glob here.
/// @throws Error with ErrorCode::usage if there is none, or several: of other ranks
///         (open_dump(directory, "rank=0") has one), lanes, or slots of an event.
[[nodiscard]] StoredValue find_value(const Run& run, std::string_view path);

/// Its elements in row-major order, expanded dimensions repeated; empty if the dump does not
/// have them.
[[nodiscard]] std::optional<std::vector<std::byte>> row_major_bytes(const Run& run,
                                                                    const StoredValue& value);

/// The dtype in which C++ holds elements of `dtype`: float32 for float16, bfloat16 and fp8,
/// complex64 for complex32, the others themselves. Empty where there is none: quantized elements,
/// and such as are no whole bytes.
[[nodiscard]] std::optional<Dtype> dtype_in_memory(Dtype dtype) noexcept;

/// A value's elements in row-major order, as C++ holds them.
struct Elements {
  Dtype dtype = Dtype::undefined;  ///< dtype_in_memory() of the value's
  std::vector<std::size_t> shape;
  std::vector<std::byte> bytes;  ///< as many as dtype and shape say
};

/// Reads a value. What is widened keeps every number; NaNs stay NaNs and lose their payloads.
///
/// A dump is not trusted: nothing is allocated before what the value claims to be agrees with what
/// the file holds. At most that is read, and four times as much for what is widened from one
/// byte; a value with expanded dimensions may have 256 MiB.
///
/// @throws Error: usage (the bytes are not in the dump; no array: sparse, quantized, more than 32
///         dimensions, expanded to more than 256 MiB), corrupt (the bytes do not have the value's
///         size or digest, or a bool is neither 0 nor 1).
[[nodiscard]] Elements read_elements(const Run& run, const StoredValue& value);

}  // namespace ulpscope
