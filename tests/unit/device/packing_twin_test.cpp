#include <doctest/doctest.h>

#include <random>

#include "device/twin.hpp"
#include "tests/unit/device/random_layout.hpp"
#include "ulpscope/digest.hpp"

using namespace ulpscope;
using namespace ulpscope::test;
using device::twin::Turns;

TEST_SUITE("packing on the device") {
  TEST_CASE("a value of any layout is packed as the core packs it, with zeros behind it") {
    std::mt19937 random(11);
    for (int i = 0; i < 600; ++i) {
      const Strided strided = random_strided(random, i % 20 == 0 ? 20'000 : 300);
      const device::Value value = strided.value(core::Order::memory);
      std::vector<std::byte> expected(packed_size(value.bytes));
      pack_in_memory_order(value.bytes, expected);
      expected.resize((expected.size() + 15) / 16 * 16);
      for (const Turns turns : {Turns::forward, Turns::shuffled})
        CHECK(device::twin::packed(value, turns) == expected);
    }
  }
}
