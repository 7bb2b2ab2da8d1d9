#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/walk.hpp"
#include "device/divisor.hpp"
#include "device/statistics_totals.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/dtype.hpp"

/// A batch of values as kernels read it: planned on the host, without an allocation, in memory that
/// the caller provides.
namespace ulpscope::device {

/// A value in the memory of the device (of the host for the CPU twin). Nothing is kept of the
/// spans.
struct Value {
  StridedBytes bytes;
  Dtype dtype = Dtype::undefined;  ///< needed only by statistics
  core::Order order = core::Order::memory;
};

inline constexpr unsigned kLeafBytes = 4096;
inline constexpr unsigned kFanOut = 256;  // digests that fill a leaf

/// A loop around runs of adjacent bytes.
struct Loop {
  Divisor count;
  std::int64_t stride = 0;  // bytes
};

/// One value of a batch.
struct Item {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;       // packed
  Divisor run;                   // adjacent bytes; all of them if there is no loop
  std::uint64_t first_leaf = 0;  // among the leaves of the batch
  std::uint64_t first_node = 0;  // where digests of its leaves are; only if it has several
  std::uint32_t first_counter = 0;
  std::uint32_t first_loop = 0;
  std::uint8_t loops = 0;  // outermost first
  std::uint8_t unit = 1;   // bytes that are always aligned and adjacent: 1, 2, 4 or 8
  bool plain = false;      // one run, aligned to pieces
  Dtype dtype = Dtype::undefined;
};

/// Room for the digests, totals and arrivals of a tree's nodes, in scratch memory.
struct Nodes {
  std::uint32_t* arrivals = nullptr;  // all 0 between batches
  Piece* digests = nullptr;
  StatisticsTotals* totals = nullptr;
  std::uint64_t capacity = 0;  // digests

  /// How much scratch memory so many nodes take, and how many fit into it; with totals or without.
  /// The place of arrivals depends only on the size, so that they stay where they were found to be
  /// 0; digests come after them, totals at the end.
  [[nodiscard]] static std::size_t bytes_for(std::uint64_t nodes, bool totals) noexcept;
  [[nodiscard]] static Nodes in(std::span<std::byte> scratch, bool totals) noexcept;
};

/// Where results go: the digest and the statistics of value i to place (first + i) % capacity.
struct Results {
  Digest* digests = nullptr;
  StatisticsTotals* statistics = nullptr;  ///< null: no statistics are taken
  std::uint32_t capacity = 0;
  std::uint32_t first = 0;
  std::uint32_t* done = nullptr;  ///< not null: `mark` is written to the same place of it, last
  std::uint32_t mark = 0;
};

/// The kernel's parameter. Small batches fit in it completely, so that nothing needs to be copied
/// before the launch or to outlive it.
struct Batch {
  static constexpr std::size_t kItems = 16;
  static constexpr std::size_t kLoops = 32;

  const Item* items = nullptr;  // null: `own_items`
  const Loop* loops = nullptr;  // likewise
  std::uint32_t count = 0;
  bool has_trees = false;  // some value has more than one leaf
  std::uint64_t leaves = 0;
  Nodes nodes;
  Results results;
  std::array<Item, kItems> own_items;
  std::array<Loop, kLoops> own_loops;
};

/// What a batch needs.
struct Needs {
  std::uint32_t items = 0;
  std::uint32_t loops = 0;
  std::uint64_t leaves = 0;
  std::uint64_t nodes = 0;

  [[nodiscard]] bool fits_inside() const noexcept {
    return items <= Batch::kItems && loops <= Batch::kLoops;
  }
  /// Memory for items and loops, 0 if they fit into a Batch.
  [[nodiscard]] std::size_t staging_bytes() const noexcept {
    return fits_inside() ? 0 : items * sizeof(Item) + loops * sizeof(Loop);
  }
  /// Enough for digests and statistics.
  [[nodiscard]] std::size_t scratch_bytes() const noexcept { return Nodes::bytes_for(nodes, true); }
};

/// Empty if the elements of a value are beyond all memory, sizes and strides do not match, or there
/// are too many values.
[[nodiscard]] std::optional<Needs> needs_of(std::span<const Value> values) noexcept;

/// Writes items and loops of values with these needs.
void plan(std::span<const Value> values, Item* items, Loop* loops) noexcept;

}  // namespace ulpscope::device
