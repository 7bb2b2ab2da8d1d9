#include <doctest/doctest.h>

#include "tests/support/dump_builder.hpp"
#include "tests/support/layer_dump.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/stored_value.hpp"
#include "values/value_name.hpp"

using namespace ulpscope;
using test::add_tensor;
using test::DumpBuilder;
using test::floats;
using test::LaneBuilder;
using test::TempDir;

namespace {

/// The paths that a glob finds, a line each.
std::string found(const Run& run, std::string_view glob) {
  std::string paths;
  for (const StoredValue& value : find_values(run, glob))
    paths += std::to_string(value.rank) + " " + value.path + "\n";
  return paths;
}

TEST_SUITE("names of values") {
  TEST_CASE("a value of an event goes by step and position, or by position alone") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.level = "full"});
    LaneBuilder& lane = dump.lane();
    auto& op = lane.op("aten::mm");
    add_tensor(lane, op, Role::input, 0, floats({1}));
    add_tensor(lane, op, Role::output, 0, floats({2}));
    dump.finish();
    const auto run = open_dump(dir.path());
    CHECK(found(*run, "event:0") == "0 event:0/input.0\n0 event:0/output.0\n");
    CHECK(found(*run, "setup/0/output.*") == "0 setup/0/output.0\n");
    CHECK(found(*run, "setup/0") == "0 setup/0/input.0\n0 setup/0/output.0\n");
    CHECK(found(*run, "1/0/output.0").empty());
    CHECK(found(*run, "setup/1/output.0").empty());
    CHECK(find_value(*run, "setup/0/output.0").digest ==
          find_value(*run, "event:0/output.0").digest);
    CHECK_THROWS_AS(static_cast<void>(find_value(*run, "setup/0")), Error);
  }

  TEST_CASE("a value that several ranks have is named by opening one of them") {
    const TempDir dir;
    for (const std::uint32_t rank : {0U, 1U}) {
      DumpBuilder dump(dir.path(), {.level = "full"}, rank);
      LaneBuilder& lane = dump.lane();
      add_tensor(lane, lane.op("aten::mm"), Role::output, 0, floats({static_cast<float>(rank)}));
      dump.finish();
    }
    CHECK(found(*open_dump(dir.path()), "event:0/output.0") ==
          "0 event:0/output.0\n1 event:0/output.0\n");
    try {
      static_cast<void>(find_value(*open_dump(dir.path()), "event:0/output.0"));
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::usage);
      CHECK(error.hint() ==
            "open one rank: '@rank=0' behind the dump's name, or the selector 'rank=0'");
    }
    CHECK(find_value(*open_dump(dir.path(), "rank=1"), "event:0/output.0").rank == 1);
  }

  TEST_CASE("steps and events are distinguished from other paths") {
    using stored::parse_slot_path;
    using stored::parse_step_path;
    CHECK(parse_step_path("setup")->step == kSetup);
    CHECK(parse_step_path("17/140,913")->event == 140913);
    CHECK_FALSE(parse_step_path("17")->event.has_value());
    for (const char* text : {"", "layer1", "-3", "17/x", "17/14,91", "99999999999999999999",
                             "17/99999999999999999999", "steps/000003"})
      CHECK_MESSAGE(!parse_step_path(text), text);
    CHECK(parse_slot_path("17/140,913/output.0")->position == 140913);
    CHECK(parse_slot_path("event:2:5/output.0")->lane == 2);
    for (const char* text :
         {"steps/000003/forward/fc/0/output.0", "setup/parameters/fc.weight", "17"})
      CHECK_MESSAGE(!parse_slot_path(text), text);
    for (const char* text : {"event:", "event:x/output.0", "event:x:1", "event:99999999999:1"})
      CHECK_THROWS_AS(static_cast<void>(parse_slot_path(text)), Error);
  }
}

}  // namespace
