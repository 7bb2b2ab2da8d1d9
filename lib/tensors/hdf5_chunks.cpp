#include "tensors/hdf5_chunks.hpp"

#include <algorithm>

namespace ulpscope::tensors {
namespace {

namespace h5 = dump::h5;

constexpr std::uint64_t kMostKept = std::uint64_t{1} << 30;
constexpr std::uint64_t kAlwaysKept = std::uint64_t{1} << 20;  // as HDF5 does by itself
constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 20;
constexpr std::uint64_t kFewestSlots = 521;

}  // namespace

PackedChunks packed_chunks(const h5::Dataset& dataset) {
  const h5::Properties creation(
      h5::checked("read a dataset's properties", H5Dget_create_plist(dataset.get())));
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED || H5Pget_nfilters(creation.get()) < 1)
    return {};
  hsize_t sizes[H5S_MAX_RANK] = {};
  const int dimensions =
      h5::checked("read chunks", H5Pget_chunk(creation.get(), H5S_MAX_RANK, sizes));
  const h5::Type type(h5::checked("read a type", H5Dget_type(dataset.get())));
  PackedChunks chunks{.shape = {sizes, sizes + dimensions}, .bytes = H5Tget_size(type.get())};
  for (const hsize_t size : chunks.shape)
    if (__builtin_mul_overflow(chunks.bytes, size, &chunks.bytes)) chunks.bytes = ~std::uint64_t{0};
  return chunks;
}

void keep_chunks(const PackedChunks& chunks, std::span<const std::int64_t> box,
                 const h5::Properties& access) {
  if (chunks.bytes == 0) return;
  std::uint64_t touched = 1;
  for (std::size_t d = 0; d < std::min(chunks.shape.size(), box.size()); ++d) {
    const std::uint64_t along =
        static_cast<std::uint64_t>(box[d]) / std::max<hsize_t>(chunks.shape[d], 1) + 2;
    if (__builtin_mul_overflow(touched, along, &touched)) touched = kMostSlots;
  }
  std::uint64_t kept = 0;
  if (__builtin_mul_overflow(touched, chunks.bytes, &kept)) kept = kMostKept;
  kept = std::clamp(kept, kAlwaysKept, kMostKept);
  const std::uint64_t slots = std::clamp(touched, kFewestSlots, kMostSlots);
  constexpr double kUsedUpFirst = 0.75;  // with 1, HDF5 drops no others, however many there are
  h5::checked("set a property", H5Pset_chunk_cache(access.get(), slots, kept, kUsedUpFirst));
}

}  // namespace ulpscope::tensors
