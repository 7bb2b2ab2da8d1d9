#include <doctest/doctest.h>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// How a training step of two parameters differs in the candidate.
struct Change {
  bool gradients = false;          ///< backward gives it others
  double rate = 0.1;               ///< in the reference 0.1
  bool in_lists = true;            ///< in the reference one op for each parameter
  bool optimizer_is_known = true;  ///< both runs have its hyperparameters
  bool other_update = false;       ///< it multiplies, and does not add
};

std::string names(const std::string& what, std::size_t parameter, bool other) {
  return what + std::to_string(parameter) + (other ? " of the candidate" : "");
}

std::function<void(RunBuilder&, bool)> training(Change change) {
  return [change](RunBuilder& run, bool changed) {
    run.step(0).phase(Phase::forward);
    const std::vector<Tensor> parameters{run.parameter("p0", labelled("p0")),
                                         run.parameter("p1", labelled("p1"))};
    const bool gradients = changed && change.gradients;
    std::vector<Tensor> read;
    for (std::size_t k = 0; k < 2; ++k)
      read.push_back(run.op("aten::mm").in(parameters[k]).out(labelled(names("g", k, gradients))));
    const double rate = changed ? change.rate : 0.1;
    const bool other = gradients || rate != 0.1 || (changed && change.other_update);
    run.phase(Phase::optimizer);
    EventBuilder step = run.event(EventKind::optimizer, "SGD::step");
    if (change.optimizer_is_known)
      step.arg("lr", rate).arg("foreach", std::string_view(changed ? "True" : "None"));
    step.calls([&] {
      if (changed && change.in_lists) {
        EventBuilder update = run.op("aten::_foreach_add_");
        update.flag(event_flag::in_optimizer).in_list(parameters).in_list(read);
        for (std::size_t k = 0; k < 2; ++k)
          update.writes(parameters[k], labelled(names("after", k, other)));
        return;
      }
      for (std::size_t k = 0; k < 2; ++k)
        run.op(changed && change.other_update ? "aten::mul_" : "aten::add_")
            .flag(event_flag::in_optimizer)
            .in(parameters[k])
            .in(read[k])
            .writes(parameters[k], labelled(names("after", k, other)));
    });
    run.phase(Phase::forward);
    run.op("aten::exp").in(parameters[0]).out(labelled(names("z", 0, other)));
  };
}

std::size_t sequences(const Report& report) {
  return static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
        return finding.kind == FindingKind::sequence && finding.diverges;
      }));
}

}  // namespace

TEST_SUITE("updates in lists") {
  TEST_CASE("of parameters whose gradients differ they follow from what made those differ") {
    const Report report = report_of(training({.gradients = true}));
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.first()->op == "aten::mm");
    CHECK(sequences(report) == 0);
  }

  TEST_CASE("of equal gradients with equal results they are a harmless rewrite") {
    const Report report = report_of(training({}));
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.size() == 1);
  }

  TEST_CASE("of gradients that were given they are no finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      if (changed) run.environment("capture.inject", "op");
      training({})(run, changed);
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(sequences(report) == 0);
  }

  TEST_CASE("with a different learning rate they are a finding, whatever they read") {
    for (const bool gradients : {false, true}) {
      const Report report = report_of(training({.gradients = gradients, .rate = 0.2}));
      CHECK(report.verdict == Verdict::diverged);
      CHECK(sequences(report) == 1);
    }
  }

  TEST_CASE("of an optimizer whose hyperparameters are not known they are a finding") {
    CHECK(sequences(report_of(training({.gradients = true, .optimizer_is_known = false}))) == 1);
  }

  TEST_CASE("norms of lists of gradients are no updates") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::optimizer);
      const Tensor gradient = run.data(labelled("g"));
      if (changed) {
        EventBuilder norm = run.op("aten::_foreach_norm");
        norm.in_list({gradient});
        norm.writes(gradient, labelled("clipped"));
      }
      run.op("aten::exp").in(gradient).out(labelled(changed ? "b" : "a"));
    });
    const Cause* const cause = find_cause(report, "structure");
    REQUIRE(cause != nullptr);
    for (const std::string& evidence : cause->evidence)
      CHECK_FALSE(has(evidence, "updates lists of parameters"));
  }

  TEST_CASE("another update of single parameters is a finding") {
    const Report report =
        report_of(training({.gradients = true, .in_lists = false, .other_update = true}));
    CHECK(sequences(report) > 0);
  }
}
