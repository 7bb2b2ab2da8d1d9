#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

/// POSIX files: whole reads and writes, failures as Error with ErrorCode::io.
namespace ulpscope::dump {

/// Sole owner of a file descriptor.
class File {
 public:
  /// For reading. Rejects everything except regular files: a pipe would wait, a device might act.
  [[nodiscard]] static File open(const std::filesystem::path& path);
  [[nodiscard]] static File open_for_update(const std::filesystem::path& path);
  /// Creates the file. An existing file is removed, not written to: it may be a link to elsewhere.
  [[nodiscard]] static File create(const std::filesystem::path& path);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const;
  /// Fills `bytes` from `offset`. @throws Error with ErrorCode::corrupt if the file is too
  /// short.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Consecutive bytes that are all in a hole, zeros that were never written, or none of them.
  struct Stretch {
    std::uint64_t bytes = 0;
    bool is_hole = false;
  };
  /// The stretch that begins at `offset`, at most `most` bytes of it. For a file with next to no
  /// holes, or on a file system without this information, everything counts as written.
  [[nodiscard]] Stretch stretch_at(std::uint64_t offset, std::uint64_t most) const;
  /// Advises the system that these bytes are about to be read from front to back.
  void expect_reading(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Truncates the file to `size` bytes.
  void truncate(std::uint64_t size);
  /// Appends with as few write(2) calls as the system allows: one, unless it is interrupted.
  void append(std::span<const std::byte> bytes);
  /// Closes the file, and checks whether everything written has arrived: network file systems and
  /// quotas may report errors only now. Without this call the result is ignored.
  void close();

 private:
  File(int descriptor, std::filesystem::path path) noexcept;

  int descriptor_;
  std::filesystem::path path_;
};

/// Removes a file, or a link and not what it leads to. A missing file is not a failure.
void remove_file(const std::filesystem::path& path);

/// Writes `content` under a temporary name, then renames: readers see the old file or the new one.
void replace_file(const std::filesystem::path& path, std::string_view content);

/// Renames, replacing an existing file.
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace ulpscope::dump
