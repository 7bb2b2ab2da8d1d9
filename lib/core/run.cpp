#include "ulpscope/run.hpp"

#include <algorithm>
#include <utility>

#include "ulpscope/error.hpp"

namespace ulpscope {
namespace {

/// Of bytes that are in memory anyway.
class MemoryReader : public ContentReader {
 public:
  explicit MemoryReader(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
  void read(std::span<std::byte> piece) override {
    if (piece.size() > bytes_.size() - done_)
      throw Error(ErrorCode::corrupt, "A value has fewer bytes than it should.");
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(done_), piece.size(), piece.begin());
    done_ += piece.size();
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t done_ = 0;
};

}  // namespace

std::unique_ptr<ContentReader> Run::open_content(std::uint32_t rank, const Digest& digest) const {
  auto bytes = content(rank, digest);
  return bytes ? std::make_unique<MemoryReader>(std::move(*bytes)) : nullptr;
}

std::string_view name(Phase phase) noexcept {
  switch (phase) {
    case Phase::setup:
      return "setup";
    case Phase::data:
      return "data";
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::optimizer:
      return "optimizer";
    case Phase::eval:
      return "eval";
  }
  return "unknown";
}

std::string_view name(Role role) noexcept {
  switch (role) {
    case Role::input:
      return "input";
    case Role::output:
      return "output";
    case Role::mutated:
      return "mutated";
  }
  return "unknown";
}

}  // namespace ulpscope
