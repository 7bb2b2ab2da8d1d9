#include "writer/reference_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "tests/support/dump_builder.hpp"
#include "tests/support/ranks_run.hpp"
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

std::unique_ptr<Run> reference(const TempDir& dir, std::size_t steps = kSteps) {
  DumpBuilder dump(dir.path());
  TrainingRun training(dump.lane());
  for (std::size_t step = 0; step < steps; ++step) training.step();
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

ReferenceValues values_of(const Run& run, std::size_t most = ReferenceValues::kMostValues) {
  return {run, run.ranks(), most};
}

bool lacks(ReferenceValues& values, const writer::BegunSteps& steps,
           std::span<const std::byte> messages, std::uint64_t process = 1) {
  const RankIdentity identity;
  return values.lack_one_of({process, 0, identity, steps, messages});
}
bool lacks(ReferenceValues&& values, const writer::BegunSteps& steps,
           std::span<const std::byte> messages) {
  return lacks(values, steps, messages);
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

RankIdentity declared(std::uint32_t rank, std::uint32_t restart = 0) {
  RankIdentity identity;
  identity.known = true;
  identity.declared = "RANK";
  identity.rank = rank;
  identity.restart = restart;
  return identity;
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
    ReferenceValues values = values_of(*run);
    const auto parts = sent();
    for (std::size_t step = 0; step < parts.size(); ++step)
      CHECK_FALSE(lacks(values,
                        {static_cast<std::int64_t>(step) - 1, static_cast<std::int64_t>(step) - 1},
                        parts[step]));
  }

  TEST_CASE("nor does it if messages of many steps come together") {
    const TempDir dir;
    const auto run = reference(dir);
    ReferenceValues values = values_of(*run);
    std::vector<std::byte> all;
    for (const auto& part : sent()) all.insert(all.end(), part.begin(), part.end());
    CHECK_FALSE(lacks(values, {kSetup, kSetup}, all));
  }

  TEST_CASE("other values are lacked") {
    const TempDir dir;
    const auto run = reference(dir);
    CHECK(lacks(values_of(*run), {0, 0}, sent(2).front()));
    CHECK(lacks(values_of(*run), {0, 0}, sent_value({.digest = 7})));
  }

  TEST_CASE("memory that nothing wrote is no value") {
    const TempDir dir;
    const auto run = reference(dir);
    const auto message = sent_value({.digest = 7, .flags = slot_flag::uninitialised});
    CHECK_FALSE(lacks(values_of(*run), {0, 0}, message));
  }

  TEST_CASE("values of steps that are long over are lacked") {
    const TempDir dir;
    const auto run = reference(dir);
    ReferenceValues values = values_of(*run);
    const auto parts = sent();
    static_cast<void>(lacks(values, {4, 4}, parts[4]));
    CHECK(lacks(values, {4, 4}, parts[1]));
  }

  TEST_CASE("of a process that is behind another one they are not") {
    const TempDir dir;
    constexpr std::size_t kMany = 200;  // more values than are kept without need
    constexpr std::size_t kBehind = 40;
    const auto run = reference(dir, kMany);
    ReferenceValues values = values_of(*run);
    const auto parts = sent(1, kMany);
    for (std::size_t k = 0; k < kMany; ++k) {
      const auto step = static_cast<std::int64_t>(k);
      CHECK_FALSE(lacks(values, {step, step}, parts[k], 1));
      const std::size_t behind = k - std::min(k, kBehind);
      const auto earlier = static_cast<std::int64_t>(behind);
      CHECK_FALSE(lacks(values, {earlier, earlier}, parts[behind], 2));
    }
  }

  TEST_CASE("a process that declares its rank is looked up in that rank, others in the others") {
    const TempDir dirs[4];
    RankIdentity undeclared;
    undeclared.known = true;
    test::RanksRun run;
    run.add(0, reference(dirs[0]), declared(0)).add(1, reference(dirs[1]), declared(1));
    using Ranks = std::vector<std::uint32_t>;
    CHECK(writer::possible_partners(run, declared(1)) == Ranks{1});
    CHECK(writer::possible_partners(run, declared(1, 1)).empty());
    CHECK(writer::possible_partners(run, declared(5)).empty());
    CHECK(writer::possible_partners(run, undeclared).empty());
    run.add(2, reference(dirs[2]), undeclared).add(3, reference(dirs[3]), undeclared);
    CHECK(writer::possible_partners(run, undeclared) == Ranks{2, 3});
  }

  TEST_CASE("a process that has no partner lacks nothing") {
    const TempDir dir;
    const auto run = reference(dir);
    CHECK_FALSE(lacks(ReferenceValues(*run, {}), {kSetup, kSetup}, sent(2).front()));
  }

  TEST_CASE("nothing is known of a step that is too large to be held, or that is not there") {
    const TempDir dir;
    const auto run = reference(dir);
    const auto other = sent_value({.digest = 7});
    CHECK_FALSE(lacks(values_of(*run, 8), {0, 0}, other));
    CHECK_FALSE(lacks(values_of(*run), {kSteps, kSteps}, other));
  }
}
