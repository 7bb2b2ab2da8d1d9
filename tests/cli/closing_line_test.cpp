#include <doctest/doctest.h>

#include "cli/record/session.hpp"

using ulpscope::cli::closing_line;
using ulpscope::cli::RecordResult;

namespace {

RecordResult recorded() {
  RecordResult result;
  result.dump = "runs/a";
  result.status.recorded = true;
  result.status.complete = true;
  result.status.ranks = {0};
  result.status.counts = {41235, 91234, 0, 50, 1};
  result.bytes_on_disk = 1'234'567'890;
  return result;
}

}  // namespace

TEST_SUITE("closing line") {
  TEST_CASE("what was recorded is told in one line") {
    RecordResult result = recorded();
    CHECK(closing_line(result) ==
          "recorded runs/a: 41,235 events, 91,234 values, 1.2 GB, 50 steps");
    result.status.ranks = {0, 1};
    result.verified_bytes = 264'000'000;
    result.waited = std::chrono::milliseconds(512);
    CHECK(closing_line(result) ==
          "recorded runs/a: 41,235 events, 91,234 values, 1.2 GB, 50 steps, 2 ranks, "
          "264 MB verified, waited 0.5 s for the disk");
  }

  TEST_CASE("an incomplete recording says why") {
    RecordResult result = recorded();
    result.status.complete = false;
    result.status.reason = "rank 0: the disk is full.";
    CHECK(closing_line(result) ==
          "recorded runs/a: 41,235 events, 91,234 values, 1.2 GB, 50 steps; incomplete: rank 0: "
          "the disk is full");
  }

  TEST_CASE("a command that ran unrecorded is a note") {
    RecordResult result;
    result.status.reason = "no process of it computed anything with LibTorch";
    CHECK(closing_line(result) ==
          "note: the command ran unrecorded: no process of it computed anything with LibTorch");
  }
}
