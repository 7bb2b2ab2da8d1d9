#include <doctest/doctest.h>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// Gives `tensor` what it holds in another run.
void inject(RunBuilder& run, const Tensor& tensor, const Values& values) {
  run.op(kInject).writes(tensor, values);
}

}  // namespace

TEST_SUITE("injected values") {
  TEST_CASE("what differs behind a difference shows once it is given the reference's inputs") {
    const auto program = [](bool given) {
      return [given](RunBuilder& run, bool changed) {
        if (changed && given) run.environment("capture.inject", "op");
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        const Tensor y = run.op("aten::mm").in(x).out(labelled(changed ? "other y" : "y"));
        if (changed && given) inject(run, y, labelled("y"));
        run.op("aten::_softmax").in(y).out(labelled(changed ? "other z" : "z"));
      };
    };
    const Report plain = report_of(program(false));
    REQUIRE(plain.findings.size() == 1);
    CHECK(plain.candidate.injected.empty());
    const Report report = report_of(program(true));
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[0].op == "aten::mm");
    CHECK(report.findings[1].op == "aten::_softmax");
    CHECK(report.findings[1].kind == FindingKind::origin);
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.candidate.injected == "op");
    CHECK(report.reference.injected.empty());
  }

  TEST_CASE("a run whose results are not its own is never identical") {
    const auto program = [](RunBuilder& run, bool changed) {
      if (changed) run.environment("capture.inject", "op");
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      if (changed) inject(run, x, labelled("x"));
      run.op("aten::exp").in(x).out(labelled("y"));
    };
    const Report report = report_of(program);
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(report.findings.empty());
    CHECK(has(report.summary, "given values of another run"));
  }

  TEST_CASE("an op of one run alone is a finding: what follows from it does not show") {
    const auto program = [](RunBuilder& run, bool changed) {
      if (changed) run.environment("capture.inject", "op");
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor y = run.op("aten::mm").in(x).out(labelled("y"));
      if (changed) {
        run.op("aten::mul_").in(y).writes(y, labelled("other y"));
        inject(run, y, labelled("y"));
      }
      run.op("aten::exp").in(y).out(labelled("z"));
    };
    const Report report = report_of(program);
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::mul_");
  }

  TEST_CASE("a value of a different call explains what follows from it") {
    const auto program = [](bool known) {
      return [known](RunBuilder& run, bool changed) {
        if (changed && known) run.environment("capture.inject", "op");
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        if (changed) inject(run, x, labelled("of another call"));
        run.op("aten::exp").in(x).out(labelled(changed ? "other y" : "y"));
      };
    };
    CHECK(report_of(program(false)).findings.size() == 1);
    const Report report = report_of(program(true));
    CHECK(report.findings.empty());
    CHECK(report.propagated.events == 1);
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE(
      "what another lane had read before a value was given follows from what made it differ") {
    const auto program = [](RunBuilder& run, bool changed) {
      if (changed) run.environment("capture.inject", "op");
      run.step(0).phase(Phase::forward);
      const Tensor p = run.parameter("p", labelled("p"));
      const Tensor y = run.op("aten::mm").in(p).out(labelled("y"));
      run.lane(LaneRole::autograd, 0);
      const Tensor g = run.op("aten::mul").in(y).out(labelled(changed ? "other g" : "g"));
      run.event(EventKind::gradient, "torch::autograd::AccumulateGrad")
          .in(g)
          .calls([&] { run.op("aten::detach").given(g, slot_flag::metadata_only).returns_view(g); })
          .returns(g);
      run.lane(LaneRole::main, 0);
      if (changed) inject(run, g, labelled("g"));
      run.phase(Phase::optimizer).op("aten::add_").in(p).in(g).writes(p, labelled("p after"));
    };
    const Report report = report_of(program);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::mul");
  }

  TEST_CASE("a change that ends before any outcome still diverges: values were given in between") {
    const auto program = [](bool given) {
      return [given](RunBuilder& run, bool changed) {
        if (changed && given) run.environment("capture.inject", "op");
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        const Tensor y = run.op("aten::mul")
                             .in(x)
                             .arg("other", changed ? 3 : 2)
                             .out(labelled(changed ? "3x" : "2x"));
        if (changed && given) inject(run, y, labelled("2x"));
        const Tensor z = run.op("aten::sign").in(y).out(labelled("sign"));
        run.op("aten::sum").in(z).out(labelled("sum"));
      };
    };
    CHECK(report_of(program(false)).verdict == Verdict::identical);
    CHECK(report_of(program(true)).verdict == Verdict::diverged);
  }
}
