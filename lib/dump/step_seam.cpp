#include "dump/step_seam.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

namespace ulpscope::dump {
namespace {

using Events = std::span<const SeamEvent* const>;

/// Memory that the next forward reads, and what makes it.
class Needed {
 public:
  explicit Needed(Events between) {
    for (const SeamEvent* event : between)
      for (const MemoryUse& use : event->uses)
        if (use.is_written && !use.is_view && !use.is_named) made_.insert(use.storage);
  }

  void read(const SeamEvent& event) {
    for (const MemoryUse& use : event.uses) {
      if (!use.is_read) continue;
      storages_.insert(use.storage);
      parts_.emplace(use.storage, use.geometry);
    }
  }

  /// Whether the event has made something of that. Memory that is older is looked at in parts: an
  /// evaluation takes others of the same data.
  [[nodiscard]] bool makes(const SeamEvent& event) const {
    return std::any_of(event.uses.begin(), event.uses.end(), [&](const MemoryUse& use) {
      if (!use.is_written || use.is_named) return false;
      return made_.contains(use.storage) ? storages_.contains(use.storage)
                                         : parts_.contains({use.storage, use.geometry});
    });
  }

 private:
  std::unordered_set<std::uint64_t> made_;  ///< between the steps
  std::unordered_set<std::uint64_t> storages_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> parts_;
};

/// What a step has made and trained, and what is made of that after it.
class Past {
 public:
  Past(std::uint64_t step_begin, std::uint64_t step_end) : begin_(step_begin), end_(step_end) {}

  [[nodiscard]] bool is_read_by(Events events) const {
    return std::any_of(events.begin(), events.end(), [&](const SeamEvent* event) {
      return std::any_of(event->uses.begin(), event->uses.end(),
                         [&](const MemoryUse& use) { return use.is_read && holds(use); });
    });
  }

  void add_results_of(Events events) {
    for (const SeamEvent* event : events)
      for (const MemoryUse& use : event->uses)
        if (use.is_written) made_of_it_.insert(use.storage);
  }

 private:
  [[nodiscard]] bool holds(const MemoryUse& use) const {
    const bool of_step = use.writer != kNone && begin_ <= use.writer && use.writer < end_;
    return use.is_named || of_step || made_of_it_.contains(use.storage);
  }

  std::uint64_t begin_;
  std::uint64_t end_;
  std::unordered_set<std::uint64_t> made_of_it_;
};

/// The event at `first` and those that run inside of it.
[[nodiscard]] Events tree_at(Events events, std::size_t first) {
  std::size_t end = first + 1;
  while (end < events.size() && events[end]->depth > events[first]->depth) ++end;
  return events.subspan(first, end - first);
}

}  // namespace

std::size_t events_before_seam(Events between, Events forward, std::uint64_t step_begin) {
  if (between.empty()) return 0;
  Needed needed(between);
  for (const SeamEvent* event : forward) needed.read(*event);
  std::vector<bool> is_needed(between.size(), false);
  for (std::size_t at = between.size(); at-- > 0;)
    if (is_needed[at] = needed.makes(*between[at]); is_needed[at]) needed.read(*between[at]);
  Past past(step_begin, between.front()->position);
  std::size_t seam = 0;
  for (std::size_t first = 0; first < between.size();) {
    const Events tree = tree_at(between, first);
    const std::size_t end = first + tree.size();
    bool prepares = false;
    for (std::size_t at = first; at < end; ++at) prepares = prepares || is_needed[at];
    if (!prepares && !between[first]->neutral && past.is_read_by(tree)) {
      past.add_results_of(tree);
      seam = end;
    }
    first = end;
  }
  return seam;
}

}  // namespace ulpscope::dump
