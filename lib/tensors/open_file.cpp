#include "tensors/open_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tensors/refuse.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::tensors {
namespace {

class PartReader : public ContentReader {
 public:
  PartReader(std::shared_ptr<const OpenFile> file, std::uint64_t offset, std::uint64_t bytes)
      : file_(std::move(file)), at_(offset), size_(bytes) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  void read(std::span<std::byte> piece) override {
    file_->read_at(at_, piece);
    at_ += piece.size();
  }

 private:
  std::shared_ptr<const OpenFile> file_;
  std::uint64_t at_;
  std::uint64_t size_;
};

class Part : public Source {
 public:
  Part(std::shared_ptr<const OpenFile> file, std::uint64_t offset, std::uint64_t bytes)
      : file_(std::move(file)), offset_(offset), size_(bytes) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::unique_ptr<ContentReader> stream(std::uint64_t offset,
                                                      std::uint64_t bytes) const override {
    return std::make_unique<PartReader>(file_, offset_ + offset, bytes);
  }
  [[nodiscard]] std::uint64_t most_held() const override { return size_; }
  [[nodiscard]] HeldBytes hold(std::uint64_t offset, std::uint64_t bytes) const override {
    return file_->map(offset_ + offset, bytes);
  }

 private:
  std::shared_ptr<const OpenFile> file_;
  std::uint64_t offset_;
  std::uint64_t size_;
};

/// Sole owner of a mapping.
struct Mapping {
  Mapping(void* at, std::size_t bytes) : begin(at), size(bytes) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(begin, size); }

  void* begin;
  std::size_t size;
};

}  // namespace

OpenFile::OpenFile(std::filesystem::path path) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) not_readable(path_);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw Error(ErrorCode::io, "'" + path_.string() + "' is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

OpenFile::~OpenFile() { ::close(descriptor_); }

void OpenFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got =
        ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) not_readable(path_);
    if (got == 0) damaged(path_, "it ends before its contents do");
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::string OpenFile::text_at(std::uint64_t offset, std::size_t bytes) const {
  std::string text(bytes, '\0');
  read_at(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

HeldBytes OpenFile::map(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes == 0) return {};
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t before = offset % page;
  void* const at = ::mmap(nullptr, before + bytes, PROT_READ, MAP_PRIVATE, descriptor_,
                          static_cast<off_t>(offset - before));
  if (at == MAP_FAILED) not_readable(path_);
  auto owner = std::make_shared<Mapping>(at, before + bytes);
  return {{static_cast<const std::byte*>(at) + before, bytes}, std::move(owner)};
}

std::shared_ptr<const Source> part_of(std::shared_ptr<const OpenFile> file, std::uint64_t offset,
                                      std::uint64_t bytes) {
  return std::make_shared<Part>(std::move(file), offset, bytes);
}

}  // namespace ulpscope::tensors
