#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

TEST_SUITE("origin") {
  TEST_CASE("equal runs are identical") {
    const Report report = report_of([](RunBuilder& run, bool) {
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      for (int step = 0; step < 3; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled("batch" + std::to_string(step)));
        const Tensor y = run.op("aten::mm").in(x).in(w).out(labelled("y" + std::to_string(step)));
        run.op("aten::relu").in(y).out(labelled("z" + std::to_string(step)));
      }
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    CHECK(report.causes.empty());
    CHECK(report.first() == nullptr);
    CHECK(report.coverage.aligned == 6);
    CHECK(report.reference.events == 6);
  }

  TEST_CASE("the op whose inputs are equal and whose output is not is the origin") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(4).phase(Phase::forward);
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      const Tensor x = run.data(labelled("x"));
      Tensor y;
      run.module("fc", [&] {
        y = run.op("aten::mm").in(x, "self").in(w, "mat2").out(labelled(changed ? "b" : "a"));
      });
      run.op("aten::relu").in(y).out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.verdict == Verdict::diverged);
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings.front();
    CHECK(finding.kind == FindingKind::origin);
    CHECK(finding.op == "aten::mm");
    CHECK(finding.step == 4);
    CHECK(finding.phase == Phase::forward);
    CHECK(finding.lane == "main");
    CHECK(finding.module == "fc");
    CHECK(finding.root == "Net");
    CHECK(finding.device == "cpu");
    REQUIRE(finding.tensors.size() == 3);
    CHECK(finding.tensors[0].equal);
    CHECK(finding.tensors[1].name == "fc.weight");
    CHECK(finding.tensors[2].role == Role::output);
    CHECK_FALSE(finding.tensors[2].equal);
    CHECK(report.propagated.events == 1);
    CHECK(report.propagated.steps == std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 4}});
    CHECK(cause_ids(report) == std::vector<std::string>{"unknown"});
  }
}
