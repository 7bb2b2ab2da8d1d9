#pragma once

#include <cstddef>
#include <cstdint>

#include "device/batch.hpp"
#include "device/gather.hpp"
#include "device/number_sums.hpp"
#include "device/xxh3.hpp"

/// The digests (lib/core/DIGEST.md) and statistics of a batch, divided into phases that each thread
/// of a block runs between two barriers. Kernels and the CPU twin run the same phases; threads of a
/// phase may run in any order, and so may blocks.
///
/// Sixteen threads share a leaf: one for each pair of lanes in each of its blocks of 1 KiB. The
/// sixteen leaves of a thread block follow each other in the batch, whichever values they belong
/// to. A node above the leaves is hashed by those sixteen threads whose leaf arrived last.
namespace ulpscope::device {

inline constexpr unsigned kBlocksInLeaf = kLeafBytes / (xxh3::kBlockStripes * xxh3::kStripeBytes);
inline constexpr unsigned kGroupThreads = kBlocksInLeaf * xxh3::kPairs;
inline constexpr unsigned kGroups = 16;
inline constexpr unsigned kThreads = kGroups * kGroupThreads;

/// Sixteen threads' node: a leaf of a value, or a node above.
struct Group {
  bool open = false;     // there is a node to hash
  bool arrived = false;  // its digest waits at a node above
  bool last = false;     // and so do those of all its neighbors
  std::uint32_t item = 0;
  std::uint32_t level = 0;  // 0: a leaf
  std::uint32_t bytes = 0;
  std::uint32_t arrival = 0;      // which node above
  std::uint32_t neighbours = 0;   // digests that it holds
  std::uint64_t index = 0;        // among the nodes of the level
  const Piece* pieces = nullptr;  // null: to be gathered
  Piece sums[kGroupThreads];      // of each thread's stripes; of short leaves the bytes
  Piece merged[xxh3::kPairs];
};

/// What a block's threads share.
template <bool kStatistics>
struct DigestShared {
  xxh3::Secret secret;
  Group groups[kGroups];
  StatisticsTotals totals[kStatistics ? kThreads : 1];
};

/// Digests of one level of a value's tree, and where they are.
struct Level {
  std::uint64_t nodes = 0;
  std::uint64_t first_node = 0;
  std::uint32_t first_arrival = 0;  // of the level above
};

ULPSCOPE_HOST_DEVICE inline Level level_of(const Item& item, unsigned level) {
  Level found{(item.bytes + kLeafBytes - 1) / kLeafBytes, item.first_node, item.first_counter};
  for (; level > 0; --level) {
    found.first_node += found.nodes;
    found.nodes = (found.nodes + kFanOut - 1) / kFanOut;
    found.first_arrival += static_cast<std::uint32_t>(found.nodes);
  }
  return found;
}

template <bool kStatistics>
class DigestPhases {
 public:
  using Shared = DigestShared<kStatistics>;

  ULPSCOPE_HOST_DEVICE DigestPhases(const Batch& batch, const std::uint64_t* secret, Shared& shared,
                                    std::uint64_t block, unsigned thread)
      : batch_(batch),
        secret_(secret),
        shared_(shared),
        block_(block),
        thread_(thread),
        place_(thread % kGroupThreads),
        group_(shared.groups[thread / kGroupThreads]) {}

  /// Finds the leaves. A barrier of the block follows.
  ULPSCOPE_HOST_DEVICE void begin() {
    if (thread_ < shared_.secret.size()) shared_.secret[thread_] = secret_[thread_];
    if (place_ != 0) return;
    const std::uint64_t leaf = block_ * kGroups + thread_ / kGroupThreads;
    group_.open = leaf < batch_.leaves;
    if (!group_.open) return;
    group_.item = item_of(leaf);
    const Item& item = items_of(batch_)[group_.item];
    group_.level = 0;
    group_.index = leaf - item.first_leaf;
    const std::uint64_t position = group_.index * kLeafBytes;
    const std::uint64_t rest = item.bytes - position;
    group_.bytes = static_cast<std::uint32_t>(rest < kLeafBytes ? rest : kLeafBytes);
    group_.pieces = item.plain ? reinterpret_cast<const Piece*>(item.data + position) : nullptr;
  }

  /// Adds up stripes. A barrier of the group follows.
  ULPSCOPE_HOST_DEVICE void sum() {
    if (!group_.open) return;
    if (group_.level > 0)
      sum_nodes();
    else if (group_.bytes == kLeafBytes && group_.pieces != nullptr)
      sum_whole_leaf();
    else
      sum_any_leaf();
  }

  /// One thread for each pair of lanes follows the chain of scrambles. A barrier of the group
  /// follows.
  ULPSCOPE_HOST_DEVICE void chain() {
    if (!group_.open || place_ >= xxh3::kPairs) return;
    const unsigned pair = place_;
    if (group_.bytes > xxh3::kShortBytes) {
      const unsigned last = stripes() / xxh3::kBlockStripes;
      Piece lanes = xxh3::initial(pair);
      for (unsigned block = 0; block <= last; ++block) {
        const Piece& sum = group_.sums[block * xxh3::kPairs + pair];
        lanes.low += sum.low;
        lanes.high += sum.high;
        if (block < last) xxh3::scramble(lanes, pair, shared_.secret.data());
      }
      group_.merged[pair] = xxh3::merged(lanes, pair, shared_.secret.data());
    }
    if constexpr (kStatistics)
      for (unsigned block = 1; block < kBlocksInLeaf; ++block)
        shared_.totals[thread_].add(shared_.totals[thread_ + block * xxh3::kPairs]);
  }

  /// The node's digest is known: it is the result, or waits for its neighbors. If values have
  /// several leaves, a barrier of the block follows.
  ULPSCOPE_HOST_DEVICE void close() {
    if (place_ != 0) return;
    group_.arrived = false;
    if (!group_.open) return;
    const Piece hash = node_hash();
    if constexpr (kStatistics)
      for (unsigned pair = 1; pair < xxh3::kPairs; ++pair)
        shared_.totals[thread_].add(shared_.totals[thread_ + pair]);

    const Item& item = items_of(batch_)[group_.item];
    if (item.bytes <= kLeafBytes) return give(hash);
    const Level level = level_of(item, group_.level);
    if (level.nodes == 1)
      return give(xxh3::of_9_to_16(&hash.low, sizeof(hash), shared_.secret.data(), item.bytes));
    batch_.nodes.digests[level.first_node + group_.index] = hash;
    if constexpr (kStatistics)
      batch_.nodes.totals[level.first_node + group_.index] = shared_.totals[thread_];
    const std::uint64_t parent = group_.index / kFanOut;
    const std::uint64_t rest = level.nodes - parent * kFanOut;
    group_.arrived = true;
    group_.arrival = level.first_arrival + static_cast<std::uint32_t>(parent);
    group_.neighbours = static_cast<std::uint32_t>(rest < kFanOut ? rest : kFanOut);
  }

  /// Notifies nodes above of what has arrived: once for all consecutive groups of a block. `next`
  /// follows without a barrier: it changes nothing that is read here.
  ULPSCOPE_HOST_DEVICE void arrive() {
    if (place_ != 0) return;
    group_.last = false;
    if (!group_.arrived) return;
    const unsigned self = thread_ / kGroupThreads;
    if (self > 0 && arrives_with(shared_.groups[self - 1])) return;
    std::uint32_t count = 1;
    while (self + count < kGroups && arrives_with(shared_.groups[self + count])) ++count;
    fence();
    std::uint32_t* arrivals = batch_.nodes.arrivals + group_.arrival;
    group_.last = add_atomically(arrivals, count) + count == group_.neighbours;
    if (!group_.last) return;
    *arrivals = 0;
    fence();
  }

  /// Takes on the node above, where this group came last. True if there is one. A barrier of the
  /// block follows, and then `sum` again unless no group of the block has a node.
  ULPSCOPE_HOST_DEVICE bool next() {
    if (place_ != 0) return false;
    group_.open = group_.last;
    if (!group_.open) return false;
    const Level below = level_of(items_of(batch_)[group_.item], group_.level);
    ++group_.level;
    group_.index /= kFanOut;
    group_.bytes = group_.neighbours * static_cast<std::uint32_t>(sizeof(Piece));
    group_.pieces = batch_.nodes.digests + below.first_node + group_.index * kFanOut;
    return true;
  }

 private:
  /// The value that a leaf of the batch belongs to.
  ULPSCOPE_HOST_DEVICE std::uint32_t item_of(std::uint64_t leaf) const {
    const Item* items = items_of(batch_);
    std::uint32_t first = 0;
    std::uint32_t end = batch_.count;
    while (end - first > 1) {
      const std::uint32_t middle = first + (end - first) / 2;
      if (items[middle].first_leaf <= leaf)
        first = middle;
      else
        end = middle;
    }
    return first;
  }

  /// Stripes that come before the last one, which ends where the node does.
  ULPSCOPE_HOST_DEVICE unsigned stripes() const { return (group_.bytes - 1) / xxh3::kStripeBytes; }

  ULPSCOPE_HOST_DEVICE unsigned pair() const { return place_ % xxh3::kPairs; }
  ULPSCOPE_HOST_DEVICE unsigned block_of_leaf() const { return place_ / xxh3::kPairs; }

  /// A leaf of full size whose pieces are aligned: what nearly all leaves are.
  ULPSCOPE_HOST_DEVICE void sum_whole_leaf() {
    if constexpr (kStatistics) {
      NumberSums sums;
      with_numbers(items_of(batch_)[group_.item].dtype, [&](auto numbers) {
        sum_whole_leaf<4>([&](const Piece& piece) { sums.add_piece(numbers, piece); });
      });
      shared_.totals[thread_] = sums.totals();
    } else {
      sum_whole_leaf<8>([](const Piece&) {});
    }
  }

  /// So many loads are in flight at once.
  template <unsigned kLoads, class Look>
  ULPSCOPE_HOST_DEVICE void sum_whole_leaf(Look look) {
    constexpr unsigned kStripes = xxh3::kBlockStripes;
    const bool ends_leaf = block_of_leaf() == kBlocksInLeaf - 1;
    const Piece* from = group_.pieces + block_of_leaf() * kStripes * xxh3::kPairs + pair();
    const std::uint64_t* keys = shared_.secret.data() + 2 * pair();
    const Piece last_keys = ends_leaf ? xxh3::last_keys(pair(), shared_.secret.data())
                                      : Piece{keys[kStripes - 1], keys[kStripes]};
    Piece sum;
    ULPSCOPE_KEEP_LOOP
    for (unsigned left = kStripes; left > 0; left -= kLoads) {
      Piece loaded[kLoads];
      ULPSCOPE_UNROLL
      for (unsigned i = 0; i < kLoads; ++i) loaded[i] = load_piece(from + i * xxh3::kPairs);
      ULPSCOPE_UNROLL
      for (unsigned i = 0; i < kLoads; ++i) {
        const bool is_last = i == kLoads - 1 && left == kLoads;
        xxh3::add_stripe(sum, loaded[i], is_last ? last_keys.low : keys[i],
                         is_last ? last_keys.high : keys[i + 1]);
        look(loaded[i]);
      }
      from += kLoads * xxh3::kPairs;
      keys += kLoads;
    }
    group_.sums[place_] = sum;
  }

  /// A leaf of any size and layout, piece by piece.
  ULPSCOPE_HOST_DEVICE void sum_any_leaf() {
    const Item& item = items_of(batch_)[group_.item];
    const Loop* loops = loops_of(batch_, item);
    const std::uint64_t leaf = group_.index * kLeafBytes;
    NumberSums sums;
    const auto take = [&](unsigned position, unsigned size) {
      const Piece piece = gather(item, loops, leaf + position, size);
      if constexpr (kStatistics)
        with_numbers(item.dtype, [&](auto numbers) { sums.add_piece(numbers, piece, size); });
      return piece;
    };

    if (group_.bytes <= xxh3::kShortBytes) {
      const unsigned position = place_ * static_cast<unsigned>(sizeof(Piece));
      if (position < group_.bytes) group_.sums[place_] = take(position, piece_bytes(position));
    } else {
      const unsigned first = block_of_leaf() * xxh3::kBlockStripes;
      const unsigned end = stripes();
      Piece sum;
      ULPSCOPE_KEEP_LOOP
      for (unsigned i = 0; i < xxh3::kBlockStripes && first + i < end; ++i) {
        const std::uint64_t* keys = shared_.secret.data() + i + 2 * pair();
        xxh3::add_stripe(sum, take(position_in(first + i), sizeof(Piece)), keys[0], keys[1]);
      }
      if (block_of_leaf() == end / xxh3::kBlockStripes) {
        // The last stripe overlaps the one before it, but no number counts twice.
        const unsigned last = group_.bytes - xxh3::kStripeBytes + position_in(0);
        add_last_stripe(sum, gather(item, loops, leaf + last, sizeof(Piece)));
        const unsigned position = position_in(end);
        if (kStatistics && position < group_.bytes) take(position, piece_bytes(position));
      }
      group_.sums[place_] = sum;
    }
    if constexpr (kStatistics) shared_.totals[thread_] = sums.totals();
  }

  ULPSCOPE_HOST_DEVICE void add_last_stripe(Piece& sum, const Piece& piece) const {
    const Piece keys = xxh3::last_keys(pair(), shared_.secret.data());
    xxh3::add_stripe(sum, piece, keys.low, keys.high);
  }

  /// Where this thread's piece of a stripe is in the leaf.
  ULPSCOPE_HOST_DEVICE unsigned position_in(unsigned stripe) const {
    return stripe * xxh3::kStripeBytes + pair() * static_cast<unsigned>(sizeof(Piece));
  }
  /// How much of a piece is in the leaf.
  ULPSCOPE_HOST_DEVICE unsigned piece_bytes(unsigned position) const {
    const unsigned rest = group_.bytes - position;
    return rest < sizeof(Piece) ? rest : static_cast<unsigned>(sizeof(Piece));
  }

  /// A node above leaves: whole pieces, which other blocks have written.
  ULPSCOPE_HOST_DEVICE void sum_nodes() {
    if (group_.bytes > xxh3::kShortBytes)
      sum_stripes_of_nodes();
    else if (place_ < group_.neighbours)
      group_.sums[place_] = node_piece(place_);
    if constexpr (kStatistics) add_totals_of_nodes();
  }

  ULPSCOPE_HOST_DEVICE void sum_stripes_of_nodes() {
    constexpr unsigned kLoads = 8;
    const bool ends_node = block_of_leaf() == stripes() / xxh3::kBlockStripes;
    Piece last;
    if (ends_node) last = node_piece(group_.neighbours - xxh3::kPairs + pair());
    Piece sum;
    ULPSCOPE_KEEP_LOOP
    for (unsigned first = 0; first < xxh3::kBlockStripes; first += kLoads) {
      const unsigned stripe = block_of_leaf() * xxh3::kBlockStripes + first;
      Piece loaded[kLoads];
      ULPSCOPE_UNROLL
      for (unsigned i = 0; i < kLoads; ++i)
        if (stripe + i < stripes()) loaded[i] = node_piece((stripe + i) * xxh3::kPairs + pair());
      const std::uint64_t* keys = shared_.secret.data() + first + 2 * pair();
      ULPSCOPE_UNROLL
      for (unsigned i = 0; i < kLoads; ++i)
        if (stripe + i < stripes()) xxh3::add_stripe(sum, loaded[i], keys[i], keys[i + 1]);
    }
    if (ends_node) add_last_stripe(sum, last);
    group_.sums[place_] = sum;
  }

  ULPSCOPE_HOST_DEVICE Piece node_piece(unsigned node) const {
    return load_written_piece(group_.pieces + node);
  }

  ULPSCOPE_HOST_DEVICE void add_totals_of_nodes() {
    const StatisticsTotals* totals = totals_of_nodes();
    StatisticsTotals sums;
    for (unsigned i = 0; i < xxh3::kBlockStripes; ++i) {
      const unsigned stripe = block_of_leaf() * xxh3::kBlockStripes + i;
      const unsigned node = stripe * xxh3::kPairs + pair();
      if (node < group_.neighbours) sums.add(totals[node]);
    }
    shared_.totals[thread_] = sums;
  }

  ULPSCOPE_HOST_DEVICE const StatisticsTotals* totals_of_nodes() const {
    return batch_.nodes.totals + (group_.pieces - batch_.nodes.digests);
  }

  ULPSCOPE_HOST_DEVICE Piece node_hash() const {
    if (group_.bytes <= xxh3::kShortBytes)
      return xxh3::of_short(&group_.sums[0].low, group_.bytes, shared_.secret.data());
    Piece sum;
    for (const Piece& merged : group_.merged) {
      sum.low += merged.low;
      sum.high += merged.high;
    }
    return xxh3::finish_long(sum, group_.bytes);
  }

  ULPSCOPE_HOST_DEVICE void give(const Piece& hash) {
    const std::uint32_t capacity = batch_.results.capacity;
    const auto place =
        static_cast<std::uint32_t>((std::uint64_t{batch_.results.first} + group_.item) % capacity);
    batch_.results.digests[place] = {hash.high, hash.low};
    if constexpr (kStatistics) batch_.results.statistics[place] = shared_.totals[thread_];
    if (batch_.results.done != nullptr) publish(batch_.results.done + place, batch_.results.mark);
  }

  ULPSCOPE_HOST_DEVICE bool arrives_with(const Group& other) const {
    return other.arrived && other.arrival == group_.arrival;
  }

  const Batch& batch_;
  const std::uint64_t* secret_;
  Shared& shared_;
  std::uint64_t block_;
  unsigned thread_;
  unsigned place_;
  Group& group_;
};

}  // namespace ulpscope::device
