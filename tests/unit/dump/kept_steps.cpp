#include "dump/kept_steps.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "dump/layout.hpp"
#include "dump/recovery.hpp"
#include "dump/verify.hpp"
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

constexpr int kSteps = 40;

dump::RecordingCounts train(const TempDir& dir, const dump::RecordingOptions& options) {
  DumpBuilder dump(dir.path(), options);
  TrainingRun run(dump.lane());
  for (int i = 0; i < kSteps; ++i) run.step();
  dump.finish();
  return dump.recording.counts();
}

std::vector<std::uint32_t> segments(const TempDir& dir) {
  return dump::list_ranks(dir.path()).at(0).segments;
}

TEST_SUITE("the last steps") {
  TEST_CASE("they alone are in the dump, as they would be in the whole one") {
    const TempDir all;
    const TempDir last;
    train(all, {});
    const auto counts = train(last, {.keep_last = 6});
    const auto run = open_dump(last.path());
    CHECK(describe(*run, 0, 0) == describe(*open_dump(all.path(), "steps=34-39"), 0, 0));
    CHECK(run->info().complete);
    CHECK(run->info().steps_in_run == kSteps);
    CHECK(run->info().notes ==
          std::vector<std::string>{"rank 0: steps before 34 were not kept (--keep-last)"});
    CHECK(counts.first_step == 34);
    CHECK(counts.steps == 6);
    CHECK(counts.events == run->info().events);
    CHECK(counts.values == run->info().values);
  }

  TEST_CASE("segments of earlier ones are gone, and that is no damage") {
    const TempDir dir;
    const auto counts = train(dir, {.keep_last = 6});
    CHECK(segments(dir).size() <= 5);
    CHECK(segments(dir).size() == counts.segments);
    CHECK(segments(dir).front() > 0);
    CHECK(dump::verify(dir.path()).problems.empty());
  }

  TEST_CASE("a segment that a killed writer did not come to remove is passed over") {
    const TempDir dir;
    const TempDir kept;
    DumpBuilder dump(dir.path(), {.keep_last = 6});
    TrainingRun run(dump.lane());
    for (int i = 0; i < kSteps; ++i) {
      run.step();
      std::filesystem::copy(dump::rank_path(dir.path(), 0), kept.path(),
                            std::filesystem::copy_options::recursive |
                                std::filesystem::copy_options::update_existing);
    }
    dump.finish();
    const auto before = describe(*open_dump(dir.path()), 0, 0);
    const std::uint32_t older = segments(dir).front() - 1;
    std::filesystem::copy(dump::segment_path(kept.path(), older),
                          dump::segment_path(dump::rank_path(dir.path(), 0), older));
    CHECK(describe(*open_dump(dir.path()), 0, 0) == before);
    CHECK(open_dump(dir.path())->info().complete);
    CHECK(dump::verify(dir.path()).problems.empty());
  }

  TEST_CASE("one that is missing among them is told") {
    const TempDir dir;
    train(dir, {.keep_last = 6});
    const std::uint32_t lost = segments(dir).front();
    std::filesystem::remove(dump::segment_path(dump::rank_path(dir.path(), 0), lost));
    CHECK_FALSE(open_dump(dir.path())->info().complete);
  }

  TEST_CASE("bytes that only a removed segment had are gone, and the recording goes on") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.level = "full", .keep_last = 2});
    auto& lane = dump.lane();
    const std::vector<std::byte> bytes(64, std::byte{7});
    const Digest content = digest(bytes);
    lane.messages.content(content, bytes);
    const auto use = [&] {
      auto& event = lane.op("aten::relu");
      event.input({.flags = slot_flag::has_content});
      event.slots()[0].digest[0] = content.high;
      event.slots()[0].digest[1] = content.low;
    };
    use();
    TrainingRun run(lane);
    for (int i = 0; i < 20; ++i) run.step();
    use();
    for (int i = 0; i < 2; ++i) run.step();
    dump.finish();
    const auto read = open_dump(dir.path());
    CHECK(read->info().complete);
    CHECK_FALSE(read->content(0, content).has_value());
  }

  TEST_CASE("a run that has no more keeps all of it, setup too") {
    const TempDir all;
    const TempDir last;
    train(all, {});
    const auto counts = train(last, {.keep_last = kSteps});
    CHECK(describe(*open_dump(last.path()), 0, 0) == describe(*open_dump(all.path()), 0, 0));
    CHECK(counts.first_step == kSetup);
    CHECK(open_dump(last.path())->info().notes.empty());
  }

  TEST_CASE("a killed recording is recovered without complaint about what was let go") {
    const TempDir dir;
    {
      DumpBuilder dump(dir.path(), {.keep_last = 6});
      TrainingRun run(dump.lane());
      for (int i = 0; i < kSteps; ++i) run.step();
    }
    dump::recover(dir.path());
    CHECK(dump::verify(dir.path()).problems.empty());
    const auto steps = test::steps_of(*open_dump(dir.path()));
    CHECK(*steps.rbegin() == kSteps - 1);
    CHECK(steps.size() >= 6);
    CHECK(*steps.begin() > 0);
  }
}

}  // namespace
