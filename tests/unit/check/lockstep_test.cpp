#include "cli/check/lockstep.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace ulpscope;
using cli::RecentDigests;

namespace {

struct BothSides {
  bool reference;
  bool candidate;
  friend bool operator==(const BothSides&, const BothSides&) = default;
};

BothSides waiting(const cli::Lockstep& lockstep) {
  return {cli::is_to_wait(lockstep, true), cli::is_to_wait(lockstep, false)};
}

void set(cli::Advance& program, std::uint64_t steps, std::uint64_t events_in_step) {
  program.steps = steps;
  program.position = steps * events_in_step;
}

}  // namespace

TEST_SUITE("what two recorders share") {
  TEST_CASE("never do both programs wait, but in the last step that they may begin") {
    constexpr std::uint64_t kLimit = 40;
    cli::SharedLockstep shared(kLimit);
    for (const bool ended : {false, true})
      for (const std::uint64_t in_step : {1, 10, 100, 1000})
        for (std::uint64_t here = 0; here < kLimit + 5; ++here)
          for (std::uint64_t there = 0; there < kLimit + 5; ++there) {
            set(shared->reference, here, 100);
            set(shared->candidate, there, in_step);
            shared->reference.ended = ended;
            const bool both_are_there = std::min(here, there) >= kLimit;
            CHECK_EQ(waiting(*shared) == BothSides{true, true}, both_are_there);
          }
  }

  TEST_CASE("programs go on where nothing more can be compared, and wait for what can") {
    constexpr std::uint64_t kAhead = 4;
    cli::StepLimit limit(kAhead);
    cli::SharedLockstep shared(limit.first());
    const auto both_begin = [&](std::uint64_t steps) {
      set(shared->reference, steps, 10);
      set(shared->candidate, steps, 10);
    };
    both_begin(5);
    limit.move_on(*shared, 2);
    CHECK(waiting(*shared) == BothSides{false, false});
    both_begin(7);
    limit.move_on(*shared, 2);
    CHECK(waiting(*shared) == BothSides{true, true});  // more may have been published by now
    limit.move_on(*shared, 3);
    CHECK(waiting(*shared) == BothSides{false, false});
    both_begin(8);
    limit.move_on(*shared, 3);
    limit.move_on(*shared, 3);
    CHECK(waiting(*shared) == BothSides{false, false});
    for (std::uint64_t steps = 9; steps < 100; ++steps) {
      both_begin(steps);
      limit.move_on(*shared, 3);
      CHECK(waiting(*shared) == BothSides{false, false});
    }
    limit.move_on(*shared, 90);
    CHECK(waiting(*shared) == BothSides{true, true});
    limit.move_on(*shared, 98);
    CHECK(waiting(*shared) == BothSides{false, false});
  }

  TEST_CASE("the one that is left waits for no other") {
    cli::StepLimit limit(4);
    cli::SharedLockstep shared(limit.first());
    set(shared->reference, 3, 10);
    shared->reference.ended = true;
    set(shared->candidate, 5, 10);
    limit.move_on(*shared, 0);
    CHECK(waiting(*shared).candidate);
    limit.move_on(*shared, 0);
    CHECK_FALSE(waiting(*shared).candidate);
  }

  TEST_CASE("a digest is known from when it was added until many others were") {
    cli::SharedLockstep shared(1);
    RecentDigests& digests = shared->digests;
    CHECK_FALSE(digests.has(7));
    digests.add(7);
    CHECK(digests.has(7));
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;
    for (std::uint64_t k = 1; k <= RecentDigests::kKept; ++k) digests.add(k * kSpread);
    CHECK(digests.has(7));
    CHECK(digests.has(kSpread));
    CHECK(digests.has(RecentDigests::kKept * kSpread));
    for (std::uint64_t k = 1; k <= 2 * RecentDigests::kKept; ++k)
      digests.add((k + RecentDigests::kKept) * kSpread);
    CHECK_FALSE(digests.has(7));
    CHECK(digests.has(3 * RecentDigests::kKept * kSpread));
  }
}
