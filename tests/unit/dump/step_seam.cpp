#include "dump/step_seam.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

using namespace ulpscope;
using dump::MemoryUse;
using dump::SeamEvent;

namespace {

constexpr std::uint64_t kStepBegin = 100;  // the step's events are at 100 to 199
constexpr std::uint64_t kOfStep = 150;

/// Memory of the program: what it trains, its data, and what the step has made.
constexpr MemoryUse kReadsWeight{.storage = 1, .is_read = true, .is_named = true};
constexpr MemoryUse kReadsData{.storage = 2, .writer = 50, .is_read = true};
constexpr MemoryUse kReadsLoss{.storage = 3, .writer = kOfStep, .is_read = true};

MemoryUse reads(std::uint64_t storage, std::uint32_t part = 0) {
  return {.storage = storage, .geometry = part, .is_read = true};
}
MemoryUse makes(std::uint64_t storage) { return {.storage = storage, .is_written = true}; }
MemoryUse shows(std::uint64_t storage, std::uint32_t part) {
  return {.storage = storage, .geometry = part, .is_written = true, .is_view = true};
}

struct Op {
  std::vector<MemoryUse> uses;
  std::uint16_t depth = 0;
  bool neutral = false;
};

std::vector<SeamEvent> events_of(const std::vector<Op>& ops, std::uint64_t position) {
  std::vector<SeamEvent> events;
  for (const Op& op : ops)
    events.push_back(
        {.position = position++, .depth = op.depth, .neutral = op.neutral, .uses = op.uses});
  return events;
}

std::vector<const SeamEvent*> pointers(const std::vector<SeamEvent>& events) {
  std::vector<const SeamEvent*> result;
  for (const SeamEvent& event : events) result.push_back(&event);
  return result;
}

std::size_t seam(const std::vector<Op>& between, const std::vector<Op>& forward) {
  const auto before = events_of(between, 200);
  const auto after = events_of(forward, 200 + between.size());
  return dump::events_before_seam(pointers(before), pointers(after), kStepBegin);
}

}  // namespace

TEST_SUITE("step seam") {
  TEST_CASE("a batch belongs to the forward that reads it") {
    CHECK(seam({{{makes(10)}}, {{kReadsData, reads(10), makes(11)}}}, {{{reads(11)}}}) == 0);
  }

  TEST_CASE("a batch that no forward reads looks at nothing of the step either") {
    CHECK(seam({{{kReadsData, makes(10)}}, {{kReadsData, makes(11)}}}, {{{reads(10)}}}) == 0);
  }

  TEST_CASE("a loss that is printed belongs to its step") {
    CHECK(seam({{{kReadsLoss}}, {{makes(10)}}}, {{{reads(10)}}}) == 1);
  }

  TEST_CASE("an evaluation belongs to the step before it, with what is made of its results") {
    CHECK(seam({{{makes(20)}},                           // its batch
                {{reads(20), kReadsWeight, makes(21)}},  // the model
                {{reads(21), makes(22)}},                // how good it is
                {{makes(10)}}},
               {{{reads(10)}}}) == 3);
  }

  TEST_CASE("an evaluation on other rows of the same data is no batch") {
    const Op rows{{kReadsData, shows(2, 7)}};
    const Op other_rows{{kReadsData, shows(2, 8)}};
    const Op model{{reads(2, 8), kReadsWeight, makes(21)}};
    CHECK(seam({other_rows, model, rows}, {{{reads(2, 7)}}}) == 2);
  }

  TEST_CASE("what the model computes for the next loss belongs to that") {
    CHECK(seam({{{kReadsLoss}},
                {{makes(10)}},
                {{reads(10), kReadsWeight, makes(30)}},
                {{reads(30), makes(31)}}},
               {{{reads(10)}}, {{reads(31)}}}) == 1);
  }

  TEST_CASE("a hidden state that is carried over belongs to the forward that reads it") {
    const Op detach{{kReadsLoss, shows(3, 5)}};
    CHECK(seam({detach, {{makes(10)}}}, {{{reads(3, 5), reads(10)}}}) == 0);
  }

  TEST_CASE("weights that are clamped after the update belong to it") {
    const Op clamp{{{.storage = 1, .is_read = true, .is_written = true, .is_named = true}}};
    CHECK(seam({clamp, {{makes(10)}}}, {{{reads(10), kReadsWeight}}}) == 1);
  }

  TEST_CASE("gradients that are set to zero may belong to either") {
    const Op zero{{{.storage = 9, .is_read = true, .is_written = true, .is_named = true}}, 0, true};
    CHECK(seam({{{makes(10)}}, zero}, {{{reads(10)}}}) == 0);
    CHECK(seam({zero, {{kReadsLoss}}, {{makes(10)}}}, {{{reads(10)}}}) == 2);
  }

  TEST_CASE("what an op calls goes with it") {
    CHECK(seam({{{}, 0}, {{kReadsLoss}, 1}, {{makes(40)}, 1}, {{makes(10)}, 0}}, {{{reads(10)}}}) ==
          3);
  }

  TEST_CASE("what older steps have made is no evidence") {
    const Op old{{{.storage = 3, .writer = 99, .is_read = true}, makes(40)}};
    CHECK(seam({old}, {{{reads(10)}}}) == 0);
  }
}
