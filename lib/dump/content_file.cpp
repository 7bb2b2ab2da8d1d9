#include "dump/content_file.hpp"

#include <utility>

namespace ulpscope::dump {
namespace {

constexpr std::size_t kGatheredBytes = 512 << 10;
constexpr std::size_t kLargeBytes = 256 << 10;

}  // namespace

ContentFile::ContentFile(File file) : file_(std::move(file)) { gathered_.reserve(kGatheredBytes); }

void ContentFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  const bool follows = offset == gathered_at_ + gathered_.size();
  if (!follows || gathered_.size() + bytes.size() > kGatheredBytes) flush();
  if (bytes.size() >= kLargeBytes) {
    flush();
    return file_.write_at(offset, bytes);
  }
  if (gathered_.empty()) gathered_at_ = offset;
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
}

void ContentFile::read(std::uint64_t offset, std::span<std::byte> bytes) {
  flush();
  file_.read_at(offset, bytes);
}

void ContentFile::close(std::uint64_t end) {
  flush();
  if (file_.size() > end) file_.truncate(end);
  file_.close();
}

void ContentFile::flush() {
  if (gathered_.empty()) return;
  file_.write_at(gathered_at_, gathered_);
  gathered_.clear();
}

}  // namespace ulpscope::dump
