#include "tensors/memory_source.hpp"

#include <cstring>
#include <utility>

namespace ulpscope::tensors {
namespace {

class TextReader : public ContentReader {
 public:
  TextReader(std::shared_ptr<const std::string> bytes, std::uint64_t offset, std::uint64_t size)
      : bytes_(std::move(bytes)), at_(offset), size_(size) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  void read(std::span<std::byte> piece) override {
    if (!piece.empty()) std::memcpy(piece.data(), bytes_->data() + at_, piece.size());
    at_ += piece.size();
  }

 private:
  std::shared_ptr<const std::string> bytes_;
  std::uint64_t at_;
  std::uint64_t size_;
};

class MemorySource : public Source {
 public:
  explicit MemorySource(std::string bytes)
      : bytes_(std::make_shared<const std::string>(std::move(bytes))) {}

  [[nodiscard]] std::uint64_t size() const override { return bytes_->size(); }
  [[nodiscard]] std::unique_ptr<ContentReader> stream(std::uint64_t offset,
                                                      std::uint64_t bytes) const override {
    return std::make_unique<TextReader>(bytes_, offset, bytes);
  }

 private:
  std::shared_ptr<const std::string> bytes_;
};

}  // namespace

std::shared_ptr<const Source> memory_source(std::string bytes) {
  return std::make_shared<MemorySource>(std::move(bytes));
}

}  // namespace ulpscope::tensors
