#pragma once

#include <hdf5.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dump/schema.hpp"

/// The one place where HDF5's ids and return codes are handled.
namespace ulpscope::dump::h5 {

/// Sole owner of one HDF5 id. `Close` is part of the type, so a dataset cannot be closed as a
/// group, and a moved-from handle closes nothing.
template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(hid_t id) noexcept : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) Close(id_);
  }
  [[nodiscard]] hid_t get() const noexcept { return id_; }
  [[nodiscard]] explicit operator bool() const noexcept { return id_ >= 0; }
  [[nodiscard]] hid_t release() noexcept { return std::exchange(id_, H5I_INVALID_HID); }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

using File = Handle<H5Fclose>;
using Dataset = Handle<H5Dclose>;
using Group = Handle<H5Gclose>;
using Space = Handle<H5Sclose>;
using Type = Handle<H5Tclose>;
using Attribute = Handle<H5Aclose>;
using Properties = Handle<H5Pclose>;

/// Keeps HDF5 from printing its errors while it lives: the library never prints. Nor does HDF5
/// clean up when the process ends, if this was its first call.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Ends a failed call: HDF5's own innermost message becomes an Error with ErrorCode::io.
[[noreturn]] void fail(std::string_view doing);

/// Every C call passes through here: checked("open the file", H5Fopen(...)).
template <std::signed_integral R>
R checked(std::string_view doing, R result) {
  if (result < 0) fail(doing);
  return result;
}

/// The file type of a row; memory holds rows in the same layout, so nothing is ever converted.
[[nodiscard]] Type row_type(const TableSchema& table);

/// Creates a dataset with the rows that `bytes` hold and its description.
/// @returns where the rows are in the file; 0 if there are none.
std::uint64_t write_table(hid_t file, const TableSchema& table, std::span<const std::byte> bytes);

/// Writes what HDF5 still holds of its bytes, which without this would fail unnoticed.
void close(Dataset& dataset);

/// No dimensions: a scalar.
[[nodiscard]] Space space_of(std::span<const hsize_t> sizes);

/// Where the bytes of a contiguous dataset begin in the file. @throws Error if it has no space.
[[nodiscard]] std::uint64_t offset_of(const Dataset& dataset);

void write_attribute(hid_t object, const char* name, std::string_view text);
void write_attribute(hid_t object, const char* name, std::int64_t number);

}  // namespace ulpscope::dump::h5
