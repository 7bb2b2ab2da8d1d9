#include "cli/term/histogram.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace ulpscope::cli;
using ulpscope::HistogramBin;

TEST_SUITE("histogram") {
  TEST_CASE("bins are labelled by the distances they hold, and equal elements have no bar") {
    const auto lines =
        histogram_lines({{0, 1000}, {1, 100}, {2, 50}, {8, 1}}, 10, 60, {60, false, true});
    REQUIRE(lines.size() == 5);
    CHECK(lines[0] == "ULP distance  elements");
    CHECK(lines[1] == "           0     1,000");
    CHECK(lines[2] == "           1       100  ########################");
    CHECK(lines[3] == "       2 - 3        50  ############");
    CHECK(lines[4] == "      8 - 15         1  .");
  }

  TEST_CASE("bars are drawn to an eighth of a column") {
    const auto lines = histogram_lines({{1, 64}, {2, 1}}, 10, 24 + 4, Terminal{});
    CHECK(lines[1] == "           1        64  ████");
    CHECK(lines[2] == "       2 - 3         1  ▏");
  }

  TEST_CASE("neighbouring bins are merged until few enough are left, and no element is lost") {
    std::vector<HistogramBin> bins{{0, 7}};
    for (unsigned exponent = 0; exponent < 64; ++exponent) {
      bins.push_back({std::uint64_t{1} << exponent, 1});
    }
    const auto lines = histogram_lines(bins, 5, 100, {100, false, true});
    REQUIRE(lines.size() == 6);
    CHECK(lines[1].find(" 7") != std::string::npos);
    CHECK(lines[2].find("1 - 65,535        16") != std::string::npos);
    CHECK(lines[5].find("281,474,976,710,656+") != std::string::npos);
  }

  TEST_CASE("where there is no room the bars go, not the numbers") {
    const auto lines = histogram_lines({{1, 5}}, 10, 10, Terminal{});
    CHECK(lines[1] == "           1         5");
  }
}
