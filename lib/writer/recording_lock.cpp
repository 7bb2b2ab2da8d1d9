#include "writer/recording_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace ulpscope::writer {
namespace {

/// The lock is on the directory itself: a dump holds no file for it.
int open_directory(const std::filesystem::path& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace

BeingRecorded::BeingRecorded(const std::filesystem::path& dump)
    : Error(ErrorCode::usage, fmt::format("'{}' is being recorded", dump.string()),
            "choose a different place with -o, or wait until that recording has ended") {}

RecordingLock::RecordingLock(const std::filesystem::path& dump)
    : descriptor_(open_directory(dump)) {
  if (descriptor_ < 0 || flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(descriptor_);
  throw BeingRecorded(dump);
}

RecordingLock::~RecordingLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool is_being_recorded(const std::filesystem::path& dump) {
  const int descriptor = open_directory(dump);
  if (descriptor < 0) return false;
  const bool locked = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(descriptor);
  return locked;
}

}  // namespace ulpscope::writer
