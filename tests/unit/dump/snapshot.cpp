#include "dump/snapshot.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "dump/recovery.hpp"
#include "tests/support/describe_dump.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/training_dump.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::describe;
using test::DumpBuilder;
using test::TempDir;
using test::TrainingRun;

namespace {

/// A recording of two published segments and an open one, and of its status.
class Recording {
 public:
  Recording() : dump_(dir_.path(), {.segment_steps = 2}), training_(dump_.lane()) {
    dump::Status status;
    status.run = test::run_of(dir_.path());
    dump::write_status(dir_.path(), status);
    for (int step = 0; step < 6; ++step) training_.step();
  }

  std::unique_ptr<Run> so_far() {
    const TempDir to;
    dump::take_snapshot(dir_.path(), to.path() / "so-far");
    static_cast<void>(dump::recover(to.path() / "so-far"));
    return open_dump(to.path() / "so-far");
  }

  std::vector<std::string> at_the_end() {
    dump_.finish();
    return describe(*open_dump(dir_.path()), 0, 0);
  }

 private:
  TempDir dir_;
  DumpBuilder dump_;
  TrainingRun training_;
};

}  // namespace

TEST_SUITE("a snapshot of a recording") {
  TEST_CASE("it has every event so far, those of the open step included") {
    Recording recording;
    const auto run = recording.so_far();
    CHECK(run->info().steps == 6);
    CHECK_FALSE(run->info().complete);
  }

  TEST_CASE("the recording goes on as if there were none") {
    Recording watched;
    static_cast<void>(watched.so_far());
    CHECK(watched.at_the_end() == Recording().at_the_end());
  }
}
