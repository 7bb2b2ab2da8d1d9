#include <string>
#include <vector>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// One layer whose weight is allocated in setup, when it has no name yet; what it is named later.
void allocate_and_train(RunBuilder& run, int rows) {
  run.step(kSetup).phase(Phase::setup);
  const Tensor w =
      run.op("aten::empty")
          .arg("size", std::vector<std::int64_t>{rows, 1})
          .out(Values({rows, 1}, std::vector<double>(static_cast<std::size_t>(rows), 1)));
  run.name_storage(w, "fc.weight", slot_flag::parameter);
  run.step(0).phase(Phase::forward);
  run.parameters({w});
  run.op("aten::mm").in(w).out(labelled("y" + std::to_string(rows)));
}

/// A step of SGD. Its rate is an argument of the optimizer's event and of the op that updates.
void update(RunBuilder& run, double rate, bool other_op = false) {
  run.step(0).phase(Phase::forward);
  const Tensor w = run.parameter("fc.weight", labelled("w"));
  const Tensor g = run.data(labelled("g"));
  run.op("aten::neg").in(w).out(labelled("y"));
  run.phase(Phase::optimizer);
  run.event(EventKind::optimizer, "SGD::step").arg("lr", rate).calls([&] {
    if (other_op) run.op("aten::mul_").in(w).writes(w, labelled("decayed"));
    run.op("aten::add_")
        .flag(event_flag::in_optimizer)
        .in(w)
        .in(g)
        .arg("alpha", -rate)
        .writes(w, labelled("w after " + std::to_string(rate)));
  });
  run.phase(Phase::forward).op("aten::exp").in(w).out(labelled("z" + std::to_string(rate)));
}

/// Steps of Adam, in which a hyperparameter is an argument of two ops and may change with each
/// step.
void update_by_adam(RunBuilder& run, double beta, double per_step = 1) {
  for (int step = 0; step < 2; ++step, beta *= per_step) {
    run.step(step).phase(Phase::forward);
    const std::string n = std::to_string(step) + " " + std::to_string(beta);
    const Tensor w = run.parameter("fc.weight", labelled("w"));
    const Tensor m = run.data(labelled("m"));
    run.op("aten::neg").in(w).out(labelled("y"));
    run.phase(Phase::optimizer);
    run.event(EventKind::optimizer, "Adam::step").arg("betas", beta).calls([&] {
      run.op("aten::mul_")
          .flag(event_flag::in_optimizer)
          .in(m)
          .arg("other", beta)
          .writes(m, labelled("m after " + n));
      run.op("aten::addcdiv_")
          .flag(event_flag::in_optimizer)
          .in(w)
          .in(m)
          .arg("value", (step + 1) * beta)
          .writes(w, labelled("w after " + n));
    });
  }
}

/// Backward of a layer with two parameters, one of which may be frozen.
void train_partly(RunBuilder& run, bool frozen) {
  const Tensor w = run.parameter("fc.weight", labelled("w"));
  const Tensor b = run.parameter("fc.bias", labelled("b"));
  run.step(0).phase(Phase::forward);
  run.parameters({w, b});
  const std::uint64_t forward = run.next_position();
  const Tensor y = run.op("aten::addmm").in(w).in(b).out(labelled("y"));
  run.phase(Phase::backward).backward(true);
  run.node("ConvolutionBackward0", forward, [&] {
    run.op("aten::convolution_backward")
        .in(y)
        .arg("output_mask", std::string_view(frozen ? "[False, True]" : "[True, True]"))
        .out(labelled("g"));
  });
  if (!frozen) run.gradient("fc.weight.grad", labelled("gw"), "fc");
  run.gradient("fc.bias.grad", labelled("gb"), "fc");
  run.backward(false);
}

}  // namespace

TEST_SUITE("models") {
  TEST_CASE("a parameter of another shape is another structure, and is named") {
    const Report report =
        report_of([](RunBuilder& run, bool changed) { allocate_and_train(run, changed ? 3 : 2); });
    REQUIRE(report.models.size() == 1);
    CHECK(report.models[0].path == "fc.weight");
    CHECK(report.models[0].what == ModelAspect::shape);
    CHECK(report.models[0].reference == "[2, 1]");
    CHECK(report.models[0].candidate == "[3, 1]");
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::empty");
    CHECK(report.first()->meaning == "fc.weight is [2, 1] and [3, 1]");
    CHECK(cause_ids(report) == "structure");
    CHECK(find_cause(report, "structure")->confidence == Confidence::certain);
  }

  TEST_CASE("equal models have no differences") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      allocate_and_train(run, 2);
      run.op("aten::exp").out(labelled(changed ? "b" : "a"));
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.models.empty());
  }

  TEST_CASE("a parameter that one model has alone is listed") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      std::vector<Tensor> tensors{run.parameter("fc.weight", labelled("w"))};
      if (changed) tensors.push_back(run.parameter("fc.bias", labelled("b")));
      run.parameters(tensors);
      run.op("aten::mm").in(tensors.back()).out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.models.size() == 1);
    CHECK(report.models[0].path == "fc.bias");
    CHECK(report.models[0].what == ModelAspect::tensor);
    CHECK_FALSE(report.models[0].reference.has_value());
  }

  TEST_CASE("a learning rate is one of the optimizer, not the alpha of an op") {
    const Report report =
        report_of([](RunBuilder& run, bool changed) { update(run, changed ? 0.06 : 0.05); });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::arguments);
    CHECK(report.first()->op == "aten::add_");
    CHECK(report.first()->meaning == "lr of SGD is 0.05 and 0.06");
    REQUIRE(report.first()->arguments.size() == 2);
    CHECK(report.first()->arguments[1].name == "lr");
    CHECK(report.first()->arguments[1].of == "SGD");
    CHECK(has(report.summary, "lr of SGD is 0.05 and 0.06"));
  }

  TEST_CASE("a hyperparameter is one finding, in whatever ops and steps it shows") {
    const Report report =
        report_of([](RunBuilder& run, bool changed) { update_by_adam(run, changed ? 0.5 : 0.9); });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.first()->op == "aten::mul_");
    CHECK(report.first()->meaning == "betas of Adam is 0.9 and 0.5");
  }

  TEST_CASE("a schedule of a hyperparameter is one finding, whatever it gives in each step") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      update_by_adam(run, changed ? 0.5 : 0.9, changed ? 0.1 : 0.7);
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.first()->meaning == "betas of Adam is 0.9 and 0.5");
  }

  TEST_CASE("an optimizer that is set equally is not mentioned") {
    const Report report =
        report_of([](RunBuilder& run, bool changed) { update(run, 0.05, changed); });
    for (const Finding& finding : report.findings) CHECK(finding.arguments.empty());
  }

  TEST_CASE("a parameter that gets no gradient in one run is named") {
    const Report report = report_of(train_partly);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::convolution_backward");
    CHECK(report.first()->meaning == "fc.weight gets no gradient in the candidate");
  }
}
