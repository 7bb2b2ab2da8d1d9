#include "cli/check/rates.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>

using namespace ulpscope::cli;

namespace {

/// The probability of at most `most` successes in `runs`, summed term by term.
double at_most(std::uint64_t most, std::uint64_t runs, double share) {
  double sum = 0;
  for (std::uint64_t k = 0; k <= most; ++k) {
    const auto n = static_cast<double>(runs);
    const auto x = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                    x * std::log(share) + (n - x) * std::log1p(-share));
  }
  return sum;
}

}  // namespace

TEST_SUITE("rates") {
  TEST_CASE("the limits of an interval each leave 2.5% outside") {
    struct Case {
      std::uint64_t seen, runs;
    };
    for (const auto& [seen, runs] : std::array{Case{2, 5}, Case{1, 30}, Case{17, 40}}) {
      const Rate found = rate(seen, runs);
      CHECK(at_most(seen, runs, found.high) == doctest::Approx(0.025));
      CHECK(1 - at_most(seen - 1, runs, found.low) == doctest::Approx(0.025));
    }
  }

  TEST_CASE("what was never seen may still happen") {
    const Rate found = rate(0, 10);
    CHECK(found.low == 0);
    CHECK(std::pow(1 - found.high, 10) == doctest::Approx(0.025));
  }

  TEST_CASE("what always happened may still not") { CHECK(rate(5, 5).high == 1); }

  TEST_CASE("the probability of missing something in independent runs") {
    CHECK(missed(2, 3) == doctest::Approx(0.125));
  }

  TEST_CASE("as many runs as bring the probability of missing it to 5%") {
    for (const double share : std::array{0.5, 0.1, 0.01}) {
      const auto runs = static_cast<double>(runs_to_see(share));
      CHECK(std::pow(1 - share, runs) <= 0.05);
      CHECK(std::pow(1 - share, runs - 1) > 0.05);
    }
    CHECK(runs_to_see(1) == 1);
  }

  TEST_CASE("two results that both came back are bimodal") {
    CHECK(distribution({17, 13}) == Distribution::bimodal);
    CHECK(distribution({29, 1}) == Distribution::unclear);
  }

  TEST_CASE("a few results that all came back are multimodal") {
    CHECK(distribution({5, 2, 4}) == Distribution::multimodal);
  }

  TEST_CASE("runs are spread if most have a result of their own") {
    CHECK(distribution({1, 1, 1, 1}) == Distribution::spread);
    CHECK(distribution({2, 1, 1, 1}) == Distribution::spread);
    CHECK(distribution({2, 1, 1}) == Distribution::unclear);
  }

  TEST_CASE("three runs do not say how results are distributed") {
    CHECK(distribution({1, 1, 1}) == Distribution::unclear);
    CHECK(distribution({}) == Distribution::unclear);
  }

  TEST_CASE("equal runs have no distribution") {
    CHECK(distribution({8}) == Distribution::unclear);
  }

  TEST_CASE("one more run gives a new result as often as results came once") {
    CHECK(new_result({4, 1, 1, 2}) == doctest::Approx(0.25));
  }
}
