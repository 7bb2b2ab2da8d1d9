#include <doctest/doctest.h>

#include <map>
#include <string>

#include "tests/support/dump_builder.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::DumpBuilder;
using test::TempDir;

namespace {

/// Lanes 1, 2, ... by id, whose threads were created as `ways` say, the first one first.
std::map<std::uint32_t, Lane> lanes_of(const std::vector<std::string>& ways) {
  const TempDir dir;
  DumpBuilder dump(dir.path());
  dump.lane().op("aten::mm");
  for (std::uint32_t id = 1; id <= ways.size(); ++id) {
    auto& lane = dump.lane("train");
    const std::string& way = ways[id - 1];
    if (!way.empty())
      lane.messages.environment(dump.tick(), "capture.thread", std::to_string(id) + " " + way);
    lane.op("aten::mm");
  }
  dump.finish();
  std::map<std::uint32_t, Lane> lanes;
  for (const Lane& lane : open_dump(dir.path())->lanes(0)) lanes[lane.id] = lane;
  return lanes;
}

std::vector<std::uint32_t> numbers_of(const std::vector<std::string>& ways) {
  std::vector<std::uint32_t> numbers;
  for (const auto& [id, lane] : lanes_of(ways))
    if (id > 0) numbers.push_back(lane.ordinal);
  return numbers;
}

using Numbers = std::vector<std::uint32_t>;

TEST_SUITE("the numbers of lanes") {
  TEST_CASE("are those of their threads' creation, whichever thread comes first") {
    CHECK(numbers_of({"2", "0", "1"}) == Numbers{2, 0, 1});
  }

  TEST_CASE("follow the creators' order before their own, by number and not by letter") {
    CHECK(numbers_of({"10.0", "9.1", "9.0"}) == Numbers{2, 1, 0});
  }

  TEST_CASE("are those of the first events where the creation is not known or cannot be read") {
    CHECK(numbers_of({"", "x", "1..2", "4294967296"}) == Numbers{0, 1, 2, 3});
  }

  TEST_CASE("of threads that nobody saw being created come last") {
    CHECK(numbers_of({"", "0"}) == Numbers{1, 0});
  }

  TEST_CASE("do not depend on the calls that created their threads") {
    CHECK(numbers_of({"1 train+11a0", "0 train+12b0 train+1003"}) == Numbers{1, 0});
  }

  TEST_CASE("stand beside the calls that created their threads") {
    const auto lanes = lanes_of({"1 train+11a0", "0 train+12b0 train+1003", "2"});
    CHECK(lanes.at(1).created_by == "train+11a0");
    CHECK(lanes.at(2).created_by == "train+12b0 train+1003");
    CHECK(lanes.at(3).created_by.empty());
  }
}

}  // namespace
