#include "dump/journal.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "dump/layout.hpp"
#include "dump/recovery.hpp"
#include "dump/verify.hpp"
#include "tests/support/describe_dump.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/training_dump.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using test::describe;
using test::DumpBuilder;
using test::TempDir;
using test::TrainingRun;

namespace {

constexpr int kJournaledSteps = 400;

/// Records steps without end and counts in shared memory those whose messages were consumed.
[[noreturn]] void record_until_killed(const std::filesystem::path& directory,
                                      std::atomic<int>* consumed) {
  DumpBuilder dump(directory, {.segment_steps = 7});
  TrainingRun run(dump.lane());
  for (int step = 0; step < kJournaledSteps; ++step) {
    run.step();
    consumed->store(step + 1);
  }
  for (;;) ::pause();
}

std::vector<std::string> uninterrupted() {
  const TempDir dir;
  DumpBuilder dump(dir.path());
  TrainingRun run(dump.lane());
  for (int step = 0; step < kJournaledSteps; ++step) run.step();
  dump.finish();
  return describe(*open_dump(dir.path()), 0, 0);
}

std::filesystem::path journal_of(const std::filesystem::path& directory) {
  return dump::journal_path(dump::rank_path(directory, 0),
                            *dump::list_ranks(directory).at(0).live_journal());
}

}  // namespace

TEST_SUITE("journal") {
  TEST_CASE("killed at any moment, a recording loses nothing that it consumed") {
    const std::vector<std::string> expected = uninterrupted();
    constexpr std::size_t kSetupEvents = 8;
    const std::size_t per_step = (expected.size() - kSetupEvents) / kJournaledSteps;
    void* shared = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    auto* consumed = new (shared) std::atomic<int>(0);
    std::mt19937_64 random(5);
    for (int kill = 0; kill < 100; ++kill) {
      CAPTURE(kill);
      const TempDir dir;
      consumed->store(0);
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) record_until_killed(dir.path(), consumed);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      const int steps = consumed->load();

      static_cast<void>(dump::recover(dir.path()));
      if (steps == 0 && dump::list_ranks(dir.path()).empty()) continue;
      if (steps == 0 && dump::list_ranks(dir.path())[0].segments.empty()) continue;
      const auto verified = dump::verify(dir.path());
      CHECK(verified.problems == std::vector<std::string>{});
      const auto run = open_dump(dir.path());
      CHECK_FALSE(run->info().complete);
      auto events = describe(*run, 0, 0);
      CHECK(events.size() >= static_cast<std::size_t>(steps) * per_step);
      REQUIRE(events.size() <= expected.size());
      CHECK(events ==
            std::vector<std::string>(
                expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(events.size())));
      CHECK(dump::list_ranks(dir.path())[0].journals.empty());
    }
    ::munmap(shared, sizeof(std::atomic<int>));
  }

  TEST_CASE("a recording of several lanes goes on from its checkpoint") {
    const TempDir killed_dir;
    const TempDir whole_dir;
    const auto record = [](DumpBuilder& dump) {
      auto& main = dump.lane();
      auto& worker = dump.lane("reader");
      TrainingRun run(main);
      for (int i = 0; i < 20; ++i) {
        worker.op("aten::stack").output({.digest = 9'000U + static_cast<std::uint64_t>(i)});
        worker.begin(EventKind::scope, "never ends while recorded");
        worker.op("aten::cat");
        if (i % 4 == 3) worker.send();
        main.messages.environment(dump.tick(), "flag", std::to_string(i / 6));
        run.step(i == 11);
        for (int depth = 0; depth < 1; ++depth) worker.end();
      }
      main.begin(EventKind::scope, "open");
      main.op("aten::relu");
      main.send();
      worker.send();
    };
    std::optional<DumpBuilder> killed;
    killed.emplace(killed_dir.path(), dump::RecordingOptions{.segment_steps = 3});
    record(*killed);
    killed.reset();  // without finish(): as if killed
    DumpBuilder whole(whole_dir.path());
    record(whole);
    whole.recording.finish({});

    CHECK_FALSE(open_dump(killed_dir.path())->info().complete);
    const auto recovery = dump::recover(killed_dir.path());
    REQUIRE(recovery.ranks.size() == 1);
    CHECK(recovery.ranks[0].unread_bytes == 0);
    const auto left = open_dump(killed_dir.path());
    const auto right = open_dump(whole_dir.path());
    for (const std::uint32_t lane : {0U, 1U}) {
      CHECK(describe(*left, 0, lane) == describe(*right, 0, lane));
    }
    REQUIRE(left->environment(0).size() == right->environment(0).size());
    for (std::size_t i = 0; i < left->environment(0).size(); ++i) {
      CHECK(left->environment(0)[i].step == right->environment(0)[i].step);
      CHECK(left->environment(0)[i].value == right->environment(0)[i].value);
    }
  }

  TEST_CASE("a last record that was cut off costs that record only") {
    const TempDir dir;
    {
      DumpBuilder dump(dir.path());
      auto& lane = dump.lane();
      for (int i = 0; i < 5; ++i) {
        lane.op("aten::relu");
        lane.send();
      }
    }
    const auto journal = journal_of(dir.path());
    std::filesystem::resize_file(journal, std::filesystem::file_size(journal) - 3);
    const auto recovery = dump::recover(dir.path());
    REQUIRE(recovery.ranks.size() == 1);
    CHECK(recovery.ranks[0].events == 4);
    CHECK(recovery.ranks[0].unread_bytes > 0);
    CHECK(open_dump(dir.path())->info().events == 4);
  }

  TEST_CASE("a journal of a published segment is ignored") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    dump.lane().op("aten::relu");
    dump.finish();
    const auto rank = dump::rank_path(dir.path(), 0);
    dump::JournalWriter(dump::journal_path(rank, 0)).append(dump::RecordKind::start, 0, {});
    CHECK(open_dump(dir.path())->info().complete);
    CHECK(dump::recover(dir.path()).ranks.empty());
    CHECK(open_dump(dir.path())->info().complete);
  }

  TEST_CASE("so is one that was begun before the segment that it follows was published") {
    const TempDir dir;
    {
      DumpBuilder dump(dir.path());
      auto& lane = dump.lane();
      lane.op("aten::relu");
      lane.send();
    }
    const auto rank = dump::rank_path(dir.path(), 0);
    dump::JournalWriter(dump::journal_path(rank, 1)).append(dump::RecordKind::start, 0, {});
    CHECK(dump::recover(dir.path()).ranks.size() == 1);
    CHECK(open_dump(dir.path())->info().events == 1);
    CHECK(dump::list_ranks(dir.path()).at(0).journals.empty());
  }

  TEST_CASE("a journal of another version is refused and left as it is") {
    const TempDir dir;
    const auto path = dump::journal_path(dump::rank_path(dir.path(), 0), 0);
    std::vector<std::byte> start;
    {
      DumpBuilder dump(dir.path());
      static_cast<void>(dump::read_journal(path, [&start](const dump::Record& record) {
        start.assign(record.payload.begin(), record.payload.end());
      }));
    }
    const std::uint32_t before = dump::kJournalVersion - 1;
    std::memcpy(start.data(), &before, sizeof before);
    dump::JournalWriter(path).append(dump::RecordKind::start, 0, start);
    CHECK_THROWS_WITH_AS(static_cast<void>(dump::recover(dir.path())),
                         "The journal was written by a different version of ulpscope.", Error);
    CHECK(std::filesystem::exists(path));
  }

  TEST_CASE("a damaged journal is read up to the damage and never further") {
    const TempDir dir;
    {
      DumpBuilder dump(dir.path(), {.segment_steps = 3});
      TrainingRun run(dump.lane());
      for (int i = 0; i < 5; ++i) run.step();
    }
    const auto journal = journal_of(dir.path());
    std::mt19937_64 random(3);
    for (int i = 0; i < 60; ++i) {
      const TempDir copy;
      std::filesystem::copy(dir.path(), copy.path(), std::filesystem::copy_options::recursive);
      auto file = dump::File::open_for_update(journal_of(copy.path()));
      // Without its first record a journal belongs to no run.
      constexpr std::uint64_t kFirstRecord = 256;
      const std::uint64_t at =
          kFirstRecord + random() % (std::filesystem::file_size(journal) - kFirstRecord);
      std::byte byte{};
      file.read_at(at, std::span(&byte, 1));
      byte ^= static_cast<std::byte>(1U << random() % 8);
      file.write_at(at, std::span(&byte, 1));
      static_cast<void>(dump::recover(copy.path()));
      CHECK(dump::verify(copy.path()).problems == std::vector<std::string>{});
    }
  }
}
