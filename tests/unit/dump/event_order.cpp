#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "dump/batch.hpp"

using namespace ulpscope;

namespace {

using Positions = std::vector<std::uint64_t>;

Positions sorted(const Positions& positions) {
  dump::Batch batch(positions.size() * sizeof(ring::EventRow));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    ring::EventRow row{};
    row.position = positions[i];
    std::memcpy(batch.data() + i * sizeof row, &row, sizeof row);
  }
  const auto held = std::make_shared<const dump::Batch>(std::move(batch));
  std::vector<dump::HeldEvent> events;
  for (std::size_t i = 0; i < positions.size(); ++i)
    events.emplace_back(held, i * sizeof(ring::EventRow));
  sort_by_position(events);
  Positions found;
  for (const dump::HeldEvent& event : events) found.push_back(event.row().position);
  return found;
}

}  // namespace

TEST_SUITE("the order of events") {
  TEST_CASE("is that of their positions, with gaps and without") {
    CHECK(sorted({}) == Positions{});
    CHECK(sorted({7}) == Positions{7});
    CHECK(sorted({12, 11, 14, 13, 10}) == Positions{10, 11, 12, 13, 14});
    CHECK(sorted({30, 10, 20}) == Positions{10, 20, 30});
    CHECK(sorted({~std::uint64_t{1}, 0, 5}) == Positions{0, 5, ~std::uint64_t{1}});
  }

  TEST_CASE("is found where a process has sent a position twice") {
    CHECK(sorted({4, 2, 2, 5, 3, 5}) == Positions{2, 2, 3, 4, 5, 5});
    CHECK(sorted({1, 1}) == Positions{1, 1});
    CHECK(sorted({0, 2, 2}) == Positions{0, 2, 2});
  }
}
