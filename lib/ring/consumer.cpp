#include <algorithm>
#include <cstring>
#include <utility>

#include "ring/ring.hpp"

namespace ulpscope::ring {

Consumer::Consumer(RingMapping mapping) noexcept : mapping_(std::move(mapping)) {}

std::span<const std::byte> Consumer::available() noexcept {
  if (!mapping_ || damaged_) return {};
  const std::uint64_t head = mapping_.header()->head.load(std::memory_order_acquire);
  const std::uint64_t unread = head - tail_;
  if (unread > mapping_.capacity() || unread < head_ - tail_ || unread % 8 != 0) {
    damaged_ = true;
    return {};
  }
  head_ = head;
  return {mapping_.data() + (tail_ & (mapping_.capacity() - 1)), static_cast<std::size_t>(unread)};
}

std::size_t Consumer::read(std::span<std::byte> buffer) noexcept {
  const std::span<const std::byte> bytes = available();
  const std::size_t count = std::min(bytes.size(), buffer.size());
  if (count != 0) std::memcpy(buffer.data(), bytes.data(), count);
  return count;
}

void Consumer::release(std::size_t bytes) noexcept {
  tail_ += bytes;
  mapping_.header()->tail.store(tail_, std::memory_order_release);
}

void Consumer::close() noexcept {
  if (mapping_) mapping_.header()->consumer_closed.store(1, std::memory_order_relaxed);
}

ProducerEnd Consumer::producer_end() const noexcept {
  const auto end = mapping_.header()->producer_end.load(std::memory_order_acquire);
  return end <= ProducerEnd::no_memory ? end : ProducerEnd::damaged;
}

std::uint64_t Consumer::stalls() const noexcept {
  return mapping_.header()->stalls.load(std::memory_order_relaxed);
}

std::uint64_t Consumer::stalled_nanoseconds() const noexcept {
  return mapping_.header()->stalled_nanoseconds.load(std::memory_order_relaxed);
}

}  // namespace ulpscope::ring
