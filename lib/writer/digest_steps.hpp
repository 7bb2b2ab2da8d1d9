#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ulpscope::writer {

/// The newest step in which each digest was seen; old steps are forgotten as it fills.
class DigestSteps {
 public:
  void put(std::uint64_t digest, std::int64_t step);
  [[nodiscard]] bool has(std::uint64_t digest) const noexcept {
    const std::size_t at = place_of(digest);
    return entries_[at].used && entries_[at].step >= first_;
  }
  /// Nothing earlier is of interest any more.
  void forget_before(std::int64_t step) noexcept { first_ = step; }

 private:
  struct Entry {
    std::uint64_t digest = 0;
    std::int64_t step = 0;
    bool used = false;
  };

  /// Where it is, or where it would be.
  [[nodiscard]] std::size_t place_of(std::uint64_t digest) const noexcept {
    std::size_t at = digest & (entries_.size() - 1);
    while (entries_[at].used && entries_[at].digest != digest)
      at = (at + 1) & (entries_.size() - 1);
    return at;
  }
  void make_room();

  std::vector<Entry> entries_ = std::vector<Entry>(1024);  ///< a power of two, at most half used
  std::size_t used_ = 0;
  std::int64_t first_ = -1;
};

}  // namespace ulpscope::writer
