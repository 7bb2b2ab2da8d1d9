#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "dump/journal.hpp"
#include "dump/layout.hpp"
#include "dump/segment_reader.hpp"
#include "dump/user_block.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/training_dump.hpp"
#include "ulpscope/dump_reader.hpp"

// What a dump costs: bytes per repeating step, time per event, journal, seal, reading back.

namespace {

using namespace ulpscope;
/// Time this process spent on a processor, in the kernel too: other programs do not count.
struct Clock {
  using time_point = double;
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
};

double seconds_since(Clock::time_point start) { return Clock::now() - start; }

std::uint64_t bytes_under(const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

struct Measured {
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t digests = 0;
  std::uint64_t message_bytes = 0;
  double consume_seconds = 0;
};

/// Encodes the steps first, so that only the recording is timed.
Measured record(const std::filesystem::path& directory, int steps,
                const test::TrainingShape& shape) {
  Measured measured;
  const test::TempDir scratch;
  std::vector<std::vector<std::byte>> messages;
  {
    test::DumpBuilder encoder(scratch.path());
    auto& lane = encoder.lane();
    test::TrainingRun run(lane, shape);
    run.keep_messages(&messages);
    for (int i = 0; i < steps; ++i) run.step();
  }
  test::DumpBuilder dump(directory);
  dump.lane();
  const auto start = Clock::now();
  for (const auto& message : messages) {
    dump.recording.consume(0, message);
    measured.message_bytes += message.size();
  }
  measured.consume_seconds = seconds_since(start);
  dump.finish();
  const auto segment = dump::Segment::open(dump::segment_path(dump::rank_path(directory, 0), 0));
  measured.bytes = bytes_under(directory);
  measured.events = dump.recording.counts().events;
  measured.digests = segment->tables().blocks.at(3).digests;
  return measured;
}

void measure_steps(const char* name, const test::TrainingShape& shape) {
  constexpr int kShort = 20;
  constexpr int kLong = 220;
  const test::TempDir short_dir;
  const test::TempDir long_dir;
  const auto few = record(short_dir.path(), kShort, shape);
  const auto many = record(long_dir.path(), kLong, shape);
  const double steps = kLong - kShort;
  std::printf(
      "%-28s %5.0f events %4llu digests %7.1f KB/step in the dump, %7.1f KB/step in the journal, "
      "%4.0f ns/event consumed, %.0f KB for %d steps\n",
      name, static_cast<double>(many.events - few.events) / steps,
      static_cast<unsigned long long>(many.digests),
      static_cast<double>(many.bytes - few.bytes) / steps / 1000,
      static_cast<double>(many.message_bytes - few.message_bytes) / steps / 1000,
      1e9 * many.consume_seconds / static_cast<double>(many.events),
      static_cast<double>(few.bytes) / 1000, kShort);

  const auto start = Clock::now();
  const auto run = open_dump(long_dir.path());
  const double open_seconds = seconds_since(start);
  std::uint64_t slots = 0;
  for (std::size_t i = 0; i < run->block_count(0, 0); ++i) {
    for (const Event& event : run->block(0, 0, i).events) slots += event.slots.size();
  }
  const double all = seconds_since(start);
  std::printf("%-28s open %.1f ms, decode %.0f ns/event (%llu slots)\n", "", 1e3 * open_seconds,
              1e9 * (all - open_seconds) / static_cast<double>(many.events),
              static_cast<unsigned long long>(slots));
}

void measure_journal() {
  const test::TempDir dir;
  const std::vector<std::byte> messages(440'000);
  constexpr int kRecords = 500;
  dump::JournalWriter journal(dir.path() / "journal");
  const auto start = Clock::now();
  for (int i = 0; i < kRecords; ++i) journal.append(dump::RecordKind::messages, 0, messages);
  const double with_digest = seconds_since(start);
  auto file = dump::File::create(dir.path() / "plain");
  const auto plain_start = Clock::now();
  for (int i = 0; i < kRecords; ++i) file.append(messages);
  const double plain = seconds_since(plain_start);
  std::printf("journal: %.0f us per 440 KB record, of which write(2) %.0f us\n",
              1e6 * with_digest / kRecords, 1e6 * plain / kRecords);
}

void measure_seal() {
  const test::TempDir dir;
  const auto path = dir.path() / "sealed";
  dump::File::create(path).append(std::vector<std::byte>(64U << 20));
  const auto start = Clock::now();
  dump::seal(path, {}, {});
  const double sealed = seconds_since(start);
  static_cast<void>(dump::check_seal(dump::File::open(path)));
  std::printf("user block: seal %.1f ms, check %.1f ms for 64 MiB of tables\n", 1e3 * sealed,
              1e3 * (seconds_since(start) - sealed));
}

void measure_open(std::uint32_t steps_per_segment) {
  const test::TempDir dir;
  constexpr int kSteps = 400;
  test::DumpBuilder dump(dir.path(), {.segment_steps = steps_per_segment});
  auto& lane = dump.lane();
  test::TrainingRun run(lane);
  for (int i = 0; i < kSteps; ++i) run.step();
  dump.finish();
  constexpr int kRounds = 20;
  const auto start = Clock::now();
  for (int i = 0; i < kRounds; ++i) static_cast<void>(open_dump(dir.path()));
  std::printf("open_dump: %llu segments, %.2f ms\n",
              static_cast<unsigned long long>(dump.recording.counts().segments),
              1e3 * seconds_since(start) / kRounds);
}

void measure_content(std::size_t size) {
  const int values = static_cast<int>((256U << 20) / size);
  constexpr int kRounds = 5;
  test::MessageWriter writer;
  std::vector<std::vector<std::byte>> messages;
  const std::vector<std::byte> value(size);
  for (int i = 0; i < values; ++i) {
    writer.content(test::digest_number(static_cast<std::uint64_t>(i) + 1), value, size);
    messages.push_back(writer.take());
  }
  const auto time_dump = [&] {
    const test::TempDir dir;
    test::DumpBuilder dump(dir.path(), {.segment_bytes = 1ULL << 40});
    dump.lane();
    const auto start = Clock::now();
    for (const auto& message : messages) dump.recording.consume(0, message);
    dump.recording.finish({});
    return seconds_since(start);
  };
  const auto time_plain = [&] {
    const test::TempDir dir;
    auto file = dump::File::create(dir.path() / "plain");
    const auto start = Clock::now();
    for (const auto& message : messages) file.append(std::span(message).last(size));
    return seconds_since(start);
  };
  std::vector<double> ratios;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double before = time_plain();
    const double recorded = time_dump();
    const double after = time_plain();
    ratios.push_back((before + after) / 2 / recorded);
    best = std::min(best, recorded);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("content: values of %zu bytes, %.2f GB/s, %.2f of write(2) of the same bytes\n", size,
              static_cast<double>(size) * values / best / 1e9, ratios[kRounds / 2]);
}

}  // namespace

int main() {
  test::TrainingShape shape;
  shape.layers = 100;
  measure_steps("600 ops, all steps alike", shape);
  shape.varying_arguments = true;
  measure_steps("with varying arguments", shape);
  measure_journal();
  measure_seal();
  measure_open(0);
  measure_open(1);
  for (const std::size_t size : {1U << 10, 64U << 10, 4U << 20}) measure_content(size);
}
