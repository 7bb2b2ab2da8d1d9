#include "writer/reference_values.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "tests/support/dump_builder.hpp"
#include "tests/support/training_dump.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::DumpBuilder;
using test::LaneBuilder;
using test::TempDir;
using test::TrainingRun;
using writer::ReferenceValues;

namespace {

constexpr std::size_t kSteps = 6;

std::unique_ptr<Run> reference(const TempDir& dir) {
  DumpBuilder dump(dir.path());
  TrainingRun training(dump.lane());
  for (std::size_t step = 0; step < kSteps; ++step) training.step();
  dump.finish();
  return open_dump(dir.path());
}

/// What a program sends, a part for each step.
std::vector<std::vector<std::byte>> sent(std::uint64_t seed = 1, std::size_t steps = kSteps) {
  const TempDir dir;
  DumpBuilder dump(dir.path());
  std::vector<std::vector<std::byte>> parts;
  TrainingRun training(dump.lane(), {.seed = seed});
  training.keep_messages(&parts);
  for (std::size_t step = 0; step < steps; ++step) training.step();
  return parts;
}

/// What a program sends that makes one value.
std::vector<std::byte> sent_value(const test::TensorSpec& value) {
  const TempDir dir;
  DumpBuilder dump(dir.path());
  LaneBuilder& lane = dump.lane();
  lane.op("aten::relu").output(value);
  lane.flush();
  return lane.messages.take();
}

}  // namespace

TEST_SUITE("digests by step") {
  TEST_CASE("those of old steps are forgotten, seen again they are not") {
    writer::DigestSteps digests;
    constexpr std::uint64_t kMany = 10'000;
    for (std::uint64_t k = 0; k < kMany; ++k) digests.put(k * 64, 1);
    digests.put(0, 2);
    CHECK(digests.has(64 * (kMany - 1)));
    CHECK_FALSE(digests.has(1));
    digests.forget_before(2);
    CHECK(digests.has(0));
    CHECK_FALSE(digests.has(64));
    for (std::uint64_t k = 0; k < kMany; ++k) digests.put(k * 64 + 1, 2);
    CHECK(digests.has(0));
    CHECK(digests.has(64 * (kMany - 1) + 1));
    CHECK_FALSE(digests.has(64));
  }
}

TEST_SUITE("values of the reference") {
  TEST_CASE("an equal run lacks none, though its steps are known late") {
    const TempDir dir;
    const auto run = reference(dir);
    ReferenceValues values(*run);
    const auto parts = sent();
    for (std::size_t step = 0; step < parts.size(); ++step)
      CHECK_FALSE(values.lack_one_of(
          {static_cast<std::int64_t>(step) - 1, static_cast<std::int64_t>(step) - 1}, parts[step]));
  }

  TEST_CASE("nor does it if messages of many steps come together") {
    const TempDir dir;
    const auto run = reference(dir);
    ReferenceValues values(*run);
    std::vector<std::byte> all;
    for (const auto& part : sent()) all.insert(all.end(), part.begin(), part.end());
    CHECK_FALSE(values.lack_one_of({kSetup, kSetup}, all));
  }

  TEST_CASE("other values are lacked") {
    const TempDir dir;
    const auto run = reference(dir);
    CHECK(ReferenceValues(*run).lack_one_of({0, 0}, sent(2).front()));
    CHECK(ReferenceValues(*run).lack_one_of({0, 0}, sent_value({.digest = 7})));
  }

  TEST_CASE("memory that nothing wrote is no value") {
    const TempDir dir;
    const auto run = reference(dir);
    const auto message = sent_value({.digest = 7, .flags = slot_flag::uninitialised});
    CHECK_FALSE(ReferenceValues(*run).lack_one_of({0, 0}, message));
  }

  TEST_CASE("values of steps that are long over are lacked") {
    const TempDir dir;
    const auto run = reference(dir);
    ReferenceValues values(*run);
    const auto parts = sent();
    static_cast<void>(values.lack_one_of({4, 4}, parts[4]));
    CHECK(values.lack_one_of({4, 4}, parts[1]));
  }

  TEST_CASE("nothing is known of a step that is too large to be held, or that is not there") {
    const TempDir dir;
    const auto run = reference(dir);
    const auto other = sent_value({.digest = 7});
    CHECK_FALSE(ReferenceValues(*run, 8).lack_one_of({0, 0}, other));
    CHECK_FALSE(ReferenceValues(*run).lack_one_of({kSteps, kSteps}, other));
  }
}
