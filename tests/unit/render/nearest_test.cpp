#include "cli/base/nearest.hpp"

#include <doctest/doctest.h>

#include <vector>

using ulpscope::cli::nearest;

TEST_SUITE("nearest") {
  TEST_CASE("a slip of the finger finds the word that was meant") {
    const std::vector<std::string> words{"compare", "record", "verify", "--max-ulp", "--atol"};
    CHECK(nearest("comprae", words) == "compare");
    CHECK(nearest("recrod", words) == "record");
    CHECK(nearest("--max-upl", words) == "--max-ulp");
    CHECK(nearest("comp", words) == "compare");
  }

  TEST_CASE("an unrelated word finds nothing") {
    const std::vector<std::string> words{"compare", "record"};
    CHECK(nearest("train", words) == "");
    CHECK(nearest("", words) == "");
    CHECK(nearest(std::string(10'000, 'c'), words) == "");
  }

  TEST_CASE("swapped neighbours are one edit") {
    const std::vector<std::string> words{"ab"};
    CHECK(nearest("ba", words) == "ab");
  }

  TEST_CASE("of words that begin alike the one with fewer letters to add is meant") {
    const std::vector<std::string> words{"thread-rng", "threads"};
    CHECK(nearest("thread", words) == "threads");
  }
}
