#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "dump/bytes.hpp"
#include "dump/segment_tables.hpp"

namespace ulpscope::dump {

/// Statistics that came through a rank's rings, until a block of the current segment refers to
/// them. The latest kMost are kept: a value that recurs after more than that has its statistics in
/// an earlier segment.
class StatisticsStore {
 public:
  static constexpr std::size_t kMost = 1U << 18;

  /// `message` is a whole StatisticsMessage. False if it cannot be right.
  [[nodiscard]] bool take(std::span<const std::byte> message);

  /// Enters the value's statistics into the segment's table, unless they are already there or
  /// unknown.
  void require(const ValueKey& value, std::vector<StatisticsRow>& table);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

  /// A segment was published: the next one has an empty table.
  void begin_segment();

  /// Those that no segment holds, as messages.
  [[nodiscard]] std::vector<std::byte> unpublished() const;

 private:
  struct Entry {
    StatisticsRow row{};
    bool in_segment = false;  ///< the current one
    bool published = false;   ///< an earlier one
  };

  std::unordered_map<ValueKey, Entry, ValueKeyHash> entries_;
  std::deque<ValueKey> order_;  ///< oldest first
};

}  // namespace ulpscope::dump
