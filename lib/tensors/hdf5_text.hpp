#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ulpscope::tensors {

/// Texts as an array of bytes, each of the longest one's length and filled up with zeros.
struct Hdf5Texts {
  std::uint64_t longest = 0;
  std::string bytes;
};

/// The strings of a dataset, of fixed length or not, each up to its padding.
struct Hdf5Strings {
  hid_t dataset;
  hid_t type;    ///< of a string
  hid_t memory;  ///< what HDF5 is asked for: such strings, or records of one alone
  std::vector<std::int64_t> shape;
};

/// @returns none if they are more than `most` bytes, or cannot be read.
[[nodiscard]] std::optional<Hdf5Texts> read_texts(const Hdf5Strings& strings, std::size_t most);

}  // namespace ulpscope::tensors
