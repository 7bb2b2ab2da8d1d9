#include <doctest/doctest.h>

#include <fstream>
#include <random>

#include "dump/layout.hpp"
#include "dump/schema.hpp"
#include "dump/segment_reader.hpp"
#include "dump/verify.hpp"
#include "tests/support/describe_dump.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/training_dump.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using test::DumpBuilder;
using test::TempDir;
using test::TrainingRun;

namespace {

/// A finished dump of one segment with contents, and that segment's bytes.
class SoundDump {
 public:
  SoundDump() {
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    TrainingRun run(lane);
    for (std::uint8_t i = 0; i < 3; ++i) {
      const std::vector<std::byte> content(10'000U + i, std::byte{i});
      contents.push_back(digest(content));
      lane.messages.content(contents.back(), content);
      run.step();
    }
    lane.messages.environment(dump.tick(), "threads.intra_op", "2");
    dump.finish();
    path = dump::segment_path(dump::rank_path(dir.path(), 0), 0);
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    events = test::describe(*open_dump(dir.path()), 0, 0);
  }

  void write(const std::string& changed) const { std::ofstream(path, std::ios::binary) << changed; }

  TempDir dir;
  std::filesystem::path path;
  std::string bytes;
  std::vector<Digest> contents;
  std::vector<std::string> events;
};

}  // namespace

TEST_SUITE("damage") {
  TEST_CASE("one flipped bit is never overlooked by verify and never changes an answer") {
    const SoundDump dump;
    REQUIRE(dump::verify(dump.dir.path()).sound());
    std::mt19937_64 random(7);
    int refused = 0;
    for (int i = 0; i < 500; ++i) {
      const std::size_t at = random() % dump.bytes.size();
      const int bit = static_cast<int>(random() % 8);
      CAPTURE(at);
      CAPTURE(bit);
      std::string changed = dump.bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      dump.write(changed);
      CHECK_FALSE(dump::verify(dump.dir.path()).sound());
      try {
        const auto run = open_dump(dump.dir.path());
        CHECK(test::describe(*run, 0, 0) == dump.events);
        for (const Digest& content : dump.contents) static_cast<void>(run->content(0, content));
        FAIL("nobody noticed");
      } catch (const Error& error) {
        ++refused;
        const bool fits = error.code() == ErrorCode::corrupt ||
                          error.code() == ErrorCode::version ||
                          error.code() == ErrorCode::not_a_dump;
        CHECK(fits);
      }
    }
    CHECK(refused == 500);
  }

  TEST_CASE("a segment that was cut off is refused") {
    const SoundDump dump;
    std::mt19937_64 random(8);
    for (int i = 0; i < 50; ++i) {
      dump.write(dump.bytes.substr(0, random() % dump.bytes.size()));
      CHECK_THROWS_AS(static_cast<void>(open_dump(dump.dir.path())), Error);
      CHECK_FALSE(dump::verify(dump.dir.path()).sound());
    }
  }

  TEST_CASE("a newer format is refused in a sentence") {
    const SoundDump dump;
    std::string changed = dump.bytes;
    changed[8] = 3;
    dump.write(changed);
    try {
      static_cast<void>(open_dump(dump.dir.path()));
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::version);
      CHECK(std::string(error.what()).find("format 3") != std::string::npos);
    }
  }

  // What a hostile file could say: sealed as it should be, but with tables that make no sense.
  TEST_CASE("tables that do not add up are refused even under a good seal") {
    const SoundDump dump;
    const auto sound = dump::Segment::open(dump.path);
    std::mt19937_64 random(9);
    int opened = 0;
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
      dump::Tables tables = sound->tables();
      const std::size_t chosen = random() % 22;
      std::size_t number = 0;
      dump::for_each_table(tables, [&](const dump::TableSchema&, auto& rows) {
        if (number++ != chosen || rows.empty()) return;
        const auto bytes = std::as_writable_bytes(std::span(rows));
        bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 4 == 0 ? 255 : random());
      });
      tables.contents.clear();
      dump::SegmentWriter writer(dump.path);
      writer.complete(tables, {}, sound->attributes());
      writer.publish();
      try {
        const auto run = open_dump(dump.dir.path());
        static_cast<void>(test::describe(*run, 0, 0));
        ++opened;
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::corrupt);
        ++refused;
      }
    }
    CHECK(opened > 0);
    CHECK(refused > 0);
  }
}
