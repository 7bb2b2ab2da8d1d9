#include "compare/diff/shared_tasks.hpp"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "compare/align/task_ranks.hpp"
#include "compare/align/worker_job.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

/// Events by content: by how many the reference has more of them than the candidate.
using Balance = std::unordered_map<std::uint64_t, std::int64_t>;

[[nodiscard]] bool is_work(const Event& event) {
  return event.kind == EventKind::op || event.kind == EventKind::module;
}

/// Equal for events that did the same with the same values.
[[nodiscard]] std::uint64_t key_of_work(const Event& event) {
  KeyHash hash;
  hash.add(structure_key(event, Place::ignored)).add(input_key(event)).add(output_key(event));
  if (event.kind == EventKind::op) hash.add(argument_key(event));
  if (event.flags & event_flag::seeded && event.rng.before != event.rng.after)
    hash.add(event.rng.before);
  return hash.value();
}

void count_work(const Event& event, Side side, Totals& totals, Balance& balance) {
  std::int64_t& more = balance[key_of_work(event)];
  const bool has_equal = side == Side::candidate && more > 0;
  more += side == Side::reference ? 1 : -1;
  if (has_equal) {
    ++totals.coverage.aligned;
    totals.values += static_cast<std::uint64_t>(
        std::count_if(event.slots.begin(), event.slots.end(), holds_digest));
  }
  if (event.kind != EventKind::op) return;
  ++on(totals.ops, side);
  if (has_equal) ++totals.aligned_ops;
  for (const Slot& slot : event.slots) {
    if (slot.role != Role::input || !holds_digest(slot)) continue;
    ++on(totals.reads, side);
    on(totals.verified, side) += slot.flags & slot_flag::verified ? 1 : 0;
  }
}

void count_work_of(const Run& run, std::uint32_t rank, Side side, Totals& totals,
                   Balance& balance) {
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index) {
      const Block block = run.block(rank, lane.id, index);
      for (const Event& event : block.events)
        if (is_work(event)) count_work(event, side, totals, balance);
    }
}

}  // namespace

std::uint64_t compare_shared_tasks(const Both<const Run*>& runs, Totals& totals) {
  const Both<std::set<std::uint32_t>> ranks = task_ranks(runs);
  Balance balance;
  for (const Side side : kSides)
    for (const std::uint32_t rank : on(ranks, side))
      count_work_of(*on(runs, side), rank, side, totals, balance);
  std::uint64_t left = 0;
  for (const auto& [content, more] : balance) {
    const auto alone = static_cast<std::uint64_t>(std::abs(more));
    (more > 0 ? totals.coverage.only_reference : totals.coverage.only_candidate) += alone;
    left += alone;
  }
  return left;
}

}  // namespace ulpscope::comparison
