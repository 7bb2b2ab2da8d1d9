#include "capture/forward_links.hpp"

#include <algorithm>
#include <utility>

#include "capture/memory.hpp"

namespace ulpscope::capture {

ForwardLinks::ForwardLinks(std::pmr::memory_resource& memory, std::size_t at_first,
                           std::size_t most)
    : most_(most), entries_(at_first, &memory) {}

void ForwardLinks::add(std::uint64_t thread, std::uint64_t sequence, const ForwardOp& op) {
  const auto of_thread = static_cast<std::uint32_t>(thread);
  const std::lock_guard guard(mutex_);
  Entry* entry = &slot(thread, sequence);
  if (entry->is(of_thread, sequence)) return;
  while (entry->sequence != ring::kNone && !entry->found && entries_.size() < most_) {
    grow();
    entry = &slot(thread, sequence);
  }
  *entry = {sequence, op.position, of_thread, op.lane, op.module, false};
}

ForwardOp ForwardLinks::find(std::uint64_t thread, std::uint64_t sequence) {
  const std::lock_guard guard(mutex_);
  Entry& entry = slot(thread, sequence);
  if (!entry.is(static_cast<std::uint32_t>(thread), sequence)) return {};
  entry.found = true;
  return {entry.position, entry.lane, entry.module};
}

void ForwardLinks::clear() {
  const std::lock_guard guard(mutex_);
  std::fill(entries_.begin(), entries_.end(), Entry{});
}

void ForwardLinks::grow() {
  std::pmr::vector<Entry> old(entries_.size() * 2, entries_.get_allocator());
  old.swap(entries_);
  for (const Entry& entry : old)
    if (entry.sequence != ring::kNone) slot(entry.thread, entry.sequence) = entry;
}

ForwardLinks& forward_links() {
  constexpr std::size_t kAtFirst = std::size_t{1} << 14;
  constexpr std::size_t kMost = std::size_t{1} << 18;
  static ForwardLinks& instance = immortal<ForwardLinks>(process_memory(), kAtFirst, kMost);
  return instance;
}

}  // namespace ulpscope::capture
