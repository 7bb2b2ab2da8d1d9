#include <doctest/doctest.h>

#include <set>

#include "dump/recovery.hpp"
#include "tests/support/describe_dump.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/training_dump.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::describe;
using test::DumpBuilder;
using test::steps_of;
using test::TempDir;
using test::TrainingRun;

namespace {

void train(const TempDir& dir, const dump::RecordingOptions& options) {
  DumpBuilder dump(dir.path(), options);
  TrainingRun run(dump.lane());
  for (int i = 0; i < 12; ++i) run.step();
  dump.finish();
}

TEST_SUITE("a window of steps") {
  TEST_CASE("only its steps are written, as they would be without it") {
    const TempDir all;
    const TempDir some;
    train(all, {});
    train(some, {.first_step = 5, .last_step = 7});
    const auto window = open_dump(some.path());
    CHECK(steps_of(*window) == std::set<std::int64_t>{5, 6, 7});
    CHECK(describe(*window, 0, 0) == describe(*open_dump(all.path(), "steps=5-7"), 0, 0));
  }

  TEST_CASE("setup is written where it is asked for") {
    const TempDir dir;
    train(dir, {.last_step = 0});
    CHECK(steps_of(*open_dump(dir.path())) == std::set<std::int64_t>{kSetup, 0});
  }

  TEST_CASE("what is left out is not counted, settings are kept") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.first_step = 5, .last_step = 7});
    auto& lane = dump.lane();
    lane.messages.environment(dump.tick(), "threads.intra_op", "2");
    TrainingRun run(lane);
    for (int i = 0; i < 12; ++i) run.step();
    dump.finish();
    const auto window = open_dump(dir.path());
    CHECK(dump.recording.counts().steps == 3);
    CHECK(dump.recording.counts().events == window->info().events);
    REQUIRE(window->environment(0).size() == 1);
    CHECK(window->environment(0)[0].value == "2");
  }

  TEST_CASE("a recovery keeps to it") {
    const TempDir dir;
    {
      DumpBuilder dump(dir.path(), {.first_step = 5, .last_step = 7});
      TrainingRun run(dump.lane());
      for (int i = 0; i < 12; ++i) run.step();
    }
    dump::recover(dir.path());
    CHECK(steps_of(*open_dump(dir.path())) == std::set<std::int64_t>{5, 6, 7});
  }
}

}  // namespace
