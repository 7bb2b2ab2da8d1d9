#include "cli/check/observation.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <string>

using namespace ulpscope::cli;

namespace {

/// Runs by what they print.
class Runs {
 public:
  std::vector<const MadeRun*> printing(const std::vector<std::string>& lines) {
    std::vector<const MadeRun*> runs;
    for (const std::string& line : lines) {
      MadeRun run;
      run.final_lines = line;
      runs.push_back(&made_.emplace_back(run));
    }
    return runs;
  }

 private:
  std::deque<MadeRun> made_;
};

Observation observed(const std::vector<std::string>& bare, const std::vector<std::string>& recorded,
                     bool computed_the_same) {
  Runs runs;
  return observe(runs.printing(bare), runs.printing(recorded), computed_the_same);
}

}  // namespace

TEST_SUITE("observation") {
  TEST_CASE("recorded runs that leave what bare ones do are not disturbed") {
    CHECK(observed({"a", "a"}, {"a", "a"}, true) == Observation::same);
  }

  TEST_CASE("a program that differs by itself is not disturbed if one of its results comes back") {
    CHECK(observed({"a", "b"}, {"c", "b"}, false) == Observation::same);
  }

  TEST_CASE("differences that only bare runs have disappear when recorded") {
    CHECK(observed({"a", "b"}, {"c", "c"}, true) == Observation::bare_differ);
    CHECK(observed({"a", "b"}, {"b", "b"}, true) == Observation::bare_differ);
  }

  TEST_CASE("equal runs that leave something else when recorded are disturbed") {
    CHECK(observed({"a", "a"}, {"b", "b"}, true) == Observation::recorded_differ);
  }

  TEST_CASE("a time in what runs print says nothing") {
    CHECK(observed({"1 s", "2 s"}, {"3 s", "4 s"}, true) == Observation::unclear);
  }

  TEST_CASE("one run of a kind is not enough to be sure") {
    CHECK(observed({"a"}, {"b", "b"}, true) == Observation::unclear);
  }

  TEST_CASE("without bare runs, or without anything left, nothing is known") {
    CHECK(observed({}, {"a"}, true) == Observation::unknown);
    CHECK(observed({"", ""}, {"", ""}, true) == Observation::unknown);
  }

  TEST_CASE("result files count, not what is printed") {
    MadeRun a;
    a.final_lines = "1 s";
    a.finals = {ulpscope::Digest{1, 2}};
    MadeRun b = a;
    b.final_lines = "2 s";
    CHECK(observe({&a, &a}, {&b, &b}, true) == Observation::same);
    b.finals = {std::nullopt};
    CHECK(observe({&a, &a}, {&b, &b}, true) == Observation::recorded_differ);
  }
}
