#pragma once

#include <hdf5.h>

#include <cstdint>
#include <span>
#include <vector>

#include "dump/h5.hpp"

/// Chunks that pass through filters: HDF5 unpacks each as a whole, whatever is read of it.
namespace ulpscope::tensors {

/// The largest one that is unpacked, in bytes: HDF5 holds several copies.
inline constexpr std::uint64_t kLargestPackedChunk = std::uint64_t{1} << 29;

/// The shape of a dataset's chunks in elements, and their size in bytes. No chunks of a dataset
/// that has none, or no filters.
struct PackedChunks {
  std::vector<hsize_t> shape;
  std::uint64_t bytes = 0;
};

/// @throws Error if HDF5 does.
[[nodiscard]] PackedChunks packed_chunks(const dump::h5::Dataset& dataset);

/// Makes properties for a dataset that is read by boxes of `box` elements after each other keep
/// chunks until the next boxes have used them, in 1 GB at most.
/// @throws Error if HDF5 does.
void keep_chunks(const PackedChunks& chunks, std::span<const std::int64_t> box,
                 const dump::h5::Properties& access);

}  // namespace ulpscope::tensors
