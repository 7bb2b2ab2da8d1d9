#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "ulpscope/dtype.hpp"

namespace ulpscope::cli {

/// How NumPy spells a dtype in a file (<f4, or a list of fields); of one that it lacks, that of its
/// bits.
/// @throws Error with ErrorCode::usage for a dtype without whole bytes.
struct NpyType {
  std::string_view descr;
  bool raw = false;  ///< NumPy has no such dtype
};
[[nodiscard]] NpyType npy_type(Dtype dtype);

/// Writes the elements, in row-major order, as NumPy's save() does.
/// @throws Error with ErrorCode::io or as npy_type().
void write_npy(const std::filesystem::path& file, Dtype dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes);

}  // namespace ulpscope::cli
