#include "dump/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "dump/bytes.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr off_t kBlockBytes = 512;       // what st_blocks counts
constexpr off_t kLargeHoles = 16 << 20;  // together, worth looking for

[[noreturn]] void fail(std::string_view doing, const std::filesystem::path& path, int error) {
  throw Error(ErrorCode::io, "Cannot " + std::string(doing) + " '" + path.string() +
                                 "': " + std::generic_category().message(error) + ".");
}

int open_or_fail(const std::filesystem::path& path, int flags, std::string_view doing) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(doing, path, errno);
  return descriptor;
}

}  // namespace

File::File(int descriptor, std::filesystem::path path) noexcept
    : descriptor_(descriptor), path_(std::move(path)) {}

File File::open(const std::filesystem::path& path) {
  File file(open_or_fail(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, "open"), path);
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0) fail("look at", path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::corrupt, "'" + path.string() + "' is not a regular file.");
  }
  return file;
}

File File::open_for_update(const std::filesystem::path& path) {
  return {open_or_fail(path, O_RDWR, "open"), path};
}

File File::create(const std::filesystem::path& path) {
  remove_file(path);
  return {open_or_fail(path, O_RDWR | O_CREAT | O_EXCL, "create"), path};
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("read the size of", path_, errno);
  return static_cast<std::uint64_t>(status.st_size);
}

void File::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got =
        ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path_, errno);
    if (got == 0) {
      throw Error(ErrorCode::corrupt, "'" + path_.string() + "' is shorter than it says.");
    }
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

File::Stretch File::stretch_at(std::uint64_t offset, std::uint64_t most) const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("look at", path_, errno);
  if (status.st_size - status.st_blocks * kBlockBytes < kLargeHoles) return {most, false};
  const auto from = static_cast<off_t>(offset);
  const off_t data = ::lseek(descriptor_, from, SEEK_DATA);
  if (data < 0 && errno != ENXIO) return {most, false};  // not every file system supports this
  const off_t hole_ends = data < 0 ? status.st_size : data;
  if (hole_ends > from) return {std::min(static_cast<std::uint64_t>(hole_ends - from), most), true};
  const off_t hole = ::lseek(descriptor_, from, SEEK_HOLE);
  return {hole > from ? std::min(static_cast<std::uint64_t>(hole - from), most) : most, false};
}

void File::expect_reading(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                POSIX_FADV_SEQUENTIAL);
}

void File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", path_, errno);
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void File::truncate(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("shorten", path_, errno);
}

void File::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void remove_file(const std::filesystem::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("remove", path, errno);
}

void File::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 && errno != EINTR) fail("write", path_, errno);
}

void replace_file(const std::filesystem::path& path, std::string_view content) {
  auto temporary = path;
  temporary += ".partial";
  auto file = File::create(temporary);
  file.append(bytes_of(content));
  file.close();
  rename_file(temporary, path);
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) fail("rename to", to, error.value());
}

}  // namespace ulpscope::dump
