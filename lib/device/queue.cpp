#include "device/queue.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

namespace ulpscope::device {
namespace {

/// How long a thread sleeps while it waits for space.
constexpr std::chrono::microseconds kNap{100};

/// Whether a kernel can take these values, and there is scratch memory for them.
[[nodiscard]] bool fits(std::span<const Value> values, std::span<std::byte> scratch,
                        bool statistics) noexcept {
  const auto needs = needs_of(values);
  return needs && needs->fits_inside() && needs->nodes <= Nodes::in(scratch, statistics).capacity;
}

}  // namespace

DigestQueue::DigestQueue(const QueueCalls& calls, const QueueSizes& sizes) noexcept
    : calls_(calls), sizes_(sizes) {}

bool DigestQueue::open() noexcept {
  const std::size_t places = std::size_t{2} * sizes_.values;
  const std::size_t bytes =
      places * (sizeof(StatisticsTotals) + sizeof(Digest) + sizeof(std::uint32_t));
  auto* memory = static_cast<std::byte*>(calls_.allocate_host(bytes + sizes_.content));
  scratch_ = calls_.allocate_scratch(sizes_.scratch * sizes_.streams);
  if (memory == nullptr || scratch_ == nullptr) return false;
  std::fill_n(memory, bytes, std::byte{0});
  statistics_ = reinterpret_cast<StatisticsTotals*>(memory);
  digests_ = reinterpret_cast<Digest*>(statistics_ + places);
  done_ = reinterpret_cast<std::uint32_t*>(digests_ + places);
  contents_ = memory + bytes;
  try {
    streams_.reserve(sizes_.streams);
  } catch (...) {
    return false;
  }
  return true;
}

std::span<std::byte> DigestQueue::scratch_of(Stream stream) noexcept {
  auto found = std::find(streams_.begin(), streams_.end(), stream);
  if (found == streams_.end()) {
    if (streams_.size() == sizes_.streams) return {};
    streams_.push_back(stream);
    found = streams_.end() - 1;
  }
  const auto index = static_cast<std::size_t>(found - streams_.begin());
  return {scratch_ + index * sizes_.scratch, sizes_.scratch};
}

/// Contents are consecutive in a ring; none crosses its end.
bool DigestQueue::has_room(std::size_t content_bytes, std::size_t& offset) const noexcept {
  if (!entries_.empty() && next_ - entries_.front().number >= sizes_.values) return false;
  offset = 0;
  if (content_bytes == 0) return true;
  const auto holds = [](const Entry& entry) { return entry.content_bytes > 0; };
  const auto first = std::find_if(entries_.begin(), entries_.end(), holds);
  if (first == entries_.end()) return content_bytes <= sizes_.content;
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), holds);
  const std::size_t begin = first->content;
  const std::size_t end = last->content + last->content_bytes;
  if (end > begin) {
    offset = end;
    if (content_bytes <= sizes_.content - end) return true;
    offset = 0;
    return content_bytes < begin;
  }
  offset = end;
  return content_bytes < begin - end;
}

bool DigestQueue::enqueue(const QueuedValue& queued, Stream stream) noexcept {
  if (calls_.is_captured(stream)) return false;
  const std::size_t bytes = packed_size(queued.value.bytes);
  if (bytes == core::kTooLarge) return false;
  const std::size_t rounded = (bytes + 15) / 16 * 16;
  const bool content = queued.content && rounded <= sizes_.content;
  const std::size_t content_bytes = content ? rounded : 0;

  const auto deadline = std::chrono::steady_clock::now() + sizes_.patience;
  std::unique_lock lock(mutex_);
  std::size_t offset = 0;
  while (!has_room(content_bytes, offset)) {
    stuck_ = stuck_ || std::chrono::steady_clock::now() > deadline;
    if (stuck_) return false;
    lock.unlock();
    std::this_thread::sleep_for(kNap);
    lock.lock();
  }
  const std::span<std::byte> scratch = scratch_of(stream);
  if (scratch.empty()) return false;

  std::array<Value, 2> values{queued.value, queued.value};
  values[0].order = core::Order::memory;
  values[1].order = core::Order::logical;
  const auto wanted = std::span(std::as_const(values)).first(queued.logical ? 2 : 1);
  if (!fits(wanted, scratch, queued.statistics)) return false;

  Entry entry;
  entry.number = next_++;
  entry.ticket = queued.ticket;
  entry.bytes = bytes;
  entry.place = static_cast<std::uint32_t>(entry.number % sizes_.values) * 2;
  entry.mark = static_cast<std::uint32_t>(entry.number / sizes_.values) + 1;
  entry.dtype = queued.value.dtype;
  entry.logical = queued.logical;
  entry.statistics = queued.statistics;
  entry.has_content = content;
  entry.content = offset;
  entry.content_bytes = content_bytes;
  if (content_bytes > 0 && !calls_.copy_to_host(contents_ + offset, queued.value, stream))
    return false;
  Results results;
  results.digests = digests_;
  results.statistics = queued.statistics ? statistics_ : nullptr;
  results.done = done_;
  results.mark = entry.mark;
  results.capacity = 2 * sizes_.values;
  results.first = entry.place;
  if (!calls_.digest(wanted, scratch, results, stream)) return false;
  try {
    entries_.push_back(entry);
  } catch (...) {
    return false;
  }
  return true;
}

bool DigestQueue::is_done(std::uint32_t place, std::uint32_t mark) const noexcept {
  return std::atomic_ref(done_[place]).load(std::memory_order_acquire) == mark;
}

bool DigestQueue::front(QueueResult& result) noexcept {
  const std::lock_guard guard(mutex_);
  if (entries_.empty()) return false;
  const Entry& entry = entries_.front();
  if (!is_done(entry.place, entry.mark)) return false;
  if (entry.logical && !is_done(entry.place + 1, entry.mark)) return false;
  result = {};
  result.ticket = entry.ticket;
  result.digest = digests_[entry.place];
  if (entry.logical) result.logical = digests_[entry.place + 1];
  if (entry.statistics) result.statistics = &statistics_[entry.place];
  result.dtype = entry.dtype;
  result.bytes = entry.bytes;
  if (entry.has_content) result.content = contents_ + entry.content;
  return true;
}

void DigestQueue::pop() noexcept {
  const std::lock_guard guard(mutex_);
  entries_.pop_front();
  stuck_ = false;
}

std::size_t DigestQueue::waiting() noexcept {
  const std::lock_guard guard(mutex_);
  return entries_.size();
}

}  // namespace ulpscope::device
