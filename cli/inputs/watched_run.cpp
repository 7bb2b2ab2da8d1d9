#include "cli/inputs/watched_run.hpp"

namespace ulpscope::cli {
namespace {

class WatchedReader : public ContentReader {
 public:
  WatchedReader(std::unique_ptr<ContentReader> reader, const WatchedRun::Told& told)
      : reader_(std::move(reader)), told_(told) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return reader_->size(); }
  void read(std::span<std::byte> piece) override {
    reader_->read(piece);
    told_(piece.size());
  }

 private:
  std::unique_ptr<ContentReader> reader_;
  const WatchedRun::Told& told_;
};

}  // namespace

Block WatchedRun::block(std::uint32_t rank, std::uint32_t lane, std::size_t index) const {
  Block block = run().block(rank, lane, index);
  std::size_t& read = read_[{rank, lane}];
  if (index >= read) {
    read = index + 1;
    events_(block.events.size());
  }
  return block;
}

std::optional<std::vector<std::byte>> WatchedRun::content(std::uint32_t rank,
                                                          const Digest& digest) const {
  auto content = run().content(rank, digest);
  if (content) bytes_(content->size());
  return content;
}

std::unique_ptr<ContentReader> WatchedRun::open_content(std::uint32_t rank,
                                                        const Digest& digest) const {
  auto reader = run().open_content(rank, digest);
  return reader ? std::make_unique<WatchedReader>(std::move(reader), bytes_) : nullptr;
}

}  // namespace ulpscope::cli
