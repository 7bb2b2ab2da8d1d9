#include "device/twin.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "core/default_floating_point.hpp"
#include "device/comparison_phases.hpp"
#include "device/digest_phases.hpp"
#include "device/packing.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::device::twin {
namespace {

/// The order in which so many take their turn; if shuffled, different each time.
class Schedule {
 public:
  explicit Schedule(Turns turns) : turns_(turns) {}

  template <class Turn>
  void run(std::uint64_t count, Turn turn) {
    if (turns_ == Turns::forward) {
      for (std::uint64_t i = 0; i < count; ++i) turn(i);
      return;
    }
    std::vector<std::uint64_t> order(count);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    if (turns_ == Turns::backward)
      std::ranges::reverse(order);
    else
      std::ranges::shuffle(order, random_);
    for (const std::uint64_t i : order) turn(i);
  }

 private:
  Turns turns_;
  std::mt19937 random_{20};
};

/// Scratch memory, which begins as zeros.
struct alignas(16) Unit {
  std::byte bytes[16] = {};
};

template <bool kStatistics>
void run_digest_block(const Batch& batch, std::uint64_t block, Schedule& schedule) {
  using Phases = DigestPhases<kStatistics>;
  auto shared = std::make_unique<typename Phases::Shared>();
  const auto each_thread = [&](auto phase) {
    schedule.run(kThreads, [&](std::uint64_t thread) {
      Phases phases(batch, xxh3::kSecret.data(), *shared, block, static_cast<unsigned>(thread));
      phase(phases);
    });
  };
  each_thread([](Phases& phases) { phases.begin(); });
  bool open = true;
  while (open) {
    each_thread([](Phases& phases) { phases.sum(); });
    each_thread([](Phases& phases) { phases.chain(); });
    each_thread([](Phases& phases) { phases.close(); });
    if (!batch.has_trees) return;
    each_thread([](Phases& phases) { phases.arrive(); });
    open = false;
    each_thread([&open](Phases& phases) { open = phases.next() || open; });
  }
}

void run_comparison_block(const Comparison& comparison, std::uint32_t blocks, std::uint32_t block,
                          Schedule& schedule) {
  auto shared = std::make_unique<ComparisonShared>();
  std::vector<PairSums> sums(kCompareThreads);
  const auto each_thread = [&](auto phase) {
    schedule.run(kCompareThreads, [&](std::uint64_t thread) {
      ComparisonPhases phases(comparison, *shared, blocks, block, static_cast<unsigned>(thread),
                              sums[thread]);
      phase(phases);
    });
  };
  using Phases = ComparisonPhases;
  each_thread([](Phases& phases) { phases.begin(); });
  for (std::uint64_t tile = block; tile < comparison.tiles; tile += blocks) {
    each_thread([tile](Phases& phases) { phases.compare(tile); });
    each_thread([](Phases& phases) { phases.combine_squares(); });
    each_thread([tile](Phases& phases) { phases.keep_squares(tile); });
  }
  each_thread([](Phases& phases) { phases.gather_sums(); });
  each_thread([](Phases& phases) { phases.combine_worst(); });
  each_thread([](Phases& phases) { phases.hand_over(); });
  each_thread([](Phases& phases) { phases.arrive(); });
  if (!shared->last) return;
  each_thread([](Phases& phases) { phases.add_blocks(); });
  each_thread([](Phases& phases) {
    phases.combine_squares();
    phases.combine_worst();
  });
  each_thread([](Phases& phases) { phases.finish(); });
}

}  // namespace

Digests digests(std::span<const Value> values, bool statistics, Turns turns) {
  const std::optional<Needs> needs = needs_of(values);
  if (!needs) throw Error(ErrorCode::usage, "Values of these sizes cannot be digested.");
  std::vector<Item> items(needs->items);
  std::vector<Loop> loops(needs->loops + 1);
  plan(values, items.data(), loops.data());

  Digests result;
  result.digests.resize(values.size());
  if (statistics) result.statistics.resize(values.size());
  std::vector<Unit> scratch(needs->scratch_bytes() / sizeof(Unit) + 1);
  Batch batch;
  batch.items = items.data();
  batch.loops = loops.data();
  batch.count = needs->items;
  batch.leaves = needs->leaves;
  batch.has_trees = needs->nodes > 0;
  batch.nodes = Nodes::in(std::as_writable_bytes(std::span(scratch)), statistics);
  batch.results = {result.digests.data(), result.statistics.data(), needs->items, 0};

  const core::DefaultFloatingPoint environment;
  Schedule schedule(turns);
  schedule.run((batch.leaves + kGroups - 1) / kGroups, [&](std::uint64_t block) {
    if (statistics)
      run_digest_block<true>(batch, block, schedule);
    else
      run_digest_block<false>(batch, block, schedule);
  });
  return result;
}

std::vector<std::byte> packed(const Value& value, Turns turns) {
  const std::span<const Value> values(&value, 1);
  const std::optional<Needs> needs = needs_of(values);
  if (!needs) throw Error(ErrorCode::usage, "A value of this size cannot be packed.");
  std::vector<Loop> loops(needs->loops + 1);
  Batch batch;
  batch.loops = loops.data();
  plan(values, batch.own_items.data(), loops.data());
  std::vector<Unit> pieces(pieces_of(batch.own_items[0]));
  Schedule schedule(turns);
  schedule.run(pieces.size(), [&](std::uint64_t piece) {
    pack_piece(batch, reinterpret_cast<Piece*>(pieces.data()), piece);
  });
  const auto bytes = std::as_bytes(std::span(pieces));
  return {bytes.begin(), bytes.end()};
}

DifferenceRecord difference(const Value& reference, const Value& candidate, std::uint32_t blocks,
                            Turns turns) {
  Comparison comparison;
  if (!plan(reference, candidate, comparison) || blocks == 0 || blocks > kMostBlocks)
    throw Error(ErrorCode::usage, "Values of these sizes cannot be compared.");
  std::vector<Unit> scratch(ComparisonScratch::bytes_for(comparison.bytes) / sizeof(Unit) + 1);
  DifferenceRecord record{};
  comparison.scratch = ComparisonScratch::in(std::as_writable_bytes(std::span(scratch)));
  comparison.result = &record;
  const core::DefaultFloatingPoint environment;
  Schedule schedule(turns);
  schedule.run(blocks, [&](std::uint64_t block) {
    run_comparison_block(comparison, blocks, static_cast<std::uint32_t>(block), schedule);
  });
  return record;
}

}  // namespace ulpscope::device::twin
