#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>

#include "dump/files.hpp"
#include "dump/layout.hpp"
#include "dump/recovery.hpp"
#include "dump/schema.hpp"
#include "dump/segment_reader.hpp"
#include "dump/segment_writer.hpp"
#include "dump/user_block.hpp"
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
    changed[8] = dump::kFormatVersion + 1;
    dump.write(changed);
    try {
      static_cast<void>(open_dump(dump.dir.path()));
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::version);
      CHECK(std::string(error.what()).find("format " + std::to_string(dump::kFormatVersion + 1)) !=
            std::string::npos);
    }
  }

  // What a hostile file could say: sealed correctly, but with tables that make no sense.
  TEST_CASE("tables that do not add up are refused even under a good seal") {
    const SoundDump dump;
    const auto sound = dump::Segment::open(dump.path);
    std::filesystem::remove(dump::status_path(dump.dir.path()));  // it knows the valid one's seal
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

  // The directory of a hostile file, with a correct seal.
  TEST_CASE("places of tables that are not in the file are refused") {
    const SoundDump dump;
    const auto sound = dump::check_seal(dump::File::open(dump.path)).directory;
    const auto refused = [&](const dump::Directory& directory) {
      dump.write(dump.bytes);
      dump::seal(dump.path, directory, {});
      CHECK_THROWS_AS(static_cast<void>(dump::Segment::open(dump.path)), Error);
      CHECK_FALSE(dump::verify(dump.dir.path()).sound());
    };
    for (std::size_t table = 0; table < dump::Directory::kTables; ++table) {
      CAPTURE(table);
      for (const std::uint64_t number : {dump.bytes.size() + 1, std::uint64_t{1} << 62,
                                         (std::uint64_t{1} << 63) - 1, ~std::uint64_t{0}}) {
        CAPTURE(number);
        auto directory = sound;
        directory.tables[table].offset = number;
        if (directory.tables[table].rows > 0) refused(directory);
        directory = sound;
        directory.tables[table].rows = number;
        refused(directory);
      }
    }
  }

  TEST_CASE("tables that lay over each other cannot ask for more memory than the file has bytes") {
    const SoundDump dump;
    dump::Directory directory;
    for (auto& table : directory.tables) table = {0, dump.bytes.size() / 64};
    directory.tables[0] = directory.tables[2] = {0, dump.bytes.size()};
    dump::seal(dump.path, directory, {});
    CHECK_THROWS_AS(static_cast<void>(dump::Segment::open(dump.path)), Error);
  }

  TEST_CASE("what is no regular file is refused without waiting for it") {
    const SoundDump dump;
    std::filesystem::remove(dump.path);
    REQUIRE(::mkfifo(dump.path.c_str(), 0600) == 0);
    CHECK_THROWS_AS(static_cast<void>(open_dump(dump.dir.path())), Error);
    CHECK_FALSE(dump::verify(dump.dir.path()).sound());
  }

  TEST_CASE("recovery writes through no link that a dump brings along") {
    const TempDir dir;
    const TempDir elsewhere;
    {
      DumpBuilder dump(dir.path());
      auto& lane = dump.lane();
      lane.op("aten::relu");
      lane.send();
    }  // killed: only the journal is left
    const auto rank = dump::rank_path(dir.path(), 0);
    const auto file = elsewhere.path() / "file";
    std::ofstream(file) << "precious";
    for (const auto& name : {rank / "segment-000000.h5.partial", rank / "segment-000000.h5",
                             dir.path() / "status.json", dir.path() / "status.json.partial"}) {
      std::filesystem::remove(name);
      if (name.filename() != "segment-000000.h5") std::filesystem::create_symlink(file, name);
    }
    static_cast<void>(dump::recover(dir.path()));
    std::string content;
    std::getline(std::ifstream(file), content);
    CHECK(content == "precious");
    CHECK(open_dump(dir.path())->info().events == 1);
  }

  TEST_CASE("a rank that is a link is not recovered: its files are somebody else's") {
    const TempDir dir;
    const TempDir elsewhere;
    std::ofstream(elsewhere.path() / "notes.partial") << "precious";
    std::filesystem::create_directory_symlink(elsewhere.path(), dump::rank_path(dir.path(), 0));
    CHECK_THROWS_AS(static_cast<void>(dump::recover(dir.path())), Error);
    CHECK(std::filesystem::exists(elsewhere.path() / "notes.partial"));
  }
}
