#include <doctest/doctest.h>

#include <fstream>

#include "dump/layout.hpp"
#include "dump/segment_reader.hpp"
#include "dump/verify.hpp"
#include "tests/support/describe_dump.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/segment_contents.hpp"
#include "tests/support/training_dump.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using test::describe;
using test::DumpBuilder;
using test::LaneBuilder;
using test::TempDir;
using test::TrainingRun;

namespace {

std::vector<std::byte> numbered_bytes(std::size_t size, std::uint8_t start) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(start + i * 31);
  return bytes;
}

void send_content(LaneBuilder& lane, const std::vector<std::byte>& bytes) {
  lane.messages.content(digest(bytes), bytes);
}

/// An op that reads a value with those bytes.
void use_content(LaneBuilder& lane, const std::vector<std::byte>& bytes) {
  auto& event = lane.op("aten::relu");
  event.input({.flags = slot_flag::has_content});
  event.slots()[0].digest[0] = digest(bytes).high;
  event.slots()[0].digest[1] = digest(bytes).low;
}

/// A content that is published before the op that reads it comes.
void use_after_publishing(const TempDir& dir, dump::RecordingOptions options,
                          const std::vector<std::byte>& bytes) {
  options.segment_bytes = bytes.size() / 2;
  DumpBuilder dump(dir.path(), options);
  auto& lane = dump.lane();
  send_content(lane, bytes);
  lane.send();  // publishes
  use_content(lane, bytes);
  dump.finish();
}

/// What this process has read from files so far.
std::uint64_t bytes_read() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  counters >> name >> bytes;
  REQUIRE(name == "rchar:");
  return bytes;
}

ErrorCode code_of(const std::filesystem::path& directory, std::string_view selector = {}) {
  try {
    static_cast<void>(open_dump(directory, selector));
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::usage;
}

}  // namespace

TEST_SUITE("segments") {
  TEST_CASE("a segment is published every so many steps and none is left open") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.segment_steps = 3});
    TrainingRun run(dump.lane());
    for (int i = 0; i < 11; ++i) run.step();
    dump.finish();
    const auto ranks = dump::list_ranks(dir.path());
    REQUIRE(ranks.size() == 1);
    CHECK(ranks[0].segments.size() == 4);
    CHECK(ranks[0].journals.empty());
    CHECK(ranks[0].partials.empty());
    CHECK(open_dump(dir.path())->info().steps == 11);
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("a content that came just before the segment of its event is not copied into it") {
    const TempDir dir;
    const auto bytes = numbered_bytes(2000, 3);
    use_after_publishing(dir, {}, bytes);
    CHECK(test::contents_of_segments(dir.path()) == std::vector<std::size_t>{1, 0});
    CHECK(open_dump(dir.path())->content(0, digest(bytes)) == bytes);
  }

  TEST_CASE("a content that came longer before is copied") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.segment_bytes = 1000});
    auto& lane = dump.lane();
    const auto bytes = numbered_bytes(2000, 3);
    const auto other = numbered_bytes(2000, 4);
    send_content(lane, bytes);
    lane.send();
    send_content(lane, other);
    lane.send();
    use_content(lane, bytes);
    use_content(lane, other);
    dump.finish();
    CHECK(test::contents_of_segments(dir.path()) == std::vector<std::size_t>{1, 1, 1});
    std::filesystem::remove(dump::segment_path(dump::rank_path(dir.path(), 0), 0));
    const auto run = open_dump(dir.path());
    CHECK(run->content(0, digest(bytes)) == bytes);
    CHECK_FALSE(run->info().complete);
    CHECK(run->info().incomplete_reason == "Segment 0 of rank 0 is missing.");
  }

  TEST_CASE("where segments are removed, one has all the contents of its events") {
    const TempDir dir;
    use_after_publishing(dir, {.keep_last = 100}, numbered_bytes(2000, 3));
    CHECK(test::contents_of_segments(dir.path()) == std::vector<std::size_t>{1, 1});
  }

  TEST_CASE("bytes that no segment has are not searched for in them") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.segment_steps = 1});
    TrainingRun run(dump.lane());
    for (int i = 0; i < 12; ++i) run.step();
    dump.finish();
    const auto read = open_dump(dir.path());
    const std::uint64_t before = bytes_read();
    for (std::uint64_t i = 1; i < 100; ++i) CHECK_FALSE(read->content(0, {i, i}).has_value());
    CHECK(bytes_read() - before < 4096);
  }

  TEST_CASE("bytes are looked for first where the events are that were read last") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.segment_bytes = 1000});
    auto& lane = dump.lane();
    std::vector<Digest> contents;
    for (unsigned i = 0; i < 20; ++i) {
      const auto bytes = numbered_bytes(2000, static_cast<std::uint8_t>(i));
      contents.push_back(digest(bytes));
      send_content(lane, bytes);
      use_content(lane, bytes);
      lane.send();
    }
    dump.finish();
    REQUIRE(dump::list_ranks(dir.path())[0].segments.size() >= 20);
    const auto run = open_dump(dir.path());
    REQUIRE(run->content(0, contents[10]).has_value());
    const std::uint64_t before = bytes_read();
    CHECK(run->content(0, contents[11]).has_value());
    const auto rank = dump::rank_path(dir.path(), 0);
    CHECK(bytes_read() - before < 3 * std::filesystem::file_size(dump::segment_path(rank, 11)));
  }

  TEST_CASE("equal contents are stored once in a segment") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    const auto bytes = numbered_bytes(5000, 1);
    for (int i = 0; i < 3; ++i) lane.messages.content(digest(bytes), bytes);
    dump.finish();
    const auto segment = dump::Segment::open(dump::segment_path(dump::rank_path(dir.path(), 0), 0));
    CHECK(segment->tables().contents.size() == 1);
    CHECK(dump.recording.counts().bytes == 15000);
  }

  TEST_CASE("settings and notices survive the loss of the segment they came in") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.segment_steps = 1});
    auto& lane = dump.lane();
    lane.messages.environment(dump.tick(), "threads.intra_op", "2");
    lane.messages.notice(false, "Tensors of one kind were not observed.");
    TrainingRun run(lane);
    run.step();
    run.step();
    lane.messages.environment(dump.tick(), "threads.intra_op", "2");
    lane.messages.environment(dump.tick(), "threads.intra_op", "4");
    run.step();
    run.step();
    dump.finish();
    const auto rank = dump::rank_path(dir.path(), 0);
    std::filesystem::remove(dump::segment_path(rank, 0));
    const auto environment = open_dump(dir.path())->environment(0);
    REQUIRE(environment.size() == 2);
    CHECK(environment[0].step == kSetup);
    CHECK(environment[0].value == "2");
    CHECK(environment[1].step == 1);
    CHECK(environment[1].value == "4");
    const auto last = dump::Segment::open(dump::segment_path(rank, 2));
    REQUIRE(last->tables().notices.size() == 1);
    CHECK(last->string(last->tables().notices[0].text) == "Tensors of one kind were not observed.");
  }

  TEST_CASE("an op of another thread is whole in the step that it began in") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    TrainingRun run(dump.lane());
    auto& loader = dump.lane("loader");
    run.step();
    loader.begin(EventKind::op, "aten::stack");
    run.step();
    loader.op("aten::cat");
    loader.end();
    dump.finish();
    const auto recorded = open_dump(dir.path());
    REQUIRE(recorded->block_count(0, 1) == 1);
    CHECK(recorded->block(0, 1, 0).events.size() == 2);
  }

  TEST_CASE("what a setting was set to within one step stays in that order over all segments") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.segment_steps = 1});
    auto& lane = dump.lane();
    for (const char* value : {"on", "off", "on", "never"})
      lane.messages.environment(dump.tick(), "flag", value);
    TrainingRun run(lane);
    for (int step = 0; step < 3; ++step) run.step();
    for (const char* value : {"z", "a"}) lane.messages.environment(dump.tick(), "flag", value);
    dump.finish();
    std::string values;
    for (const EnvironmentEntry& entry : open_dump(dir.path())->environment(0))
      values += entry.value + " ";
    CHECK(values == "on off on never z a ");
  }

  TEST_CASE("a fatal notice makes the run incomplete") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::relu");
    lane.messages.notice(true, "Recording stopped: the ring was full for 10 s.");
    dump.finish();
    CHECK(dump.recording.stopped() == "Recording stopped: the ring was full for 10 s.");
    const auto run = open_dump(dir.path());
    CHECK_FALSE(run->info().complete);
    CHECK(run->info().incomplete_reason == "Recording stopped: the ring was full for 10 s.");
    CHECK(run->info().events == 1);
  }

  TEST_CASE("lanes have roles, and events of each its own order") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& main = dump.lane("train");
    auto& device = dump.lane("pt_autograd_0");
    auto& reader = dump.lane("reader");
    for (int i = 0; i < 3; ++i) {
      reader.op("aten::stack");
      main.op("aten::mm").root("Net").module("fc").output({.digest = 1});
      main.send();
      device.op("aten::mm").backward().input({.digest = 1, .writer = 0, .writer_lane = 0});
      device.send();
      main.add(EventKind::optimizer, "SGD::step").object(1).no_grad();
    }
    dump.finish();
    const auto run = open_dump(dir.path());
    const auto lanes = run->lanes(0);
    REQUIRE(lanes.size() == 3);
    CHECK(lanes[0].role == LaneRole::main);
    CHECK(lanes[1].role == LaneRole::autograd);
    CHECK(lanes[2].role == LaneRole::thread);
    CHECK(lanes[0].events == 6);
    CHECK(lanes[0].thread_name == "train");
    REQUIRE(run->block_count(0, 1) == 3);
    for (std::size_t step = 0; step < 3; ++step) {
      const Block block = run->block(0, 1, step);
      CHECK(block.step == static_cast<std::int64_t>(step));
      CHECK(block.events.at(0).phase == Phase::backward);
      CHECK(block.events.at(0).slots[0].writer == 0);
    }
    CHECK(describe(*run, 0, 2)[0].starts_with("step -1:"));
  }

  TEST_CASE("an event that outlives what is held of its lane takes its place later") {
    constexpr std::uint64_t kInside = 140'000;
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::rand");
    lane.begin(EventKind::scope, "training");
    lane.begin(EventKind::scope, "epoch");
    for (std::uint64_t i = 0; i < kInside; ++i) {
      lane.op("aten::relu");
      if (i % 10'000 == 0) lane.send();
    }
    lane.end();
    lane.op("aten::relu");
    lane.end();
    lane.op("aten::relu");
    dump.finish();
    const auto run = open_dump(dir.path());
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < run->block_count(0, 0); ++i) {
      for (const Event& event : run->block(0, 0, i).events) {
        CHECK(event.position == expected);
        ++expected;
      }
    }
    CHECK(expected == kInside + 5);
    CHECK(run->info().complete);
  }

  TEST_CASE("events inside one that never ended are kept") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.begin(EventKind::scope, "training");
    lane.op("aten::relu");
    lane.op("aten::mm");
    dump.finish("The program was killed by signal 9.");
    const auto run = open_dump(dir.path());
    const Block block = run->block(0, 0, 0);
    REQUIRE(block.events.size() == 2);
    CHECK(block.events[0].position == 1);
    CHECK(block.events[0].parent == 0);
    CHECK(run->info().incomplete_reason == "The program was killed by signal 9.");
  }
}

TEST_SUITE("opening a dump") {
  TEST_CASE("what cannot be opened says why") {
    const TempDir dir;
    CHECK(code_of(dir.path() / "nowhere") == ErrorCode::not_a_dump);
    CHECK(code_of(dir.path()) == ErrorCode::not_a_dump);
    CHECK(code_of(dir.path(), "steps=5-2") == ErrorCode::usage);
    CHECK(code_of(dir.path(), "rank=x") == ErrorCode::usage);
    CHECK(code_of(dir.path(), "step=1") == ErrorCode::usage);
    { dump::RankRecording recording({.directory = dir.path()}, 0, 1); }
    CHECK(code_of(dir.path()) == ErrorCode::incomplete);
  }

  TEST_CASE("a file of another kind is no segment") {
    const TempDir dir;
    const auto rank = dump::rank_path(dir.path(), 0);
    std::filesystem::create_directories(rank);
    std::ofstream(dump::segment_path(rank, 0)) << std::string(8192, 'x');
    CHECK(code_of(dir.path()) == ErrorCode::not_a_dump);
  }

  TEST_CASE("steps and ranks can be selected") {
    const TempDir dir;
    for (const std::uint32_t rank : {0U, 3U}) {
      DumpBuilder dump(dir.path(), {.segment_steps = 2}, rank);
      TrainingRun run(dump.lane(), {.seed = rank + 1});
      for (int i = 0; i < 8; ++i) run.step();
      dump.finish();
    }
    const auto whole = open_dump(dir.path());
    CHECK(whole->ranks() == std::vector<std::uint32_t>{0, 3});
    CHECK(whole->info().steps == 8);
    const auto part = open_dump(dir.path(), "rank=3,steps=2-4");
    CHECK(part->ranks() == std::vector<std::uint32_t>{3});
    CHECK(part->info().steps == 3);
    REQUIRE(part->block_count(3, 0) == 3);
    CHECK(part->block(3, 0, 0).step == 2);
    CHECK(describe(part->block(3, 0, 2).events[1]) == describe(whole->block(3, 0, 5).events[1]));
    CHECK(open_dump(dir.path(), "rank=0,rank=3")->ranks() == whole->ranks());
    CHECK(open_dump(dir.path(), "rank=1-7")->ranks() == std::vector<std::uint32_t>{3});
    CHECK(code_of(dir.path(), "rank=1") == ErrorCode::usage);
    for (const char* wrong : {"rank=", "rank=1-", "rank=-1", "rank=2-1", "rank=4294967296"}) {
      CAPTURE(wrong);
      CHECK(code_of(dir.path(), wrong) == ErrorCode::usage);
    }
  }

  TEST_CASE("without status.json a dump can be read but is not called complete") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.command = {"./train", "--fast"}, .level = "full"});
    dump.lane().op("aten::relu");
    dump.finish();
    CHECK(open_dump(dir.path())->info().complete);
    std::ofstream(dump::status_path(dir.path())) << "{\"format\": \"ulpscope-status\"";
    const auto run = open_dump(dir.path());
    CHECK_FALSE(run->info().complete);
    CHECK(run->info().command == std::vector<std::string>{"./train", "--fast"});
    CHECK(run->info().level == "full");
    CHECK(run->info().events == 1);
  }

  TEST_CASE("a block outlives the run it came from") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    dump.lane().op("aten::relu").input({.digest = 1, .name = "x"});
    dump.finish();
    auto run = open_dump(dir.path());
    const Block block = run->block(0, 0, 0);
    run.reset();
    CHECK(block.events[0].op == "aten::relu");
    CHECK(block.events[0].slots[0].name == "x");
    CHECK(block.events[0].slots[0].geometry->sizes.size() == 2);
  }
}
