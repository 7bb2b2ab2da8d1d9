#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

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

/// HDF5 keeps what belongs to a file that it could not close.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace {

/// Files of this process cannot grow beyond `bytes` while this lives: EFBIG replaces a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

std::vector<std::byte> content_of_step(int step) {
  std::vector<std::byte> bytes(40'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(step));
  }
  return bytes;
}

/// Twelve steps, each with its own content, in segments of three steps.
void record_steps(DumpBuilder& dump) {
  auto& lane = dump.lane();
  TrainingRun run(lane);
  for (int step = 0; step < 12; ++step) {
    const auto bytes = content_of_step(step);
    const Digest content = digest(bytes);
    lane.messages.content(content, bytes);
    auto& event = lane.op("aten::relu");
    event.input({.flags = slot_flag::has_content});
    event.slots()[0].digest[0] = content.high;
    event.slots()[0].digest[1] = content.low;
    run.step();
  }
}

/// What verify finds, but for events that wait in the journal; a line each.
std::string damage(const std::filesystem::path& directory) {
  std::string lines;
  for (const std::string& problem : dump::verify(directory).problems) {
    if (problem.find("has a journal of events that no segment holds") == std::string::npos) {
      lines += problem + '\n';
    }
  }
  return lines;
}

/// Records until the disk fails, which then has space again. True if anything failed.
bool record_on_small_disk(const std::filesystem::path& directory, rlim_t bytes) {
  std::optional<DumpBuilder> dump;
  try {
    const SmallFiles limit(bytes);
    dump.emplace(directory, dump::RecordingOptions{.content_buffer_bytes = 0, .segment_steps = 3});
    record_steps(*dump);
    dump->recording.finish({});
    return false;
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::io);
    CHECK(std::string(error.what()).find("errno") == std::string::npos);  // a person reads it
  }
  if (dump) dump->recording.finish("the disk was full");
  return true;
}

}  // namespace

TEST_SUITE("refused writes") {
  TEST_CASE("wherever the disk refuses, what is published is whole and the journal has the rest") {
    const TempDir whole_dir;
    DumpBuilder whole(whole_dir.path(), {.segment_steps = 3});
    record_steps(whole);
    whole.recording.finish({});
    const auto expected = describe(*open_dump(whole_dir.path()), 0, 0);

    int refused = 0;
    bool to_the_end = false;
    for (rlim_t bytes = 3'001; !to_the_end; bytes += 3'001) {
      CAPTURE(bytes);
      const TempDir dir;
      dump::Status unended;
      unended.run = test::run_of(dir.path());
      unended.reason = "the recording has not ended";
      dump::write_status(dir.path(), unended);
      to_the_end = !record_on_small_disk(dir.path(), bytes);
      refused += to_the_end ? 0 : 1;
      CHECK(damage(dir.path()) == "");
      static_cast<void>(dump::recover(dir.path()));
      CHECK(damage(dir.path()) == "");
      if (!dump::list_ranks(dir.path()).empty() &&
          !dump::list_ranks(dir.path())[0].segments.empty()) {
        const auto run = open_dump(dir.path());
        const auto events = describe(*run, 0, 0);
        REQUIRE(events.size() <= expected.size());
        CHECK(std::equal(events.begin(), events.end(), expected.begin()));
        if (to_the_end) CHECK(events.size() == expected.size());
      }
    }
    CHECK(refused > 20);
  }
}
