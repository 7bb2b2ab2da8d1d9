#include "cli/check/lockstep.hpp"

#include <doctest/doctest.h>

using namespace ulpscope;
using cli::RecentDigests;

TEST_SUITE("what two recorders share") {
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
