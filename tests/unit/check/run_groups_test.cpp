#include "ulpscope/run_groups.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace ulpscope;

namespace {

/// Runs as what they compute in each step: two diverge in the first step that differs.
class Programs {
 public:
  explicit Programs(std::vector<std::string> results) : results_(std::move(results)) {}

  RunGroups groups() {
    RunGroups groups([this](std::size_t a, std::size_t b) { return compared(a, b); });
    for (std::size_t run = 0; run < results_.size(); ++run) groups.add(run);
    return groups;
  }

 private:
  Report compared(std::size_t a, std::size_t b) const {
    Report report;
    report.verdict = Verdict::identical;
    for (std::size_t step = 0; step < results_[a].size(); ++step) {
      if (results_[a][step] == results_[b][step]) continue;
      Finding finding;
      finding.step = static_cast<std::int64_t>(step);
      finding.event.reference = 10 * step;
      report.verdict = Verdict::diverged;
      report.findings.push_back(finding);
      break;
    }
    return report;
  }

  std::vector<std::string> results_;
};

using Indices = std::vector<std::size_t>;

}  // namespace

TEST_SUITE("run groups") {
  TEST_CASE("equal runs are one group") {
    const RunGroups groups = Programs({"aaa", "aaa", "aaa"}).groups();
    REQUIRE(groups.groups().size() == 1);
    CHECK(groups.groups()[0].runs == Indices{0, 1, 2});
    CHECK(groups.splits().empty());
  }

  TEST_CASE("the largest group is the one with the most runs") {
    CHECK(Programs({"aab", "aaa", "aaa"}).groups().largest() == 1);
  }

  TEST_CASE("runs that leave the others at the same op are separated by its results") {
    const RunGroups groups = Programs({"aaa", "aba", "aca", "aba"}).groups();
    REQUIRE(groups.splits().size() == 1);
    const RunSplit split = groups.splits().front();
    CHECK(split.step == 1);
    CHECK(split.groups == std::vector<Indices>{{0}, {1}, {2}});
  }

  TEST_CASE("runs that agree for longer are separated later") {
    const RunGroups groups = Programs({"aaaa", "abba", "abca", "aaab"}).groups();
    const std::vector<RunSplit> splits = groups.splits();
    REQUIRE(splits.size() == 3);
    CHECK(splits[0].step == 1);
    CHECK(splits[0].groups == std::vector<Indices>{{0, 3}, {1, 2}});
    CHECK(splits[1].step == 2);
    CHECK(splits[1].groups == std::vector<Indices>{{1}, {2}});
    CHECK(splits[2].step == 3);
    CHECK(splits[2].groups == std::vector<Indices>{{0}, {3}});
  }

  TEST_CASE("two runs that agree with a third one for longer than with each other are separated") {
    RunGroups groups([](std::size_t a, std::size_t b) {
      Finding finding;
      finding.step = a == 1 && b == 2 ? 3 : 5;
      Report report;
      report.verdict = Verdict::diverged;
      report.findings.push_back(finding);
      return report;
    });
    for (std::size_t run = 0; run < 3; ++run) groups.add(run);
    const std::vector<RunSplit> splits = groups.splits();
    REQUIRE(splits.size() == 2);
    CHECK(splits[0].step == 3);
    CHECK(splits[0].groups == std::vector<Indices>{{0, 1}, {2}});
    CHECK(splits[1].step == 5);
    CHECK(splits[1].groups == std::vector<Indices>{{0}, {1}});
  }

  TEST_CASE("only runs that represent a group are compared again") {
    std::vector<std::size_t> compared;
    RunGroups groups([&](std::size_t a, std::size_t) {
      compared.push_back(a);
      Report equal;
      equal.verdict = Verdict::identical;
      return equal;
    });
    for (std::size_t run = 5; run < 9; ++run) groups.add(run);
    CHECK(compared == Indices{5, 5, 5});
  }

  TEST_CASE("a comparison that decides nothing makes no equal runs") {
    RunGroups groups([](std::size_t, std::size_t) { return Report{}; });
    groups.add(0);
    groups.add(1);
    CHECK(groups.groups().size() == 2);
    CHECK_FALSE(groups.conclusive());
  }
}
