#include "capture/forward_links.hpp"

#include "capture/memory.hpp"

namespace ulpscope::capture {

void ForwardLinks::add(std::uint64_t thread, std::uint64_t sequence, const ForwardOp& op) {
  const std::lock_guard guard(mutex_);
  Entry& entry = slot(thread, sequence);
  if (entry.thread == thread && entry.sequence == sequence) return;
  entry = {thread, sequence, op};
}

ForwardOp ForwardLinks::find(std::uint64_t thread, std::uint64_t sequence) {
  const std::lock_guard guard(mutex_);
  const Entry& entry = slot(thread, sequence);
  return entry.thread == thread && entry.sequence == sequence ? entry.op : ForwardOp{};
}

void ForwardLinks::clear() {
  const std::lock_guard guard(mutex_);
  entries_.fill({});
}

ForwardLinks& forward_links() {
  static ForwardLinks& instance = immortal<ForwardLinks>();
  return instance;
}

}  // namespace ulpscope::capture
