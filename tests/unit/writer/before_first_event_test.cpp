#include "writer/stages/before_first_event.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/dump_builder.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::LaneBuilder;
using writer::BeforeFirstEvent;

namespace {

/// The messages of a process that did what `act` sends.
template <class Act>
std::vector<std::byte> messages_of(const Act& act) {
  const test::TempDir dir;
  test::DumpBuilder dump(dir.path());
  LaneBuilder& lane = dump.lane();
  lane.messages.environment(dump.tick(), "threads.intra_op", "2");
  act(lane);
  lane.flush();
  return lane.messages.take();
}

void end_run(LaneBuilder& lane) {
  lane.add(EventKind::outcome, "end of run").no_grad().rng(42, 1, 1);
}

}  // namespace

TEST_SUITE("what a process sends before its first event") {
  TEST_CASE("a process that only ends has computed nothing") {
    CHECK(BeforeFirstEvent().take(0, messages_of(end_run)));
  }

  TEST_CASE("an op is something that it computed") {
    CHECK_FALSE(BeforeFirstEvent().take(0, messages_of([](LaneBuilder& lane) {
                                          lane.op("aten::relu");
                                          end_run(lane);
                                        })));
  }

  TEST_CASE("so is what it leaves when it ends, where its ops are not recorded") {
    CHECK_FALSE(BeforeFirstEvent().take(
        0, messages_of([](LaneBuilder& lane) {
          lane.add(EventKind::outcome, "end of run").no_grad().input({.digest = 1});
        })));
  }

  TEST_CASE("the end of a process that turns out to be a rank is kept, in its place") {
    BeforeFirstEvent before;
    before.open_lane(0, true, "main");
    REQUIRE(before.take(0, messages_of(end_run)));
    const test::TempDir dir;
    dump::RankRecording recording({.directory = dir.path()}, 0, 4711);
    before.give(recording);
    recording.close_lane(0);
    recording.finish({});
    CHECK(open_dump(dir.path())->info().events == 1);
  }
}
