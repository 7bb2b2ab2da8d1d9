#include "device/batch.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

namespace ulpscope::device {
namespace {

[[nodiscard]] std::uint64_t leaves_of(std::uint64_t bytes) noexcept {
  return bytes == 0 ? 1 : (bytes - 1) / kLeafBytes + 1;
}

/// Digests that are kept of a tree's nodes, and nodes above the leaves.
struct TreeSize {
  std::uint64_t digests = 0;
  std::uint32_t inner = 0;
};

[[nodiscard]] TreeSize tree_size(std::uint64_t bytes) noexcept {
  TreeSize size;
  for (std::uint64_t nodes = leaves_of(bytes); nodes > 1;) {
    size.digests += nodes;
    nodes = (nodes - 1) / kFanOut + 1;
    size.inner += static_cast<std::uint32_t>(nodes);
  }
  return size;
}

/// The largest power of two up to 8 that divides addresses, steps and lengths.
[[nodiscard]] std::uint8_t unit_of(const Item& item, std::span<const core::Walk::Loop> loops) {
  std::uint64_t bits = 8 | reinterpret_cast<std::uintptr_t>(item.data) | item.run.value();
  for (const core::Walk::Loop& loop : loops) bits |= static_cast<std::uint64_t>(loop.stride);
  return static_cast<std::uint8_t>(bits & (0 - bits));
}

[[nodiscard]] constexpr std::size_t bytes_of_node(bool totals) noexcept {
  return sizeof(Piece) + (totals ? sizeof(StatisticsTotals) : 0);
}

/// Arrivals take this share of all memory: a node that others arrive at has at least two of them,
/// which is a number of 4 bytes to 32 bytes of digests.
constexpr std::size_t kShare = 9;

}  // namespace

std::size_t Nodes::bytes_for(std::uint64_t nodes, bool totals) noexcept {
  const std::size_t behind_arrivals = (nodes + 8) * bytes_of_node(totals);
  return (behind_arrivals / (kShare - 1) + 1) * kShare / sizeof(Piece) * sizeof(Piece) +
         2 * sizeof(Piece);
}

Nodes Nodes::in(std::span<std::byte> scratch, bool totals) noexcept {
  const std::size_t size = scratch.size() / sizeof(Piece) * sizeof(Piece);
  const std::size_t arrivals = size / kShare / sizeof(Piece) * sizeof(Piece);
  Nodes nodes;
  const std::size_t numbered = arrivals / sizeof(std::uint32_t) * 2;
  nodes.capacity = std::min(numbered, (size - arrivals) / bytes_of_node(totals)) / 8 * 8;
  nodes.arrivals = reinterpret_cast<std::uint32_t*>(scratch.data());
  nodes.digests = reinterpret_cast<Piece*>(scratch.data() + arrivals);
  if (totals)
    nodes.totals = reinterpret_cast<StatisticsTotals*>(scratch.data() + size -
                                                       nodes.capacity * sizeof(StatisticsTotals));
  return nodes;
}

std::optional<Needs> needs_of(std::span<const Value> values) noexcept {
  if (values.size() > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  Needs needs;
  needs.items = static_cast<std::uint32_t>(values.size());
  for (const Value& value : values) {
    if (value.bytes.sizes.size() != value.bytes.strides.size()) return std::nullopt;
    const std::size_t bytes = packed_size(value.bytes);
    if (bytes == core::kTooLarge) return std::nullopt;
    if (bytes > 0)
      needs.loops +=
          static_cast<std::uint32_t>(core::Walk(value.bytes, value.order).loops().size());
    needs.leaves += leaves_of(bytes);
    needs.nodes += tree_size(bytes).digests;
  }
  return needs;
}

void plan(std::span<const Value> values, Item* items, Loop* loops) noexcept {
  Item next;  // what the values before it have taken
  for (const Value& value : values) {
    Item& item = *items++ = next;
    item.data = value.bytes.data;
    item.dtype = value.dtype;
    item.bytes = packed_size(value.bytes);
    if (item.bytes > 0) {
      const core::Walk walk(value.bytes, value.order);
      item.run = Divisor(walk.run_bytes());
      item.loops = static_cast<std::uint8_t>(walk.loops().size());
      item.unit = unit_of(item, walk.loops());
      item.plain =
          walk.loops().empty() && reinterpret_cast<std::uintptr_t>(item.data) % sizeof(Piece) == 0;
      for (const core::Walk::Loop& loop : walk.loops())
        *loops++ = {Divisor(loop.count), loop.stride};
    }
    const TreeSize tree = tree_size(item.bytes);
    next.first_leaf += leaves_of(item.bytes);
    next.first_node += tree.digests;
    next.first_counter += tree.inner;
    next.first_loop += item.loops;
  }
}

}  // namespace ulpscope::device
