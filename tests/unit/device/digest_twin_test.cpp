#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <vector>

#include "device/twin.hpp"
#include "tests/unit/device/random_layout.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/error.hpp"

namespace {

using ulpscope::Digest;
using ulpscope::Dtype;
using ulpscope::core::Order;
using ulpscope::device::Value;
using ulpscope::device::twin::digests;
using ulpscope::device::twin::Turns;
using ulpscope::test::Bytes;
using ulpscope::test::random_bytes;
using ulpscope::test::Strided;

constexpr Turns kAllTurns[] = {Turns::forward, Turns::backward, Turns::shuffled};

/// Dense bytes as values; keeps their sizes, which values only point to.
class Batch {
 public:
  void add(std::span<const std::byte> bytes) {
    sizes_.push_back(std::make_unique<std::int64_t>(static_cast<std::int64_t>(bytes.size())));
    values_.push_back({{bytes.data(), 1, {sizes_.back().get(), 1}, {&kStride, 1}}});
    expected_.push_back(ulpscope::digest(bytes));
  }
  void check(Turns turns) const {
    const std::vector<Digest> found = digests(values_, false, turns).digests;
    REQUIRE(found.size() == expected_.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(*sizes_[i]);
      CHECK(found[i] == expected_[i]);
    }
  }

 private:
  static constexpr std::int64_t kStride = 1;
  std::vector<std::unique_ptr<std::int64_t>> sizes_;
  std::vector<Value> values_;
  std::vector<Digest> expected_;
};

}  // namespace

TEST_SUITE("device digest") {
  TEST_CASE("values of every length up to a leaf have the digest of the core") {
    std::mt19937 random(1);
    const Bytes bytes = random_bytes(random, 4200);
    for (const std::size_t begin : {0, 1, 4}) {
      Batch batch;
      for (std::size_t size = 0; size <= 1100; ++size)
        batch.add(std::span(bytes).subspan(begin, size));
      for (std::size_t size = 1101; size <= 4097; size += begin == 0 ? 1 : 97)
        batch.add(std::span(bytes).subspan(begin, size));
      batch.check(Turns::forward);
    }
  }

  TEST_CASE("lengths around leaves and nodes have the digest of the core, whoever comes first") {
    std::mt19937 random(2);
    const Bytes bytes = random_bytes(random, (std::size_t{3} << 20) + 5000);
    for (const Turns turns : kAllTurns) {
      Batch batch;
      for (const std::size_t whole :
           {std::size_t{4096}, std::size_t{8192}, std::size_t{15 * 4096}, std::size_t{16 * 4096},
            std::size_t{17 * 4096}, std::size_t{1} << 20, std::size_t{2} << 20})
        for (const std::ptrdiff_t beyond :
             {-65, -64, -1, 0, 1, 15, 16, 63, 64, 240, 241, 1024, 1025})
          batch.add(std::span(bytes).first(whole + static_cast<std::size_t>(beyond)));
      batch.add(std::span(bytes).subspan(3, (std::size_t{1} << 20) + 4099));
      batch.check(turns);
    }
  }

  TEST_CASE("a value of three levels of nodes has the digest of the core") {
    const Bytes bytes((std::size_t{257} << 20) + 4096 + 3, std::byte{0x5a});
    Batch batch;
    batch.add(bytes);
    batch.check(Turns::forward);
  }

  TEST_CASE("a batch of very different values has the digests of the core") {
    std::mt19937 random(3);
    const Bytes bytes = random_bytes(random, 300'000);
    for (const Turns turns : kAllTurns) {
      Batch batch;
      for (int i = 0; i < 300; ++i) {
        const std::size_t most = i % 20 == 0 ? 200'000 : i % 3 == 0 ? 9000 : 300;
        const std::size_t begin = random() % 2 == 0 ? random() % 64 * 16 : random() % 1000;
        batch.add(std::span(bytes).subspan(begin, random() % most));
      }
      batch.check(turns);
    }
  }

  TEST_CASE("values of random layouts have the digests of the core in either order") {
    std::mt19937 random(4);
    std::vector<Strided> strided;
    for (int i = 0; i < 700; ++i)
      strided.push_back(ulpscope::test::random_strided(random, i % 20 == 0 ? 40'000 : 700));
    for (const Order order : {Order::memory, Order::logical}) {
      std::vector<Value> values;
      for (const Strided& one : strided) values.push_back(one.value(order));
      const std::vector<Digest> found =
          digests(values, false, order == Order::memory ? Turns::forward : Turns::shuffled).digests;
      for (std::size_t i = 0; i < values.size(); ++i) {
        CAPTURE(i);
        CHECK(found[i] == (order == Order::memory
                               ? ulpscope::digest_in_memory_order(values[i].bytes)
                               : ulpscope::digest_in_logical_order(values[i].bytes)));
      }
    }
  }

  TEST_CASE("sizes beyond all memory are refused") {
    const std::vector<std::int64_t> sizes{std::int64_t{1} << 40, std::int64_t{1} << 40};
    const std::vector<std::int64_t> strides{1, 1};
    const std::byte element{};
    const Value value{{&element, 4, sizes, strides}};
    CHECK_FALSE(ulpscope::device::needs_of({&value, 1}).has_value());
    CHECK_THROWS_AS(static_cast<void>(digests({&value, 1}, false)), ulpscope::Error);
  }

  TEST_CASE(
      "scratch memory holds what it is asked for, arrivals at one place with totals and without") {
    std::vector<std::byte> memory(5 << 20);
    const auto check = [&](std::size_t size, std::uint64_t wanted) {
      for (const bool totals : {false, true}) {
        const std::span<std::byte> scratch(memory.data(), size);
        const auto nodes = ulpscope::device::Nodes::in(scratch, totals);
        const auto other = ulpscope::device::Nodes::in(scratch, !totals);
        CHECK(nodes.capacity >= wanted);
        CHECK(nodes.arrivals == other.arrivals);
        CHECK(nodes.digests == other.digests);
        const auto* const arrivals_end = nodes.arrivals + nodes.capacity / 2;
        CHECK(static_cast<const void*>(arrivals_end) <= static_cast<const void*>(nodes.digests));
        const void* const end = totals ? static_cast<const void*>(nodes.totals)
                                       : static_cast<const void*>(memory.data() + size);
        CHECK(static_cast<const void*>(nodes.digests + nodes.capacity) <= end);
        if (totals)
          CHECK(static_cast<const void*>(nodes.totals + nodes.capacity) <=
                static_cast<const void*>(memory.data() + size));
      }
    };
    for (const std::uint64_t wanted : {0, 1, 7, 8, 9, 100, 1000})
      check(ulpscope::device::Nodes::bytes_for(wanted, true), wanted);
    for (const std::size_t size : {0, 16, 128, 272, 1000, 4096, 5 << 20}) check(size, 0);
  }
}
