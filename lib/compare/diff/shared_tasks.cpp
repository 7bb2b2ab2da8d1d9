#include "compare/diff/shared_tasks.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/align/worker_job.hpp"
#include "compare/model/content.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/rank_events.hpp"
#include "compare/model/structure.hpp"
#include "compare/model/words.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

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

/// Memory of a process that ends, with a content that no op shows.
[[nodiscard]] bool shows_content(const Event& event, const Slot& slot) {
  if (slot.flags & slot_flag::no_digest) return false;
  const bool is_outcome = event.kind == EventKind::outcome;
  if (!is_outcome && event.op != kFreedParameters) return false;
  if (slot.flags & (slot_flag::changed | slot_flag::unproduced)) return true;
  return event.op == kEndOfTask && !(slot.flags & slot_flag::verified);
}

class SharedTasks {
 public:
  explicit SharedTasks(Totals& totals) : totals_(totals) {}

  /// @param shared it has no partner that its events are compared with
  void read(const Run& run, std::uint32_t rank, Side side, bool shared) {
    bool ends = false;
    Writers writers;
    std::vector<Outcome> outcomes;
    for (const Lane& lane : run.lanes(rank))
      for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index) {
        const Block block = run.block(rank, lane.id, index);
        for (const Event& event : block.events) {
          ends = ends || (event.kind == EventKind::outcome && is_end(event.op));
          if (is_work(event)) {
            const std::uint64_t key = key_of_work(event);
            writers.emplace(std::pair(lane.id, event.position), key);
            if (shared) count_work(event, key, side);
          }
          for (const Slot& slot : event.slots)
            if (shows_content(event, slot))
              outcomes.push_back({content_of(slot),
                                  {slot.writer_lane, slot.writer},
                                  (slot.flags & slot_flag::uninitialised) != 0,
                                  (slot.flags & slot_flag::freed) != 0 && event.op != kEndOfRun});
        }
      }
    for (const Outcome& outcome : outcomes) {
      const auto writer = writers.find(outcome.writer);
      const Left left(outcome.content, writer == writers.end() ? 0 : writer->second);
      if (outcome.freed)
        freed_[left] += side == Side::reference ? 1 : -1;
      else
        on(outcome.unfilled ? unfilled_ : left_, side).insert(left);
    }
    bool& known = on(totals_.outcomes.known, side);
    known = known && (ends || !shared);
  }

  [[nodiscard]] UnequalTasks unequal() {
    UnequalTasks unequal;
    for (const auto& [content, more] : balance_) {
      const auto alone = static_cast<std::uint64_t>(std::abs(more));
      (more > 0 ? totals_.coverage.only_reference : totals_.coverage.only_candidate) += alone;
      unequal.events += alone;
    }
    unequal.contents = count_unequal(left_);
    for (const auto& [content, more] : freed_)
      unequal.contents += static_cast<std::uint64_t>(std::abs(more));
    totals_.outcomes.unfilled += count_unequal(unfilled_);
    return unequal;
  }

 private:
  /// By lane and position.
  using Writers = std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t>;
  /// A content, and the key of what wrote the memory last.
  using Left = std::pair<Content, std::uint64_t>;
  using Contents = Both<std::set<Left>>;

  struct Outcome {
    Content content;
    std::pair<std::uint32_t, std::uint64_t> writer;
    bool unfilled;
    bool freed;
  };

  void count_work(const Event& event, std::uint64_t key, Side side) {
    std::int64_t& more = balance_[key];
    const bool has_equal = side == Side::candidate && more > 0;
    more += side == Side::reference ? 1 : -1;
    if (has_equal) {
      ++totals_.coverage.aligned;
      totals_.values += static_cast<std::uint64_t>(
          std::count_if(event.slots.begin(), event.slots.end(), holds_digest));
    }
    if (event.kind != EventKind::op) return;
    ++on(totals_.ops, side);
    if (has_equal) ++totals_.aligned_ops;
    for (const Slot& slot : event.slots) {
      if (slot.role != Role::input || !holds_digest(slot)) continue;
      ++on(totals_.reads, side);
      on(totals_.verified, side) += slot.flags & slot_flag::verified ? 1 : 0;
    }
  }

  [[nodiscard]] static std::uint64_t count_unequal(const Contents& contents) {
    std::vector<Left> alone;
    std::ranges::set_symmetric_difference(contents.reference, contents.candidate,
                                          std::back_inserter(alone));
    return alone.size();
  }

  Totals& totals_;
  /// Events by content: by how many the reference has more of them than the candidate.
  std::unordered_map<std::uint64_t, std::int64_t> balance_;
  std::map<Left, std::int64_t> freed_;  ///< as balance_
  /// A task's memory stands at the end of later ones too: how often does not count.
  Contents left_;
  Contents unfilled_;  ///< no op has filled it
};

/// Its settings say what a process has saved beside tensors.
[[nodiscard]] bool saves_files(const Run& run, std::uint32_t rank) {
  const std::vector<EnvironmentEntry> settings = run.environment(rank);
  return std::ranges::any_of(
      settings, [](const EnvironmentEntry& setting) { return setting.key.starts_with("saved."); });
}

[[nodiscard]] LoaderResults compare_loaders(const Both<const Run*>& runs, const TaskRanks& ranks,
                                            Coverage& coverage) {
  LoaderResults results;
  bool reads = false;
  std::unordered_map<std::uint64_t, std::int64_t> balance;
  for (const Side side : kSides)
    for (const std::uint32_t rank : on(ranks.loaders, side)) {
      const Run& run = *on(runs, side);
      results.saved = results.saved || saves_files(run, rank);
      for_each_event(run, rank, [&, of = side](const Event& event, std::int64_t) {
        if (!is_work(event)) return;
        results.saved = results.saved || event.op == kSave;
        reads = reads || gives_number(event) || facts::Op(event.op).has(facts::fact::leaves_run);
        balance[key_of_work(event)] += of == Side::reference ? 1 : -1;
        coverage.aligned += of == Side::candidate ? 1 : 0;
      });
    }
  std::uint64_t alone = 0;
  for (const auto& [key, more] : balance) {
    const auto count = static_cast<std::uint64_t>(std::abs(more));
    (more > 0 ? coverage.only_reference : coverage.only_candidate) += count;
    coverage.aligned -= more < 0 ? count : 0;
    alone += count;
  }
  if (reads) results.events = alone;
  return results;
}

}  // namespace

UnequalTasks compare_shared_tasks(const Both<const Run*>& runs, const TaskRanks& ranks,
                                  Totals& totals) {
  SharedTasks tasks(totals);
  for (const Side side : kSides)
    for (const std::uint32_t rank : on(ranks.all, side))
      tasks.read(*on(runs, side), rank, side, on(ranks.shared, side).contains(rank));
  UnequalTasks unequal = tasks.unequal();
  unequal.of_loaders = compare_loaders(runs, ranks, totals.coverage);
  return unequal;
}

}  // namespace ulpscope::comparison
