#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "ulpscope/dtype.hpp"

namespace ulpscope::dump {

/// An HDF5 file of typed datasets, as the layer tree of a segment has them.
class ValueFile {
 public:
  /// Replaces an existing file. @throws Error with ErrorCode::io, as all of this.
  explicit ValueFile(const std::filesystem::path& path);
  ValueFile(const ValueFile&) = delete;
  ValueFile& operator=(const ValueFile&) = delete;
  ~ValueFile();

  /// `bytes`: the elements in row-major order.
  /// @throws Error with ErrorCode::usage if HDF5 has no type for the dtype.
  void add(const std::string& path, Dtype dtype, std::span<const std::int64_t> sizes,
           std::span<const std::byte> bytes);
  /// Until then the file is not complete.
  void close();

 private:
  struct Hdf5;
  std::unique_ptr<Hdf5> hdf5_;
};

}  // namespace ulpscope::dump
