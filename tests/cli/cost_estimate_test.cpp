#include "cli/record/cost_estimate.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/dump_builder.hpp"

using ulpscope::cli::CostEstimate;
using ulpscope::cli::in_words;
using ulpscope::test::TempDir;

namespace {

void store(const std::filesystem::path& directory, std::size_t bytes) {
  std::ofstream(directory / "segment", std::ios::app) << std::string(bytes, 'x');
}

}  // namespace

TEST_SUITE("cost estimate") {
  TEST_CASE("a step costs half of what two steps after the second take, told once") {
    TempDir directory;
    CostEstimate estimate(directory.path(), 50, 0);
    store(directory.path(), 5000);  // setup
    CHECK_FALSE(estimate.look(0));
    CHECK_FALSE(estimate.look(1));
    store(directory.path(), 4000);  // a first step that makes more than others
    CHECK_FALSE(estimate.look(2));
    store(directory.path(), 600);
    CHECK_FALSE(estimate.look(3));
    const auto cost = estimate.look(4);
    REQUIRE(cost);
    CHECK(cost->bytes == 300);
    CHECK(cost->wanted == 50);
    CHECK(cost->disk_free > 0);
    CHECK_FALSE(estimate.look(5));
  }

  TEST_CASE("steps that pass unseen share what they took") {
    TempDir directory;
    CostEstimate estimate(directory.path(), 0, 0);
    CHECK_FALSE(estimate.look(7));
    store(directory.path(), 4000);
    const auto cost = estimate.look(12);
    REQUIRE(cost);
    CHECK(cost->bytes == 800);
  }

  TEST_CASE("where steps are let go, fewer than before are no measure") {
    TempDir directory;
    CostEstimate estimate(directory.path(), 0, 0);
    store(directory.path(), 4000);
    CHECK_FALSE(estimate.look(4));
    CHECK_FALSE(estimate.look(3));
  }

  TEST_CASE("the words say what the whole would take and whether it fits") {
    constexpr std::uint64_t kMega = 1'000'000;
    CHECK(in_words({212 * kMega, 81'000 * kMega, 50, 0}) ==
          "a step takes about 212 MB, the 50 of --steps 11 GB; the disk has 81 GB free");
    CHECK(in_words({212 * kMega, 12'000 * kMega, 0, 0}) ==
          "a step takes about 212 MB, 100 of them 21 GB; the disk has 12 GB free, enough for 56 "
          "steps "
          "(--steps or --max-bytes bound it)");
    CHECK(in_words({200 * kMega, 12'000 * kMega, 0, 1000 * kMega}) ==
          "a step takes about 200 MB: --max-bytes ends the bytes of values after 5 steps");
    CHECK(in_words({0, 12'000 * kMega, 0, 1000 * kMega}) ==
          "a step takes about 0 B, 100 of them 0 B; the disk has 12 GB free");
  }
}
