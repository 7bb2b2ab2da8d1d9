#pragma once

#include <filesystem>

namespace ulpscope::cli {

/// Held while a dump is written, and gone with the process that writes it, however that ends.
class RecordingLock {
 public:
  /// @throws Error with ErrorCode::usage if another process holds it.
  explicit RecordingLock(const std::filesystem::path& dump);
  RecordingLock(const RecordingLock&) = delete;
  RecordingLock& operator=(const RecordingLock&) = delete;
  ~RecordingLock();

 private:
  int descriptor_;
};

/// A process is writing this dump now. False if the file system knows no locks.
[[nodiscard]] bool is_being_recorded(const std::filesystem::path& dump);

}  // namespace ulpscope::cli
