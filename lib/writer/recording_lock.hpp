#pragma once

#include <filesystem>

#include "ulpscope/error.hpp"

namespace ulpscope::writer {

/// Another process is writing the dump.
class BeingRecorded : public Error {
 public:
  explicit BeingRecorded(const std::filesystem::path& dump);
};

/// Held while a dump is written, and gone with the process that writes it, however that ends.
class RecordingLock {
 public:
  /// @throws BeingRecorded if another process holds it.
  explicit RecordingLock(const std::filesystem::path& dump);
  RecordingLock(const RecordingLock&) = delete;
  RecordingLock& operator=(const RecordingLock&) = delete;
  ~RecordingLock();

 private:
  int descriptor_;
};

/// A process is writing this dump now. False if the file system knows no locks.
[[nodiscard]] bool is_being_recorded(const std::filesystem::path& dump);

}  // namespace ulpscope::writer
