#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/run_builder.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// A model that shows its parameter and computes with it.
struct Model {
  std::string root;
  std::string holds;
};

void forward(RunBuilder& run, const Model& model) {
  run.root(model.root);
  const Tensor weight = run.parameter("fc.weight", labelled(model.holds, 4));
  run.parameters({weight});
  run.module("fc", [&] {
    const Tensor x = run.data(labelled("x", 4));
    run.op("aten::mm").in(x).in(weight).out(labelled("y of " + model.holds, 4));
  });
}

Report calling(const std::vector<Model>& reference, const std::vector<Model>& candidate) {
  return report_of([&](RunBuilder& run, bool changed) {
    for (int step = 0; step < 2; ++step) {
      run.step(step).phase(Phase::forward);
      for (const Model& model : changed ? candidate : reference) forward(run, model);
    }
    run.root("Net");
    run.op("aten::ones").out(labelled("1"));
    run.leaves({});
  });
}

}  // namespace

TEST_SUITE("root pairs") {
  TEST_CASE("twins that are called in another order are the same models") {
    const Report report = calling({{"Net", "a"}, {"Net#2", "b"}}, {{"Net", "b"}, {"Net#2", "a"}});
    INFO(report.summary);
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a model that begins with other parameters is compared with the one of its name") {
    const Report report = calling({{"Net", "a"}, {"Net#2", "b"}}, {{"Net", "a"}, {"Net#2", "c"}});
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::parameter);
  }

  TEST_CASE("a model whose class has another name is compared") {
    CHECK(calling({{"Net", "a"}}, {{"Model", "a"}}).verdict == Verdict::identical);
    CHECK(calling({{"A", "a"}, {"B", "b"}}, {{"C", "b"}, {"D", "a"}}).verdict ==
          Verdict::identical);
    const Report report = calling({{"Net", "a"}}, {{"Model", "b"}});
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.coverage.only_reference == 0);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::parameter);
  }

  TEST_CASE("what shows a model is not what shows its twin, whichever setup shows") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor first = run.parameter("fc.weight", labelled("a", 4));
      const Tensor second = run.parameter("fc.weight", labelled("b", 4));
      const auto show = [&](bool one) {
        run.root(one ? "Net" : "Net#2").parameters({one ? first : second});
      };
      show(!changed);
      run.step(0).phase(Phase::forward);
      show(changed);
      for (const bool one : {!changed, changed})
        run.op("aten::mm").in(one ? first : second).out(labelled(one ? "y" : "z", 4));
      run.leaves({});
    });
    INFO(report.summary);
    CHECK(report.verdict == Verdict::identical);
  }
}
