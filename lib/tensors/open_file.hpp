#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "tensors/source.hpp"

namespace ulpscope::tensors {

/// A regular file.
class OpenFile {
 public:
  /// @throws Error with ErrorCode::io, of anything but a regular file too.
  explicit OpenFile(std::filesystem::path path);
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  /// @throws Error with ErrorCode::corrupt if it is too short.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// As text. The same.
  [[nodiscard]] std::string text_at(std::uint64_t offset, std::size_t bytes) const;
  /// Maps a range of it.
  [[nodiscard]] HeldBytes map(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// A range of a file. @pre it is inside of the file.
[[nodiscard]] std::shared_ptr<const Source> part_of(std::shared_ptr<const OpenFile> file,
                                                    std::uint64_t offset, std::uint64_t bytes);

}  // namespace ulpscope::tensors
