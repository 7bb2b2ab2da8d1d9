#include "cli/check/smallest_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace ulpscope::cli;

namespace {

/// Fails if all of `needed` are there.
std::function<bool(const IndexSet&)> needs(IndexSet needed) {
  return [needed = std::move(needed)](const IndexSet& set) {
    return std::includes(set.begin(), set.end(), needed.begin(), needed.end());
  };
}

}  // namespace

TEST_SUITE("smallest failing set") {
  TEST_CASE("one culprit among many is found, wherever it is") {
    for (std::size_t culprit = 0; culprit < 13; ++culprit)
      CHECK(smallest_failing_set(13, needs({culprit})) == IndexSet{culprit});
  }

  TEST_CASE("culprits that matter only together are all found") {
    for (std::size_t a = 0; a < 9; ++a)
      for (std::size_t b = a + 1; b < 9; ++b)
        CHECK(smallest_failing_set(9, needs({a, b})) == IndexSet{a, b});
  }

  TEST_CASE("if all are needed, none is left out") {
    CHECK(smallest_failing_set(5, needs({0, 1, 2, 3, 4})) == IndexSet{0, 1, 2, 3, 4});
  }

  TEST_CASE("of two that each suffice one is named") {
    const IndexSet found = smallest_failing_set(
        8, [](const IndexSet& set) { return needs({2})(set) || needs({6})(set); });
    CHECK(found.size() == 1);
  }

  TEST_CASE("a single one needs no search") {
    CHECK(smallest_failing_set(1, needs({0})) == IndexSet{0});
  }
}
