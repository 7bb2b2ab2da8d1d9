#include <doctest/doctest.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "messages.hpp"
#include "processes.hpp"
#include "ring_pair.hpp"

namespace ulpscope::ring::test {
namespace {

using namespace std::chrono_literals;

/// Reads all that comes until `count` numbered messages came or one was wrong.
void read_numbered(Consumer& consumer, NumberedReader& reader, std::uint64_t count,
                   WriterPageOwner& writer) {
  std::vector<std::byte> buffer(consumer.capacity());
  while (reader.count() < count && reader.sound()) {
    const std::size_t bytes = consumer.read(buffer);
    reader.take({buffer.data(), bytes});
    consumer.release(bytes);
    writer.note_progress();
    if (bytes == 0) std::this_thread::yield();
  }
}

void fill(Producer& producer) {
  const std::uint32_t quarter = producer.max_message() / 2;
  for (int i = 0; i < 4; ++i) {
    write_numbered(producer.reserve(quarter), 0, quarter);
    producer.commit(quarter);
  }
}

/// How long the producer has waited for room, as it counts it.
std::chrono::nanoseconds waited(const RingPair& ring) {
  return std::chrono::nanoseconds(ring.consumer.stalled_nanoseconds());
}

struct stat state_of(const Descriptor& memory) {
  struct stat state {};
  REQUIRE(::fstat(memory.get(), &state) == 0);
  return state;
}

std::uint64_t size_of(const Descriptor& memory) {
  return static_cast<std::uint64_t>(state_of(memory).st_size);
}

std::uint64_t allocated(const Descriptor& memory) {
  return static_cast<std::uint64_t>(state_of(memory).st_blocks) * 512;
}

bool is_unfilled(const Descriptor& ring) {
  return RingMapping::map(ring.get(), size_of(ring) - page_bytes()).header()->unfilled != 0;
}

void pass_from_another_thread(Producer& producer, Consumer& consumer, WriterPageOwner& writer) {
  constexpr std::uint64_t kCount = 20'000;
  std::thread thread([&] {
    for (std::uint64_t i = 0; i < kCount && send_numbered(producer, i); ++i) {
    }
  });
  NumberedReader reader(producer.max_message());
  read_numbered(consumer, reader, kCount, writer);
  thread.join();
  CHECK(reader.sound());
  CHECK(reader.count() == kCount);
}

/// Both ends at the same addresses, where ThreadSanitizer can see that they share memory.
struct OneMapping {
  OneMapping() {
    const Descriptor memory = create_ring(kSmallestRing);
    RingMapping mapping = RingMapping::map(memory.get(), kSmallestRing);
    alignas(RingMapping) std::array<std::byte, sizeof(RingMapping)> same{};
    std::memcpy(same.data(), static_cast<const void*>(&mapping), sizeof mapping);
    consumer = Consumer(std::move(*reinterpret_cast<RingMapping*>(same.data())));
    guard.token = 2;
    producer = Producer(std::move(mapping), {&guard, &writer.page(), 2, 10'000});
  }

  WriterPageOwner writer;
  SessionGuard guard{};
  Consumer consumer;
  Producer producer;  // ends first; what it unmaps, the consumer unmaps once more
};

TEST_SUITE("producer") {
  TEST_CASE("messages of random sizes arrive whole and in order from another thread") {
    RingPair ring;
    pass_from_another_thread(ring.producer, ring.consumer, ring.writer);
    CHECK(ring.consumer.bytes_released() > 100 * ring.consumer.capacity());
    CHECK(ring.consumer.available().empty());
  }

  TEST_CASE("both ends agree on who may touch which bytes, as ThreadSanitizer sees it") {
    OneMapping ring;
    pass_from_another_thread(ring.producer, ring.consumer, ring.writer);
  }

  TEST_CASE("messages of random sizes arrive whole and in order from another process") {
    constexpr std::uint64_t kCount = 20'000;
    RingPair ring;
    Child child([&] {
      for (std::uint64_t i = 0; i < kCount; ++i) {
        if (!send_numbered(ring.producer, i)) return 1;
      }
      return 0;
    });
    NumberedReader reader(ring.producer.max_message());
    read_numbered(ring.consumer, reader, kCount, ring.writer);
    CHECK(reader.sound());
    CHECK(child.wait() == 0);
  }

  TEST_CASE("a message larger than half the ring is refused and nothing else changes") {
    RingPair ring;
    const std::uint32_t max = ring.producer.max_message();
    CHECK(max == kSmallestRing / 2);
    CHECK(ring.producer.reserve(max + 8) == nullptr);
    CHECK(ring.producer.reserve(0) == nullptr);
    CHECK(ring.producer.reserve(12) == nullptr);
    CHECK(ring.producer.reserve(~7U) == nullptr);
    CHECK(ring.producer.recording());
    CHECK(ring.producer.reserve(max) != nullptr);
  }

  TEST_CASE("what is reserved and not committed is not seen") {
    RingPair ring;
    REQUIRE(ring.producer.reserve(64) != nullptr);
    CHECK(ring.consumer.available().empty());
    ring.producer.commit(0);
    CHECK(ring.consumer.available().empty());
    ring.producer.commit(64);
    CHECK(ring.consumer.available().size() == 64);
  }

  TEST_CASE("several messages may be committed as one") {
    RingPair ring;
    const std::uint32_t sizes[] = {numbered_size(0, 1024), numbered_size(1, 1024)};
    auto* const room = static_cast<std::byte*>(ring.producer.reserve(sizes[0] + sizes[1]));
    write_numbered(room, 0, sizes[0]);
    write_numbered(room + sizes[0], 1, sizes[1]);
    ring.producer.commit(sizes[0] + sizes[1]);
    NumberedReader reader(1024);
    reader.take(ring.consumer.available());
    CHECK(reader.sound());
    CHECK(reader.count() == 2);
  }

  TEST_CASE("a full ring blocks until there is room") {
    RingPair ring;
    fill(ring.producer);
    std::atomic<bool> through = false;
    std::thread thread([&] {
      through = ring.producer.reserve(8) != nullptr;
      ring.producer.commit(8);
    });
    while (ring.consumer.stalls() == 0) std::this_thread::yield();
    CHECK_FALSE(through);
    ring.consumer.release(ring.consumer.available().size());
    thread.join();
    CHECK(through);
    CHECK(ring.consumer.available().size() == 8);
    CHECK(ring.consumer.stalls() == 1);
    CHECK(ring.consumer.stalled_nanoseconds() > 0);
  }

  TEST_CASE("a full ring is waited for as long as the writer works") {
    RingPair ring(kSmallestRing, 300);
    fill(ring.producer);
    std::atomic<bool> through = false;
    std::thread thread([&] { through = ring.producer.reserve(8) != nullptr; });
    while (waited(ring) < 600ms && ring.producer.recording()) {
      ring.writer.note_progress();
      std::this_thread::sleep_for(1ms);
    }
    CHECK(ring.producer.recording());
    ring.consumer.release(ring.consumer.available().size());
    thread.join();
    CHECK(through);
  }

  TEST_CASE("a writer that does not move ends recording after the stated time") {
    RingPair ring(kSmallestRing, 50);
    fill(ring.producer);
    CHECK(ring.producer.reserve(8) == nullptr);
    CHECK(waited(ring) >= 50ms);
    CHECK_FALSE(ring.producer.recording());
    CHECK(ring.producer.end() == ProducerEnd::writer_stuck);
    CHECK(ring.consumer.producer_end() == ProducerEnd::writer_stuck);
    ring.consumer.release(ring.consumer.available().size());
    CHECK(ring.producer.reserve(8) == nullptr);
  }

  TEST_CASE("time in which the program itself was stopped does not count") {
    RingPair ring(kSmallestRing, 1000);
    fill(ring.producer);
    Child child([&] { return ring.producer.reserve(8) != nullptr ? 0 : 1; });
    while (waited(ring) == 0ms) std::this_thread::yield();
    child.signal(SIGSTOP);
    std::this_thread::sleep_for(1500ms);
    child.signal(SIGCONT);
    while (waited(ring) < 1500ms && ring.consumer.producer_end() == ProducerEnd::none)
      std::this_thread::yield();
    ring.consumer.release(ring.consumer.available().size());
    CHECK(child.wait() == 0);
  }

  TEST_CASE("a writer that closes the ring ends recording") {
    RingPair ring;
    fill(ring.producer);
    ring.consumer.close();
    CHECK(ring.producer.reserve(8) == nullptr);
    CHECK(ring.producer.end() == ProducerEnd::stopped);
  }

  TEST_CASE("one producer that gives up ends the others of its session") {
    RingPair ring;
    const Descriptor memory = create_ring(kSmallestRing);
    Consumer other_end(RingMapping::map(memory.get(), kSmallestRing));
    Producer other(RingMapping::map(memory.get(), kSmallestRing), ring.link);
    REQUIRE(other.reserve(8) != nullptr);
    ring.consumer.close();
    REQUIRE(ring.producer.reserve(8) == nullptr);
    CHECK(other.reserve(8) == nullptr);
    CHECK(other_end.producer_end() == ProducerEnd::stopped);
  }

  TEST_CASE("a counter that was tampered with ends recording, not the program") {
    RingPair ring;
    ring.raw.header()->tail = 8;
    CHECK(ring.producer.reserve(8) == nullptr);
    CHECK(ring.producer.end() == ProducerEnd::damaged);
  }

  TEST_CASE("a destroyed producer has closed its ring") {
    RingPair ring;
    {
      const Producer moved = std::move(ring.producer);
      CHECK(ring.consumer.producer_end() == ProducerEnd::none);
    }
    CHECK(ring.consumer.producer_end() == ProducerEnd::closed);
    CHECK_FALSE(ring.producer.recording());
  }

  TEST_CASE("a default constructed producer records nothing") {
    Producer producer;
    CHECK(producer.reserve(8) == nullptr);
    CHECK_FALSE(producer.recording());
  }

  TEST_CASE("the size of a ring is sealed") {
    const Descriptor memory = create_ring(kSmallestRing);
    const std::uint64_t size = page_bytes() + kSmallestRing;
    CHECK(size_of(memory) == size);
    CHECK(::ftruncate(memory.get(), 0) != 0);
    CHECK(::ftruncate(memory.get(), static_cast<off_t>(2 * size)) != 0);
  }

  TEST_CASE("a ring takes the memory that its thread comes to, and all of it after a lap") {
    constexpr std::uint64_t kCapacity = std::uint64_t{1} << 20;
    const Descriptor memory = create_ring(kCapacity);
    const std::uint64_t size = page_bytes() + kCapacity;
    WriterPageOwner writer;
    SessionGuard guard{};
    guard.token = 2;
    Consumer consumer(RingMapping::map(memory.get(), kCapacity));
    Producer producer(RingMapping::map(memory.get(), kCapacity), {&guard, &writer.page(), 2, 1});
    if (!is_unfilled(memory)) {  // before Linux 5.14
      CHECK(allocated(memory) >= size);
      return;
    }
    CHECK(allocated(memory) < size / 4);
    REQUIRE(producer.reserve(64) != nullptr);
    CHECK(allocated(memory) < size / 4);
    for (std::uint64_t written = 0; written < kCapacity; written += 4096) {
      void* const message = producer.reserve(4096);
      REQUIRE(message != nullptr);
      CHECK(allocated(memory) >= page_bytes() + written + 4096);
      write_numbered(message, 0, 4096);
      producer.commit(4096);
      consumer.release(consumer.available().size());
    }
    CHECK(allocated(memory) >= size);
  }

  TEST_CASE("where there is no memory for the rest of a ring recording ends, not the program") {
    constexpr std::uint64_t kCapacity = std::uint64_t{1} << 20;
    RingPair ring(kCapacity);
    auto* const data = static_cast<std::byte*>(ring.producer.reserve(64));
    REQUIRE(data != nullptr);
    if (ring.raw.header()->unfilled == 0) return;
    // The kernel fetches nothing for memory that cannot be written to.
    REQUIRE(::mprotect(data + kCapacity / 2, kCapacity / 2, PROT_READ) == 0);
    std::uint64_t written = 0;
    while (void* const message = ring.producer.reserve(4096)) {
      write_numbered(message, 0, 4096);
      ring.producer.commit(4096);
      written += 4096;
    }
    CHECK(written == kCapacity / 2);
    CHECK(ring.producer.end() == ProducerEnd::no_memory);
    CHECK(ring.consumer.producer_end() == ProducerEnd::no_memory);
    CHECK(ring.consumer.available().size() == written);
  }

  TEST_CASE("a file that is not a ring of the stated capacity is not mapped") {
    const Descriptor memory = create_ring(2 * kSmallestRing);
    CHECK_FALSE(RingMapping::map(memory.get(), kSmallestRing));
    CHECK_FALSE(RingMapping::map(memory.get(), 3 * kSmallestRing));
    CHECK_FALSE(RingMapping::map(memory.get(), 0));
    CHECK(RingMapping::map(memory.get(), 2 * kSmallestRing));
    const RingPair ring;
    CHECK_FALSE(RingMapping::map(ring.writer.descriptor(), kSmallestRing));
    const Descriptor empty(::memfd_create("empty", MFD_CLOEXEC));
    CHECK_FALSE(RingMapping::map(empty.get(), kSmallestRing));
  }

  TEST_CASE("nobody who gets the writer's page can write to it") {
    const WriterPageOwner writer;
    CHECK(::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, writer.descriptor(),
                 0) == MAP_FAILED);
    void* const page = ::mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, writer.descriptor(), 0);
    REQUIRE(page != MAP_FAILED);
    CHECK(::mprotect(page, page_bytes(), PROT_READ | PROT_WRITE) != 0);
    ::munmap(page, page_bytes());
  }
}

}  // namespace
}  // namespace ulpscope::ring::test
