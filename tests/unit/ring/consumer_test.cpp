#include <doctest/doctest.h>

#include "messages.hpp"
#include "ring/batch_reader.hpp"
#include "ring_pair.hpp"

namespace ulpscope::ring::test {
namespace {

void send(Producer& producer, std::uint32_t claimed, std::uint32_t real) {
  auto* const room = static_cast<std::byte*>(producer.reserve(real));
  REQUIRE(room != nullptr);
  std::memset(room, 0, real);
  const MessageHeader header{claimed, MessageKind::notice, 0};
  std::memcpy(room, &header, sizeof header);
  producer.commit(real);
}

TEST_SUITE("consumer") {
  TEST_CASE("bytes are contiguous where they run over the ring's end") {
    RingPair ring;
    const auto most = static_cast<std::uint32_t>(kSmallestRing / 2);
    for (std::uint64_t i = 0; i < 2; ++i) {
      REQUIRE(ring.producer.reserve(most - 512) != nullptr);
      ring.producer.commit(most - 512);
      ring.consumer.release(ring.consumer.available().size());
    }
    write_numbered(ring.producer.reserve(4096), 7, 4096);
    ring.producer.commit(4096);
    std::vector<std::byte> expected(4096);
    write_numbered(expected.data(), 7, 4096);
    const auto bytes = ring.consumer.available();
    REQUIRE(bytes.size() == 4096);
    CHECK(std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0);
    CHECK(ring.consumer.bytes_released() < kSmallestRing);
    CHECK(ring.consumer.bytes_released() + bytes.size() > kSmallestRing);
  }

  TEST_CASE("a head that no producer can have is damage, not a crash") {
    struct Case {
      const char* name;
      std::uint64_t head;
    };
    for (const Case& c : {Case{"beyond the ring", kSmallestRing + 8},
                          Case{"not a multiple of 8", 132}, Case{"all ones", ~std::uint64_t{0}},
                          Case{"before the tail", 0}, Case{"back to less than was seen", 64}}) {
      CAPTURE(c.name);
      RingPair ring;
      send(ring.producer, 128, 128);
      REQUIRE(ring.consumer.available().size() == 128);
      if (c.head == 0) ring.consumer.release(8);
      ring.raw.header()->head = c.head;
      CHECK(ring.consumer.available().empty());
      CHECK(ring.consumer.damaged());
      ring.raw.header()->head = 256;
      CHECK(ring.consumer.available().empty());
    }
  }

  TEST_CASE("the consumer's position does not depend on the shared tail") {
    RingPair ring;
    send(ring.producer, 64, 64);
    send(ring.producer, 32, 32);
    REQUIRE(ring.consumer.available().size() == 96);
    ring.consumer.release(64);
    ring.raw.header()->tail = 12345;
    CHECK(ring.consumer.available().size() == 32);
  }

  TEST_CASE("an unknown reason for the producer's end counts as damage") {
    RingPair ring;
    ring.raw.header()->producer_end = static_cast<ProducerEnd>(77);
    CHECK(ring.consumer.producer_end() == ProducerEnd::damaged);
  }

  TEST_CASE("a batch holds whole messages only") {
    RingPair ring;
    BatchReader reader(4096);
    for (int i = 0; i < 5; ++i) send(ring.producer, 1000, 1000);
    const Batch batch = reader.next(ring.consumer);
    CHECK(batch.messages.size() == 4000);
    ring.consumer.release(4000);
    CHECK(reader.next(ring.consumer).messages.size() == 1000);
    ring.consumer.release(1000);
    CHECK(reader.next(ring.consumer).messages.empty());
    CHECK(reader.next(ring.consumer).damage.empty());
  }

  TEST_CASE("a message longer than a batch comes alone and whole") {
    RingPair ring;
    BatchReader reader(4096);
    write_numbered(ring.producer.reserve(20'000), 3, 20'000);
    ring.producer.commit(20'000);
    send(ring.producer, 64, 64);
    std::vector<std::byte> expected(20'000);
    write_numbered(expected.data(), 3, 20'000);
    const Batch batch = reader.next(ring.consumer);
    REQUIRE(batch.messages.size() == expected.size());
    CHECK(std::memcmp(batch.messages.data(), expected.data(), expected.size()) == 0);
    ring.consumer.release(20'000);
    CHECK(reader.next(ring.consumer).messages.size() == 64);
  }

  TEST_CASE("a batch is a copy that the producer cannot change") {
    RingPair ring;
    BatchReader reader(4096);
    send(ring.producer, 64, 64);
    const Batch batch = reader.next(ring.consumer);
    std::memset(ring.raw.data(), 0xff, 64);
    MessageHeader header;
    std::memcpy(&header, batch.messages.data(), sizeof header);
    CHECK(header.size == 64);
  }

  TEST_CASE("a message larger than a producer can reserve is damage") {
    RingPair ring;
    BatchReader reader(4096);
    const auto size = static_cast<std::uint32_t>(kSmallestRing / 2 + 8);
    write_numbered(ring.raw.data(), 0, size);
    ring.raw.header()->head = size;
    CHECK_FALSE(reader.next(ring.consumer).damage.empty());
  }

  TEST_CASE("a size that no message can have is damage after the messages before it") {
    for (const std::uint32_t size : {0U, 4U, 7U, 12U, 72U, 128U, 32'776U, 65'536U, ~0U, ~7U}) {
      CAPTURE(size);
      RingPair ring;
      BatchReader reader(4096);
      send(ring.producer, 32, 32);
      send(ring.producer, size, 64);
      CHECK(reader.next(ring.consumer).messages.size() == 32);
      ring.consumer.release(32);
      const Batch batch = reader.next(ring.consumer);
      CHECK(batch.messages.empty());
      CHECK_FALSE(batch.damage.empty());
    }
  }
}

}  // namespace
}  // namespace ulpscope::ring::test
