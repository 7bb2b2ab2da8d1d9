#pragma once

#include <filesystem>
#include <string>

#include "writer/recording_lock.hpp"

namespace ulpscope::writer {

/// The directory of a new dump, which no other process records into as long as this lives.
class DumpDirectory {
 public:
  /// An empty `wanted` means runs/PROGRAM-N with the first free N. A directory that is not empty is
  /// rejected; with `force` a dump in it is removed first, anything else is still rejected.
  ///
  /// @throws Error with ErrorCode::io or usage.
  DumpDirectory(const std::filesystem::path& wanted, const std::string& program, bool force);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  RecordingLock lock_;
};

/// Bytes of all files below `directory`.
[[nodiscard]] std::uint64_t bytes_on_disk(const std::filesystem::path& directory);

}  // namespace ulpscope::writer
