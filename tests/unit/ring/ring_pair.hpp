#pragma once

#include <sys/mman.h>

#include "ring/ring.hpp"
#include "ring/shared_memory.hpp"

namespace ulpscope::ring::test {

/// A ring without a handshake: both ends in this process, or one of them in a child.
struct RingPair {
  explicit RingPair(std::uint64_t capacity = kSmallestRing, std::uint32_t give_up = 10'000) {
    const Descriptor memory = create_ring(capacity);
    raw = RingMapping::map(memory.get(), capacity);
    consumer = Consumer(RingMapping::map(memory.get(), capacity));
    link = {&guard, &writer.page(), 2, give_up};
    guard.token = 2;
    producer = Producer(RingMapping::map(memory.get(), capacity), link);
  }

  WriterPageOwner writer;
  SessionGuard guard{};
  SessionLink link;
  RingMapping raw;  ///< what an enemy can write to
  Consumer consumer;
  Producer producer;
};

}  // namespace ulpscope::ring::test
