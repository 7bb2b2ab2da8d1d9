#include "dump/whole_dump.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "dump/layout.hpp"
#include "dump/recovery.hpp"
#include "dump/verify.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/training_dump.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

namespace fs = std::filesystem;
using namespace ulpscope;
using test::DumpBuilder;
using test::TempDir;
using test::TrainingRun;

namespace {

using Sentences = std::vector<std::string>;

constexpr int kRecordedSteps = 12;
constexpr const char* kJournalIsLeft =
    "Rank 0 has a journal of events that no segment holds; `ulpscope recover` publishes them.";

void train(DumpBuilder& dump, std::uint64_t seed) {
  TrainingRun run(dump.lane(), {.seed = seed});
  for (int i = 0; i < kRecordedSteps; ++i) run.step();
}

/// A dump of several segments for each rank, whose files can be changed.
class Dump {
 public:
  static Dump complete(std::uint32_t ranks = 1) {
    Dump made;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      DumpBuilder dump(made.path(), {.segment_steps = 3}, rank);
      train(dump, rank + 1);
      dump.finish();
    }
    return made;
  }

  static Dump killed(std::uint32_t ranks = 1) {
    Dump made;
    made.begin_status();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      DumpBuilder dump(made.path(), {.segment_steps = 3}, rank);
      train(dump, rank + 1);
    }
    return made;
  }

  /// status.json as it is while a program is recorded.
  void begin_status() const {
    dump::Status status;
    status.run = test::run_of(path());
    status.reason = "the recording has not ended";
    dump::write_status(path(), status);
  }

  [[nodiscard]] const fs::path& path() const { return dir_->path(); }
  [[nodiscard]] fs::path status() const { return dump::status_path(path()); }
  [[nodiscard]] fs::path rank(std::uint32_t number) const {
    return dump::rank_path(path(), number);
  }
  [[nodiscard]] fs::path segment(std::uint32_t number, std::uint32_t of_rank = 0) const {
    return dump::segment_path(rank(of_rank), number);
  }
  [[nodiscard]] fs::path journal() const {
    return dump::journal_path(rank(0), dump::list_ranks(path()).at(0).journals.back());
  }
  [[nodiscard]] std::uint32_t last() const {
    return dump::list_ranks(path()).at(0).segments.back();
  }
  [[nodiscard]] Sentences problems() const { return dump::verify(path()).problems; }

 private:
  std::unique_ptr<TempDir> dir_ = std::make_unique<TempDir>();
};

void take_from(const fs::path& other, const fs::path& place) {
  fs::copy_file(other, place, fs::copy_options::overwrite_existing);
}

void exchange(const fs::path& a, const fs::path& b) {
  const fs::path between = a.string() + ".between";
  fs::rename(a, between);
  fs::rename(b, a);
  fs::rename(between, b);
}

/// Why open_dump() rejects the dump; empty if it does not.
std::string refusal(const Dump& dump, std::string_view selector = {}) {
  try {
    static_cast<void>(open_dump(dump.path(), selector));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::corrupt);
    return error.what();
  }
  return {};
}

std::string damaged(const Dump& dump, const std::string& how) {
  return "'" + dump.path().string() + "' is damaged: " + how;
}

}  // namespace

TEST_SUITE("a dump as a whole") {
  TEST_CASE("nothing is wrong with a complete dump, or with what a killed recording has left") {
    CHECK(Dump::complete(3).problems() == Sentences{});
    CHECK(Dump::killed().problems() == Sentences{kJournalIsLeft});
    const Dump killed = Dump::killed();
    static_cast<void>(dump::recover(killed.path()));
    CHECK(killed.problems() == Sentences{});
  }

  TEST_CASE("a segment of another run is found") {
    for (const bool complete : {true, false}) {
      const auto make = complete ? Dump::complete : Dump::killed;
      const Dump dump = make(1);
      const Dump other = make(1);
      take_from(other.segment(1), dump.segment(1));
      const std::string sentence = "Segment 1 of rank 0 is from a different run.";
      CHECK(refusal(dump) == damaged(dump, sentence));
      CHECK(dump.problems().at(0) == sentence);
    }
  }

  TEST_CASE("a segment of another rank is found") {
    for (const bool complete : {true, false}) {
      const Dump dump = complete ? Dump::complete(2) : Dump::killed(2);
      take_from(dump.segment(1, 0), dump.segment(1, 1));
      const std::string sentence = "Segment 1 of rank 1 does not follow segment 0.";
      CHECK(refusal(dump) == damaged(dump, sentence));
      CHECK(dump.problems().at(0) == sentence);
    }
  }

  TEST_CASE("the last segment of another rank is found") {
    const Dump dump = Dump::complete(2);
    exchange(dump.rank(0), dump.rank(1));
    const std::string sentence = "Segment " + std::to_string(dump.last()) +
                                 " of rank 0 is not the one that status.json names.";
    CHECK(refusal(dump) == damaged(dump, sentence));
    CHECK(dump.problems().size() == 2);
  }

  TEST_CASE("segments that have exchanged their names are found") {
    const Dump dump = Dump::complete();
    exchange(dump.segment(1), dump.segment(2));
    CHECK(dump.problems() == Sentences{"The file of segment 1 of rank 0 holds segment 2.",
                                       "The file of segment 2 of rank 0 holds segment 1."});
    CHECK_FALSE(refusal(dump).empty());
  }

  TEST_CASE("a last segment that is gone is missing") {
    for (const bool complete : {true, false}) {
      const Dump dump = complete ? Dump::complete() : Dump::killed();
      const std::string sentence =
          "Segment " + std::to_string(dump.last()) + " of rank 0 is missing.";
      fs::remove(dump.segment(dump.last()));
      CHECK(dump.problems().at(0) == sentence);
      const auto run = open_dump(dump.path());
      CHECK_FALSE(run->info().complete);
      if (complete) CHECK(run->info().incomplete_reason == sentence);
    }
  }

  TEST_CASE("a rank that is gone is missing, one that was put in belongs to nobody") {
    const Dump dump = Dump::complete(2);
    fs::rename(dump.rank(1), dump.rank(7));
    CHECK(dump.problems() ==
          Sentences{"Rank 1 has no segments.", "Rank 7 is none of those that status.json names."});
    CHECK_FALSE(refusal(dump).empty());
    CHECK(refusal(dump, "rank=0").empty());
  }

  TEST_CASE("a status.json of another run is found") {
    for (const bool complete : {true, false}) {
      const Dump dump = complete ? Dump::complete() : Dump::killed();
      take_from(Dump::complete().status(), dump.status());
      CHECK(dump.problems().at(0) == "status.json is from a different run than the segments.");
      CHECK(refusal(dump) ==
            damaged(dump, "status.json is from a different run than the segments."));
    }
  }

  TEST_CASE("without status.json segments of two runs are told by the first") {
    const Dump dump = Dump::complete();
    take_from(Dump::complete().segment(2), dump.segment(2));
    fs::remove(dump.status());
    CHECK(refusal(dump) == damaged(dump, "Segment 2 of rank 0 is from a different run."));
  }

  TEST_CASE("a journal of another run is found and not replayed") {
    const Dump dump = Dump::killed();
    take_from(Dump::killed().journal(), dump.journal());
    const std::string sentence = "The journal of rank 0 does not belong to its segments.";
    CHECK(dump.problems().at(0) == sentence);
    CHECK(refusal(dump) == damaged(dump, sentence));
    CHECK_THROWS_WITH_AS(static_cast<void>(dump::recover(dump.path())), sentence.c_str(), Error);
  }

  TEST_CASE("a journal whose segment is missing is not replayed, and stays") {
    const Dump dump = Dump::killed();
    fs::remove(dump.segment(dump.last()));
    const fs::path journal = dump.journal();
    CHECK_THROWS_AS(static_cast<void>(dump::recover(dump.path())), Error);
    CHECK(fs::exists(journal));
  }

  TEST_CASE("a segment that a recovery has published before it was killed belongs to the dump") {
    const Dump dump = Dump::killed();
    static_cast<void>(dump::recover(dump.path()));
    dump.begin_status();  // as the recovery found it
    CHECK(dump.problems() == Sentences{});
    CHECK(refusal(dump).empty());
  }

  TEST_CASE("a complete dump has no more segments than status.json says") {
    const Dump dump = Dump::killed();
    static_cast<void>(dump::recover(dump.path()));
    auto status = dump::read_status(dump.path()).value();
    status.complete = true;
    --status.last_segments.at(0).segment;
    dump::write_status(dump.path(), status);
    CHECK(dump.problems().at(0) == "Rank 0 has segments that status.json does not know of.");
  }

  TEST_CASE("what status.json counts is there") {
    const Dump dump = Dump::complete();
    auto status = dump::read_status(dump.path()).value();
    ++status.counts.events;
    dump::write_status(dump.path(), status);
    const std::uint64_t events = status.counts.events;
    CHECK(dump.problems() ==
          Sentences{"status.json counts " + std::to_string(events) + " events, but there are " +
                    std::to_string(events - 1) + "."});
  }
}

TEST_SUITE("the exit code of the command") {
  TEST_CASE("is that of a whole run, where it is known") {
    const Dump dump = Dump::complete();
    auto status = dump::read_status(dump.path()).value();
    status.exit_code = 3;
    dump::write_status(dump.path(), status);
    CHECK(open_dump(dump.path())->info().exit_code == 3);
    CHECK_FALSE(open_dump(dump.path(), "steps=0-1")->info().exit_code);
    CHECK_FALSE(open_dump(dump.path(), "rank=0")->info().exit_code);
    status.exit_code.reset();
    dump::write_status(dump.path(), status);
    CHECK(dump.problems() == Sentences{});
    CHECK_FALSE(open_dump(dump.path())->info().exit_code);
  }
}

TEST_SUITE("a dump of nothing") {
  TEST_CASE("killed before anything was recorded, it is empty and not damaged") {
    const Dump dump;
    dump.begin_status();
    SUBCASE("no process") {}
    SUBCASE("no event") {
      DumpBuilder builder(dump.path());
      auto& lane = builder.lane();
      lane.messages.environment(builder.tick(), "threads.intra_op", "2");
      lane.send();
    }
    const auto verified = dump::verify(dump.path());
    CHECK(verified.problems == Sentences{});
    CHECK(verified.empty == "the recording has not ended");
    CHECK_FALSE(verified.sound());
    CHECK_THROWS_WITH_AS(static_cast<void>(open_dump(dump.path())),
                         ("'" + dump.path().string() +
                          "' is empty, nothing was recorded: the recording has not ended")
                             .c_str(),
                         Error);
  }

  TEST_CASE("a journal with an event is not empty") {
    const Dump dump;
    dump.begin_status();
    {
      DumpBuilder builder(dump.path());
      auto& lane = builder.lane();
      lane.op("aten::relu");
      lane.send();
    }
    CHECK(dump.problems() == Sentences{kJournalIsLeft});
  }

  TEST_CASE("a dump that has lost all its segments is not empty") {
    const Dump dump = Dump::complete();
    fs::remove_all(dump.rank(0));
    CHECK(dump.problems() == Sentences{"Rank 0 has no segments."});
    CHECK_THROWS_WITH_AS(
        static_cast<void>(open_dump(dump.path())),
        ("'" + dump.path().string() + "' has lost all that was recorded: Rank 0 has no segments.")
            .c_str(),
        Error);
  }
}
