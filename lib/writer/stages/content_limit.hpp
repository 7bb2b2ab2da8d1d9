#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <unordered_set>
#include <vector>

#include "ulpscope/digest.hpp"

namespace ulpscope::writer {

/// The bytes that a dump may have before the contents of values end (`--max-bytes`). One for all
/// ranks of a dump.
class ContentBudget {
 public:
  /// `limit` in bytes; 0: none.
  ContentBudget(std::filesystem::path directory, std::uint64_t limit)
      : directory_(std::move(directory)), limit_(limit) {}

  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  /// The dump has reached the limit: no content is stored any more.
  [[nodiscard]] bool used_up() const noexcept { return used_up_; }

  /// True if `bytes` more fit; the first that do not fit end it.
  [[nodiscard]] bool take(std::uint64_t bytes);

  /// What was taken has been written.
  void settle() noexcept { in_flight_ = 0; }

 private:
  std::filesystem::path directory_;
  std::uint64_t limit_;
  std::uint64_t known_ = 0;      ///< size of the dump when it was last measured
  std::uint64_t taken_ = 0;      ///< since then, at most: existing contents are not stored again
  std::uint64_t in_flight_ = 0;  ///< the part of it that is not yet written
  bool used_up_ = false;
};

/// Removes the contents from the messages of one process once the budget is used up. Digests
/// continue; the slots of a value without content say that it has none.
class LimitedContents {
 public:
  explicit LimitedContents(ContentBudget& budget) : budget_(budget) {}

  /// A message of a lane as it should be stored: the given one, a copy that is valid until the next
  /// call, or nothing.
  [[nodiscard]] std::span<const std::byte> apply(std::uint32_t lane,
                                                 std::span<const std::byte> message);

  /// At least one content was left out.
  [[nodiscard]] bool left_out() const noexcept { return left_out_; }

 private:
  struct DigestHash {
    std::size_t operator()(const Digest& digest) const noexcept { return digest.low; }
  };

  [[nodiscard]] bool keep_content(std::uint32_t lane, std::span<const std::byte> message);
  [[nodiscard]] std::span<const std::byte> without_contents(std::span<const std::byte> message);

  ContentBudget& budget_;
  std::unordered_set<Digest, DigestHash> stored_;
  std::map<std::uint32_t, bool> keeping_;  ///< lane -> the content that is arriving is kept
  bool left_out_ = false;
  std::vector<std::byte> copy_;
};

}  // namespace ulpscope::writer
