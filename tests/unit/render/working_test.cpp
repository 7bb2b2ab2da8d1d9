#include "cli/term/working.hpp"

#include <doctest/doctest.h>

using namespace ulpscope::cli;
using namespace std::chrono_literals;

TEST_SUITE("working") {
  TEST_CASE("without knowing how much there is it says for how long") {
    CHECK(words({.what = "opening a", .since_start = 12.9s}) == "opening a: 12 s");
  }

  TEST_CASE("share, rate and time left are those of the stage") {
    CHECK(words({.what = "comparing",
                 .since_start = 30s,
                 .in_stage = 10s,
                 .unit = WorkUnit::events,
                 .done = 1'000'000,
                 .all = 4'000'000}) == "comparing: 30 s, 25.0%, 100,000 events/s, 30 s left");
  }

  TEST_CASE("bytes have their own units, and long times theirs") {
    CHECK(words({.what = "verifying",
                 .since_start = 100s,
                 .in_stage = 100s,
                 .unit = WorkUnit::bytes,
                 .done = 1'000'000'000,
                 .all = 100'000'000'000}) ==
          "verifying: 1 min 40 s, 1.0%, 10 MB/s, 2 h 45 min left");
  }

  TEST_CASE("more than all is all") {
    CHECK(words({.what = "comparing", .since_start = 2s, .in_stage = 2s, .done = 12, .all = 10}) ==
          "comparing: 2 s, 100%, 5 events/s, 0 s left");
  }
}
