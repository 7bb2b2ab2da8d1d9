#include <doctest/doctest.h>

#include "dump/layout.hpp"
#include "dump/segment_reader.hpp"
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

std::shared_ptr<const dump::Segment> first_segment(const std::filesystem::path& directory) {
  return dump::Segment::open(dump::segment_path(dump::rank_path(directory, 0), 0));
}

}  // namespace

TEST_SUITE("templates") {
  TEST_CASE("a step that repeats stores its digests and no rows") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    TrainingRun run(dump.lane());
    for (int i = 0; i < 20; ++i) run.step();
    dump.finish();

    const auto segment = first_segment(dir.path());
    const auto& tables = segment->tables();
    REQUIRE(tables.blocks.size() == 21);  // setup and 20 steps
    for (std::size_t step = 4; step < 20; ++step) {
      CAPTURE(step);
      CHECK(tables.blocks[step].template_id == tables.blocks[3].template_id);
      CHECK(tables.blocks[step].event_overrides == 0);
      CHECK(tables.blocks[step].slot_overrides == 0);
      CHECK(tables.blocks[step].digests == tables.blocks[3].digests);
    }
    CHECK(tables.templates.size() <= 4);
  }

  TEST_CASE("a step that differs a little stores its differences and comes back whole") {
    const TempDir plain_dir;
    const TempDir dir;
    DumpBuilder dump(dir.path());
    DumpBuilder one_segment_per_step(plain_dir.path(), {.segment_steps = 1});
    for (DumpBuilder* builder : {&dump, &one_segment_per_step}) {
      TrainingRun run(builder->lane(), {.varying_arguments = true});
      for (int i = 0; i < 12; ++i) run.step(i == 7);
      builder->finish();
    }
    const auto segment = first_segment(dir.path());
    const auto& tables = segment->tables();
    CHECK(tables.blocks[8].slot_overrides == 1);
    CHECK(tables.blocks[8].event_overrides == 0);
    CHECK(tables.blocks[8].argument_overrides == 4);
    CHECK(tables.blocks[9].slot_overrides == 0);

    const auto together = open_dump(dir.path());
    const auto apart = open_dump(plain_dir.path());
    CHECK(describe(*together, 0, 0) == describe(*apart, 0, 0));
    CHECK(together->info().events == apart->info().events);
  }

  TEST_CASE("blocks of long steps are cut") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    for (std::size_t i = 0; i < 2 * dump::kBlockEvents + 5; ++i) lane.op("aten::relu");
    dump.finish();
    const auto run = open_dump(dir.path());
    REQUIRE(run->block_count(0, 0) == 3);
    CHECK(run->block(0, 0, 1).events.front().position == dump::kBlockEvents);
    CHECK(run->block(0, 0, 2).events.size() == 5);
  }

  TEST_CASE("values are told apart by what they are, not by their digests") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::relu")
        .input({.digest = 5, .value = 1})
        .input({.digest = 5, .value = 2})
        .output({.digest = 5, .value = 0})
        .output({.digest = 6, .value = 1});  // contradicts itself: kept all the same
    dump.finish();
    const auto run = open_dump(dir.path());
    const Block block = run->block(0, 0, 0);
    REQUIRE(block.events.size() == 1);
    CHECK(block.events[0].slots[2].digest == test::digest_number(5));
    CHECK(block.events[0].slots[3].digest == test::digest_number(6));
    CHECK(first_segment(dir.path())->tables().digests.size() == 4);
  }
}
