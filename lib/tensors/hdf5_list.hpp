#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ulpscope/dtype.hpp"

/// What only the process that calls HDF5 runs: see hdf5_reader.
namespace ulpscope::tensors {

/// A file, or one that is a member of a zip archive, not compressed.
struct Hdf5Place {
  std::filesystem::path path;
  std::string member;  ///< empty: `path` itself
};

/// A dataset, or of one of records a field.
struct Hdf5Part {
  std::string dataset;
  std::vector<std::string> fields;  ///< each inside of the one before

  [[nodiscard]] bool operator==(const Hdf5Part&) const = default;
};

/// The largest box of elements that is read at a time, in bytes.
inline constexpr std::size_t kLargestBox = std::size_t{1} << 24;

/// A dataset or field, or another object or link that cannot be compared.
struct Hdf5Entry {
  std::string name;        ///< "model_weights/dense/kernel:0"
  Hdf5Part part;           ///< what is read of it
  std::string unreadable;  ///< as StoredTensor
  Dtype dtype = Dtype::undefined;
  std::endian order = std::endian::little;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> chunk;  ///< of chunked ones
  std::string text;                 ///< the elements of one of strings, as bytes
  bool is_text = false;
  bool contiguous = false;  ///< its bytes are in the file at `offset`
  std::uint64_t offset = 0;
};

/// Goes through the groups of a file. Neither links nor datasets that lead to other files are
/// followed.
/// @throws Error if HDF5 does.
void list_hdf5(const Hdf5Place& place, const std::function<void(const Hdf5Entry&)>& use);

/// Reads boxes of a file's datasets.
class Hdf5Boxes {
 public:
  explicit Hdf5Boxes(const Hdf5Place& place);
  ~Hdf5Boxes();
  Hdf5Boxes(const Hdf5Boxes&) = delete;
  Hdf5Boxes& operator=(const Hdf5Boxes&) = delete;

  /// The elements of a box, in row-major order and in their own type. Returns how many they are.
  /// @throws Error if HDF5 does, or if they are not `bytes.size()`.
  std::uint64_t read(const Hdf5Part& part, const std::vector<std::int64_t>& begin,
                     const std::vector<std::int64_t>& size, std::span<std::byte> bytes);

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace ulpscope::tensors
