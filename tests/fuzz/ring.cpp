#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ring/batch_reader.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/read_everything.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/unit/ring/ring_pair.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

namespace {

using namespace ulpscope;

/// Puts the bytes into a ring as its owner can, bypassing the producer, and delivers what comes
/// out.
void pass_through_ring(dump::RankRecording& recording, std::uint32_t lane,
                       std::span<const std::byte> bytes) {
  ring::test::RingPair pair;
  bytes = bytes.first(std::min<std::size_t>(bytes.size(), ring::kSmallestRing));
  if (!bytes.empty()) std::memcpy(pair.raw.data(), bytes.data(), bytes.size());
  pair.raw.header()->head.store(bytes.size());
  ring::BatchReader reader(4096);
  for (;;) {
    const ring::Batch batch = reader.next(pair.consumer);
    if (batch.messages.empty()) return;
    recording.consume(lane, batch.messages);
    pair.consumer.release(batch.messages.size());
  }
}

}  // namespace

// Messages of a program that recorded itself with ill will, in two threads.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const test::TempDir dir;
  const auto input = test::fuzz_input(data + 1, size - 1);
  const auto first = input.first(input.size() * data[0] / 256 / 8 * 8);
  {
    dump::RankRecording recording(
        {.directory = dir.path(), .level = "full", .segment_bytes = 64, .segment_steps = 1}, 0, 1);
    recording.open_lane(0, true, "main");
    recording.open_lane(1, false, "worker");
    pass_through_ring(recording, 1, first);
    pass_through_ring(recording, 0, input.subspan(first.size()));
    recording.close_lane(1);
    recording.close_lane(0);
    recording.finish({});
  }
  try {
    test::read_everything(*open_dump(dir.path()));
  } catch (const Error&) {
    // A program that repeats a position spoils its own dump, but nothing else.
  }
  return 0;
}
