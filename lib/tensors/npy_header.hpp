#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensors/stored_tensors.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::tensors {

/// What stands in front of the numbers of a `.npy` file, in all versions of the format.
struct NpyHeader {
  StoredTensor tensor;  ///< without a name
  bool column_major = false;
  std::endian order = std::endian::little;
  std::uint64_t bytes = 0;  ///< of the header: the numbers follow
};

/// @throws Error with ErrorCode::corrupt; `where` is how messages call the file.
[[nodiscard]] NpyHeader read_npy_header(ContentReader& reader, const std::string& where);

}  // namespace ulpscope::tensors
