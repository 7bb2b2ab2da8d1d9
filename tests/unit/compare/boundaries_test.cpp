#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// A training step of one layer with everything that is recorded at its boundary; the kernel of the
/// candidate's product produces different bits.
void training_step(RunBuilder& run, bool changed) {
  const Tensor w = run.parameter("fc.weight", labelled("w"));
  const Tensor x = run.data(labelled("x"));
  run.step(0).phase(Phase::forward);
  run.parameters({w});
  Tensor y;
  const auto call = run.call("fc", [&](EventBuilder& fc) {
    fc.in(x);
    y = run.op("aten::addmm").in(x).in(w).out(labelled(changed ? "b" : "a"));
    fc.returns(y);
  });
  run.of_module(EventKind::module_output, "", call).returns(y);
  const Tensor loss = run.op("aten::sum").in(y).out(labelled(changed ? "m" : "l"));
  run.backward(true);
  const Tensor gradient = run.op("aten::expand").in(loss).out(labelled(changed ? "h" : "g"));
  run.of_module(EventKind::module_gradient, "fc", call).in(gradient);
  run.backward(false);
  run.op("aten::add_").in(w).in(gradient).writes(w, labelled(changed ? "v" : "u"));
  run.parameters({w});
}

}  // namespace

TEST_SUITE("boundaries") {
  TEST_CASE("what crosses a module's boundary is no finding beside the op's") {
    const Report report = report_of(training_step);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::addmm");
    CHECK(report.propagated.events == 3);
    CHECK(report.coverage.aligned == report.reference.events);
  }

  TEST_CASE("calls of modules that only one run shows change nothing where values are equal") {
    const Report report = report_of([](RunBuilder& run, bool inlined) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const auto body = [&] {
        Tensor y;
        run.call("block.fc", [&](EventBuilder& fc) {
          fc.in(x);
          y = run.op("aten::addmm").in(x).out(labelled("y"));
          fc.returns(y);
        });
        return y;
      };
      Tensor y;
      if (inlined)
        y = body();
      else
        run.call("block", [&](EventBuilder& block) {
          block.in(x);
          y = body();
        });
      run.op("aten::relu").in(y).out(labelled("z"));
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    CHECK(report.coverage.only_reference == 1);
  }

  TEST_CASE("a module that reads its inputs in another order is no difference") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor a = run.op("aten::sin").in(run.data(labelled("x"))).out(labelled("a"));
      const Tensor b = run.op("aten::cos").in(run.data(labelled("y"))).out(labelled("b"));
      run.call("join", [&](EventBuilder& join) {
        join.in(changed ? b : a).in(changed ? a : b);
        run.op("aten::add").in(a).in(b).out(labelled("c"));
      });
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }

  TEST_CASE("what a module leaves and no op has written is a finding only where no op reads it") {
    for (const bool read : {false, true}) {
      CAPTURE(read);
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        run.op("aten::sin").in(run.data(labelled("x"))).out(labelled("s"));
        const Tensor y = run.data(labelled(changed ? "b" : "a"));
        run.call("custom", [&](EventBuilder& custom) { custom.returns(y, slot_flag::unproduced); });
        if (read) run.op("aten::relu").in(y).out(labelled(changed ? "d" : "c"));
      });
      REQUIRE(report.findings.size() == 1);
      CHECK(report.findings[0].kind == FindingKind::data);
      CHECK(report.findings[0].op == (read ? "aten::relu" : "Linear::forward"));
    }
  }

  TEST_CASE("a module that returns another of its results diverges, also where no op reads it") {
    for (const bool read : {false, true}) {
      CAPTURE(read);
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::eval);
        const Tensor x = run.data(labelled("x"));
        Tensor y;
        run.call("heads", [&](EventBuilder& heads) {
          heads.in(x);
          const Tensor a = run.op("aten::sin").in(x).out(labelled("a"));
          const Tensor b = run.op("aten::cos").in(x).out(labelled("b"));
          y = changed ? b : a;
          heads.returns(y);
        });
        if (read) run.op("aten::relu").in(y).out(labelled(changed ? "d" : "c"));
      });
      CHECK(report.verdict == Verdict::diverged);
      REQUIRE(report.findings.size() == 1);
      CHECK(report.findings[0].kind == FindingKind::arguments);
      CHECK(report.findings[0].op == (read ? "aten::relu" : "Linear::forward"));
    }
  }

  TEST_CASE("a parameter that is another tensor diverges, though equal ops have made both") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::optimizer);
      const Tensor x = run.data(labelled("x"));
      const Tensor a = run.op("aten::sin").in(x).out(labelled("a"));
      const Tensor b = run.op("aten::cos").in(x).out(labelled("b"));
      run.name_storage(changed ? b : a, "fc.weight", slot_flag::parameter);
      run.parameters({changed ? b : a});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::parameter);
  }

  TEST_CASE("parameters are compared by name") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      const Tensor added = run.parameter("extra", labelled("e"));
      run.step(0).phase(Phase::forward);
      if (changed)
        run.parameters({added, w});
      else
        run.parameters({w});
      run.op("aten::addmm").in(w).out(labelled("y"));
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }

  TEST_CASE("of memory without a name, equal contents are partners, in whatever order") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor a = run.data(labelled("a"));
      const Tensor b = run.data(labelled("b"));
      run.step(0).phase(Phase::optimizer);
      for (const Tensor& one : {a, b}) run.name_storage(one, "", slot_flag::changed);
      if (changed)
        run.parameters({b, a});
      else
        run.parameters({a, b});
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }

  TEST_CASE("memory without a name that the program fills itself is one finding in a step") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::optimizer);
      run.op("aten::zeros").out(labelled("zeros"));
      for (const std::string name : {"a", "b", "c"}) {
        const Tensor state = run.data(labelled(name + (changed ? "2" : "1")));
        run.name_storage(state, "", slot_flag::changed);
        run.parameters({state});
      }
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(has(notes_of(report.findings[0]), "the same at 2 more ops in this step"));
  }
}
