#include "cli/check/run_progress.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "tests/support/run_builder.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// The lane's events of steps from `first` to `last`.
void work(RunBuilder& run, LaneRole role, std::uint32_t ordinal, std::int64_t first,
          std::int64_t last) {
  run.lane(role, ordinal);
  for (std::int64_t step = first; step <= last; ++step) {
    run.step(step).phase(step == kSetup ? Phase::setup : Phase::forward);
    run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
  }
}

std::unique_ptr<MemoryRun> recorded_so_far(RunBuilder& builder, std::uint64_t begun) {
  auto run = builder.without_outcomes().incomplete("it runs").build();
  run->details.steps_in_run = begun;
  return run;
}

}  // namespace

TEST_SUITE("how far a run has got") {
  TEST_CASE("the slowest thread that trains counts, and not one that only has setup") {
    RunBuilder builder;
    work(builder, LaneRole::main, 0, kSetup, kSetup);
    work(builder, LaneRole::trainer, 0, 0, 9);
    work(builder, LaneRole::trainer, 1, 0, 4);
    const auto run = recorded_so_far(builder, 12);
    CHECK(cli::newest_step(*run) == 4);
    CHECK(cli::steps_over(*run) == 4);
  }

  TEST_CASE("a main thread that trains beside others counts too") {
    RunBuilder builder;
    work(builder, LaneRole::main, 0, kSetup, 2);
    work(builder, LaneRole::trainer, 0, 0, 9);
    CHECK(cli::newest_step(*recorded_so_far(builder, 12)) == 2);
  }

  TEST_CASE("a thread with one step does not once others have done many") {
    RunBuilder builder;
    work(builder, LaneRole::main, 0, kSetup, 100);
    work(builder, LaneRole::trainer, 0, 0, 0);
    CHECK(cli::newest_step(*recorded_so_far(builder, 102)) == 100);
  }

  TEST_CASE("a step is over when another one has begun") {
    RunBuilder builder;
    work(builder, LaneRole::main, 0, kSetup, 3);
    CHECK(cli::steps_over(*recorded_so_far(builder, 4)) == 3);
    RunBuilder same;
    work(same, LaneRole::main, 0, kSetup, 3);
    CHECK(cli::steps_over(*recorded_so_far(same, 5)) == 4);
    RunBuilder ended;
    work(ended, LaneRole::main, 0, kSetup, 3);
    CHECK(cli::steps_over(*ended.build()) == 4);
  }
}
