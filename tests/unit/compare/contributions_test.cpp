#include "tests/support/ranks_run.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

using OfRank = std::function<void(RunBuilder&, std::uint32_t rank, bool changed)>;

/// Compares two runs of so many ranks; the program gets the rank's number.
Report report_of_ranks(std::uint32_t ranks, const OfRank& program) {
  RanksRun runs[2];
  for (const bool changed : {false, true})
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      RunBuilder builder;
      builder.rank(rank);
      program(builder, rank, changed);
      runs[changed ? 1 : 0].add(rank, builder.build());
    }
  return compare(runs[0], runs[1]);
}

/// Multiplies its contribution where it should differ, and exchanges it.
void reduce(RunBuilder& run, std::uint32_t rank, bool differs, bool sum_differs) {
  const Tensor given = run.data(labelled(rank == 0 ? "a" : "b"));
  const Tensor scaled = run.op("aten::mul").in(given).out(labelled(differs ? "x" : "y"));
  run.op("c10d::allreduce_").in(scaled).writes(scaled, labelled(sum_differs ? "s" : "t"));
}

const Finding* finding_of(const Report& report, std::uint32_t rank) {
  for (const Finding& finding : report.findings)
    if (finding.rank == rank) return &finding;
  return nullptr;
}

std::string said_of(const Report& report, std::uint32_t rank) {
  for (const Cause& cause : report.causes)
    if (report.findings[cause.finding].rank == rank)
      return cause.id + ": " + cause.evidence.front();
  return {};
}

}  // namespace

TEST_SUITE("contributions") {
  TEST_CASE("ranks that are given something else name the rank that gave it, behind that one") {
    const Report report = report_of_ranks(3, [](RunBuilder& run, std::uint32_t rank, bool changed) {
      run.step(2).phase(Phase::backward);
      if (rank == 1) run.op("aten::relu").in(run.data(labelled("d"))).out(labelled("e"));
      reduce(run, rank, changed && rank == 1, changed);
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->rank == 1);
    CHECK(report.first()->op == "aten::mul");
    CHECK(said_of(report, 0) == "collective: rank 1's contribution differs");
    CHECK(said_of(report, 2) == "collective: rank 1's contribution differs");
  }

  TEST_CASE("a result that no contribution explains blames no rank") {
    const Report report = report_of_ranks(2, [](RunBuilder& run, std::uint32_t rank, bool changed) {
      run.step(0).phase(Phase::backward);
      reduce(run, rank, false, changed);
    });
    CHECK(has(said_of(report, 0), "another rank contributed something else, or"));
  }

  TEST_CASE("a message is told from those of other senders") {
    const Report report = report_of_ranks(3, [](RunBuilder& run, std::uint32_t rank, bool changed) {
      run.step(0).phase(Phase::forward);
      if (rank > 0) {
        const Tensor sent = run.op("aten::mul")
                                .in(run.data(labelled("a")))
                                .out(labelled(changed && rank == 2 ? "x" : "y"));
        run.op("c10d::send").in(sent).arg("dst", 0);
        return;
      }
      for (const int sender : {1, 2}) {
        const Tensor empty = run.data(labelled("e"));
        run.op("c10d::recv_")
            .given(empty)
            .arg("src", sender)
            .writes(empty, labelled(changed && sender == 2 ? "x" : "y"));
      }
    });
    CHECK(said_of(report, 0) == "collective: rank 2's contribution differs");
  }

  TEST_CASE("a rank that counts its steps otherwise does not come before what it follows from") {
    const Report report = report_of_ranks(2, [](RunBuilder& run, std::uint32_t rank, bool changed) {
      run.step(rank == 0 ? 0 : 5).phase(Phase::forward);
      reduce(run, rank, changed && rank == 1, changed);
    });
    REQUIRE(finding_of(report, 0) != nullptr);
    CHECK(report.first()->rank == 1);
  }
}
