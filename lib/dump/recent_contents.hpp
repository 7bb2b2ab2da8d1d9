#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "dump/segment_tables.hpp"

namespace ulpscope::dump {

/// The most recent contents, in a fixed amount of memory: a content arrives before the events that
/// say whether it belongs to a layer. The oldest leave when space is needed.
class RecentContents {
 public:
  struct Content {
    Digest digest;
    std::span<const std::byte> bytes;
  };
  /// Takes contents that leave and are not stored yet, oldest first.
  using Leave = std::function<void(std::span<const Content>)>;

  /// `largest`: the maximum size of a content, at most half the capacity.
  RecentContents(std::size_t capacity, std::size_t largest, Leave leave);

  /// Room for a content whose bytes are to come, or nothing if it is too large.
  /// @returns its number, for fill(), complete() and abandon().
  [[nodiscard]] std::optional<std::uint64_t> reserve(const Digest& digest, std::uint64_t bytes);
  void fill(std::uint64_t number, std::uint64_t offset, std::span<const std::byte> bytes);
  void complete(std::uint64_t number);
  void abandon(std::uint64_t number);

  /// Bytes of a complete content; valid until the next reserve().
  [[nodiscard]] std::optional<std::span<const std::byte>> find(const Digest& digest) const;
  /// The content is in the segment: it need not be stored when it leaves.
  void mark_stored(const Digest& digest);
  /// All leave.
  void clear();
  /// Bytes that are not stored yet.
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept { return waiting_bytes_; }

 private:
  struct Entry {
    Digest digest;
    std::size_t at = 0;
    std::size_t bytes = 0;
    bool complete = false;
    bool stored = false;
  };

  [[nodiscard]] std::optional<std::size_t> find_room(std::size_t bytes);
  [[nodiscard]] bool make_room(std::size_t bytes);
  [[nodiscard]] Entry& entry(std::uint64_t number) { return entries_[number - first_]; }
  void set_stored(Entry& entry);

  std::size_t capacity_;
  std::size_t largest_;
  Leave leave_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t end_ = 0;        ///< of the newest entry; they follow each other, round and round
  std::deque<Entry> entries_;  ///< oldest first
  std::uint64_t first_ = 0;    ///< number of entries_.front()
  std::unordered_map<Digest, std::uint64_t, DigestHash> complete_;
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace ulpscope::dump
