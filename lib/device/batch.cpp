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

}  // namespace

std::size_t Nodes::bytes_for(std::uint64_t nodes) noexcept {
  const std::uint64_t rounded = (nodes + 7) / 8 * 8;
  // A node that others arrive at has two of them at least.
  return rounded / 2 * sizeof(std::uint32_t) + rounded * (sizeof(Piece) + sizeof(StatisticsTotals));
}

Nodes Nodes::in(std::span<std::byte> scratch) noexcept {
  Nodes nodes;
  nodes.capacity = scratch.size() / (bytes_for(8) / 8) / 8 * 8;
  std::byte* at = scratch.data();
  nodes.arrivals = reinterpret_cast<std::uint32_t*>(at);
  at += nodes.capacity / 2 * sizeof(std::uint32_t);
  nodes.digests = reinterpret_cast<Piece*>(at);
  at += nodes.capacity * sizeof(Piece);
  nodes.totals = reinterpret_cast<StatisticsTotals*>(at);
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
