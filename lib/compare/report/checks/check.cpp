#include "compare/report/checks/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compare/model/words.hpp"
#include "compare/report/checks/batches.hpp"
#include "compare/report/checks/draws.hpp"
#include "compare/report/checks/epochs.hpp"
#include "compare/report/checks/recompute.hpp"
#include "compare/report/checks/unordered.hpp"
#include "compare/report/checks/workers.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] Check without_ops(std::string_view name) {
  return {name, Check::Result::unseen, "only layers were recorded", {}};
}

template <class See>
void for_each_block(const Run& run, std::uint32_t rank, See&& see) {
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t i = 0; i < run.block_count(rank, lane.id); ++i)
      see(lane, run.block(rank, lane.id, i));
}

}  // namespace

std::string_view name(Check::Result result) noexcept {
  switch (result) {
    case Check::Result::ok:
      return "ok";
    case Check::Result::look:
      return "look";
    case Check::Result::unseen:
      return "unseen";
  }
  return "?";
}

std::vector<Check> check_rank(const Run& run, std::uint32_t rank) {
  BatchCollector batches;
  OrderCollector orders;
  DrawCollector draws;
  UnorderedCollector unordered;
  RecomputeCollector recompute;
  bool ops = false;
  for_each_block(run, rank, [&](const Lane& lane, const Block& block) {
    batches.see(lane, block);
    orders.see(lane, block);
    draws.see(lane, block);
    unordered.see(lane, block);
    recompute.see(lane, block);
    for (const Event& event : block.events) ops = ops || event.kind == EventKind::op;
  });
  const std::vector<Batch> read = batches.take();
  const Epochs epochs = epochs_of(run.environment(rank), orders.orders(), read);
  return {ops ? draws.check_seeds() : without_ops("seeds"),
          ops ? draws.check_generators() : without_ops("generators"),
          check_epochs(epochs, read),
          check_order(epochs, read),
          check_batches(epochs, read),
          ops ? unordered.check() : without_ops("ops"),
          ops ? recompute.check() : without_ops("recompute")};
}

Check check_replicas(const Run& run) {
  Check check{"replicas", Check::Result::ok, "no two ranks train", {}};
  const auto ranks = run.ranks();
  if (ranks.size() < 2) return check;
  std::map<std::int64_t, std::vector<std::int64_t>> samples;  // by step, rank after rank
  std::size_t training = 0;                                   // ranks, beside those that load data
  for (const std::uint32_t rank : ranks) {
    BatchCollector batches;
    for_each_block(run, rank,
                   [&](const Lane& lane, const Block& block) { batches.see(lane, block); });
    bool trains = !is_created(run, rank);
    for (const Batch& batch : batches.take()) {
      if (batch.samples) samples[batch.step].push_back(*batch.samples);
      trains = trains || batch.samples;
    }
    training += trains ? 1 : 0;
  }
  if (training < 2) return check;
  std::uint64_t uneven = 0;
  for (const auto& [step, sizes] : samples) {
    const bool even =
        std::all_of(sizes.begin(), sizes.end(),
                    [first = sizes.front()](std::int64_t size) { return size == first; });
    if (even && sizes.size() == training) continue;
    if (++uneven > 4) continue;
    std::vector<std::string> words;
    for (const std::int64_t size : sizes) words.push_back(std::to_string(size));
    check.details.push_back(fmt::format("step {}: {} samples in {}", step, listed(words, 16),
                                        core::counted(sizes.size(), "rank")));
  }
  if (uneven == 0) {
    check.text = samples.empty() ? "the ranks read no data from outside in a training step"
                                 : "all ranks work on equally many samples";
    return check;
  }
  check.result = Check::Result::look;
  check.text = fmt::format(
      "in {} the ranks do not work on equally many samples: a mean over the ranks weighs samples "
      "differently",
      core::counted(uneven, "step"));
  return check;
}

}  // namespace ulpscope::comparison
