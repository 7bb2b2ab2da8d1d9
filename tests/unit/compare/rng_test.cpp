#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// Dropout as ATen runs it: a mask from memory that nothing wrote, filled by bernoulli_.
Tensor dropout(RunBuilder& run, const Tensor& x, const std::string& tag) {
  return run.composite("aten::dropout", [&](EventBuilder& outer) {
    outer.in(x, "input").draws(0);
    const Tensor mask = run.op("aten::empty_like")
                            .given(x, slot_flag::metadata_only)
                            .out_uninitialised(labelled("garbage" + tag));
    run.op("aten::bernoulli_").draws(1).given(mask).writes(mask, labelled("mask" + tag));
    return run.op("aten::mul").in(x).in(mask).out(labelled("dropped" + tag));
  });
}

struct Sampled {
  std::uint64_t seed = 1;
  int index = 0;
  std::string sample = "a";
  bool in_module = false;
};

/// The program draws an order that no op reads, and picks a sample.
void sampled(RunBuilder& run, const Sampled& how) {
  run.seed(how.seed).step(0).phase(Phase::data);
  run.op("aten::randperm")
      .draws(1)
      .out(labelled("order " + std::to_string(how.seed)).as(Dtype::int64));
  const Tensor all = run.data(labelled("all"));
  const Tensor read = run.data(labelled("sample " + how.sample));
  const auto pick = [&] {
    run.op("aten::select").in(all).arg("index", how.index).out(labelled(std::to_string(how.index)));
    run.op("aten::stack").in(read).out(labelled("stacked " + how.sample));
  };
  if (!how.in_module) return pick();
  run.phase(Phase::forward).module("net", pick);
}

}  // namespace

TEST_SUITE("rng") {
  TEST_CASE("a shifted stream is named at the op that draws, with the extra draw") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      const Tensor x = run.data(labelled("x"));
      if (changed) run.op("aten::rand").draws(1).stack("data.cpp:7 load").out(labelled("unused"));
      run.phase(Phase::forward);
      Tensor h;
      run.module_with_output("fc",
                             [&] { return h = run.op("aten::addmm").in(x).out(labelled("h")); });
      run.module(
          "drop", [&] { h = dropout(run, h, changed ? "b" : "a"); }, "Dropout");
      run.module(
          "drop2", [&] { dropout(run, h, changed ? "d" : "c"); }, "Dropout");
    });
    REQUIRE(report.verdict == Verdict::diverged);
    REQUIRE(diverging(report) == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.kind == FindingKind::rng);
    CHECK(finding.op == "aten::bernoulli_");
    CHECK(finding.parents == std::vector<std::string>{"aten::dropout"});
    CHECK(finding.module == "drop");
    CHECK(cause_ids(report) == "rng-shift");
    CHECK(has(find_cause(report, "rng-shift")->evidence.front(),
              "aten::rand at event 0 (step 0, data.cpp:7)"));
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[1].kind == FindingKind::sequence);
    CHECK(report.findings[1].op == "aten::rand");
    CHECK_FALSE(report.findings[1].diverges);
    CHECK(report.findings[1].shifts_draws);
  }

  TEST_CASE("memory of a dropout mask is never compared") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor mask = run.op("aten::empty_like")
                              .given(x, slot_flag::metadata_only)
                              .out_uninitialised(labelled(changed ? "g2" : "g1"));
      run.op("aten::bernoulli_").draws(1).given(mask).writes(mask, labelled("m"));
      run.op("aten::mul").in(x).in(mask).out(labelled("y"));
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("another seed is a seed") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.seed(changed ? 2 : 1).step(0).phase(Phase::forward);
      for (int k = 0; k < 3; ++k)
        run.op("aten::rand").draws(1).out(labelled((changed ? "b" : "a") + std::to_string(k)));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::rng);
    CHECK(report.propagated.events == 2);
    CHECK(cause_ids(report) == "rng-seed");
  }

  TEST_CASE("streams that meet and part again are two findings") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      if (changed) run.draw_unseen(3);
      run.op("aten::rand").draws(1).out(labelled(changed ? "b" : "a"));
      run.seed(7);
      run.op("aten::rand").draws(1).out(labelled("c"));
      if (changed) run.draw_unseen(1);
      run.op("aten::rand").draws(1).out(labelled(changed ? "e" : "d"));
    });
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[0].event.reference == 0);
    CHECK(report.findings[1].event.reference == 2);
    CHECK(find_cause(report, "rng-shift")->confidence == Confidence::likely);
  }

  TEST_CASE("an op that could have drawn but did not is equal in any state") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      if (changed) run.draw_unseen(1);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::dropout").in(x).draws(0).returns_view(x);
      run.without_outcomes();
    });
    CHECK(report.findings.empty());
  }

  TEST_CASE("equal state and another result is the op's own doing") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.environment("cpu.capability", changed ? "AVX2" : "DEFAULT");
      run.step(0).phase(Phase::forward);
      run.composite("aten::randn", [&](EventBuilder& randn) {
        randn.draws(0);
        const Tensor y = run.op("aten::empty").out_uninitialised(labelled("g"));
        run.op("aten::normal_").draws(1).given(y).writes(y, labelled(changed ? "b" : "a"));
        return y;
      });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::origin);
    CHECK(report.findings[0].op == "aten::normal_");
    CHECK(cause_ids(report) == "isa, rng-device");
  }

  TEST_CASE("a draw directly before the op that shows it is one finding with that") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      if (changed) run.op("aten::rand").draws(1).out(labelled("unused"));
      run.op("aten::randn").draws(1).out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::sequence);
    REQUIRE(find_cause(report, "rng-shift") != nullptr);
    CHECK(find_cause(report, "rng-shift")->confidence == Confidence::certain);
  }

  TEST_CASE("an op more that draws and computes explains the streams after it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      Tensor h = run.data(labelled("h"));
      if (changed) h = run.op("aten::rrelu").in(h).draws(1).out(labelled("dropped"));
      run.op("aten::relu").in(h).out(labelled(changed ? "b" : "a"));
      run.op("aten::randn").draws(1).out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::rrelu");
    const auto& notes = report.findings[0].notes;
    CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return has(note, "aten::randn and what follows draw from a different RNG state");
    }));
  }

  TEST_CASE("a draw more and another seed are two findings") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      if (changed) run.op("aten::rand").draws(1).out(labelled("unused"));
      if (changed) run.seed(7);
      run.op("aten::randn").draws(1).out(labelled(changed ? "b" : "a"));
    });
    CHECK(find_cause(report, "rng-seed") != nullptr);
  }

  TEST_CASE("an op that differs and draws another amount explains the shift after it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::dropout")
          .in(x)
          .arg("train", !changed)
          .draws(changed ? 0 : 4)
          .out(labelled(changed ? "b" : "a"));
      run.op("aten::rand").draws(1).out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("an op that draws in one run only has another argument, not another draw") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      const Tensor x = run.data(labelled("x"));
      if (changed) run.op("aten::rand").draws(1).out(labelled("unused"));
      run.module("drop", [&] {
        run.op("aten::dropout")
            .in(x, "input")
            .arg("train", changed)
            .draws(changed ? 1 : 0)
            .out(labelled(changed ? "b" : "a"));
      });
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(first_cause(report) == "mode");
  }

  TEST_CASE("ops of one run alone that draw shift the stream for the next draw") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      if (changed) run.op("aten::randn").draws(1).out(labelled("unused"));
      run.composite("aten::rand", [&](EventBuilder& outer) {
        outer.draws(0);
        const Tensor numbers = run.op("aten::empty").out_uninitialised(labelled("g"));
        run.op("aten::uniform_")
            .draws(1)
            .given(numbers)
            .writes(numbers, labelled(changed ? "b" : "a"));
        outer.returns(numbers);
        return numbers;
      });
    });
    REQUIRE(report.findings[0].kind == FindingKind::sequence);
    CHECK(first_cause(report) == "rng-shift");
  }

  TEST_CASE("samples that are picked in an order that was drawn follow from that draw") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      sampled(run, Sampled{.seed = changed ? 2U : 1U, .index = changed ? 7 : 4});
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::rng);
    CHECK(report.findings[0].op == "aten::randperm");
  }

  TEST_CASE("samples that are picked differently though the same order was drawn are a finding") {
    const Report report = report_of(
        [](RunBuilder& run, bool changed) { sampled(run, Sampled{.index = changed ? 7 : 4}); });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::arguments);
    CHECK(report.first()->op == "aten::select");
  }

  TEST_CASE("what a module picks does not follow from an order of samples") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      sampled(run, Sampled{.seed = changed ? 2U : 1U, .index = changed ? 7 : 4, .in_module = true});
    });
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[1].op == "aten::select");
  }

  TEST_CASE("samples read by an index that the program has drawn follow from that draw") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      sampled(run, Sampled{.seed = changed ? 2U : 1U, .index = 4, .sample = changed ? "b" : "a"});
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::rng);
  }

  TEST_CASE(
      "samples of other sizes, and what prepares them, follow from the order that was drawn") {
    const auto words = [](std::uint64_t seed, bool other) {
      return [=](RunBuilder& run, bool changed) {
        run.seed(changed ? seed : 1).step(0).phase(Phase::data);
        const std::string order = seed == 1 || !changed ? "order" : "other order";
        run.op("aten::randint").draws(1).out(labelled(order).as(Dtype::int64));
        run.op("aten::empty")
            .arg("size", std::vector<std::int64_t>{changed ? 5 : 4})
            .out_uninitialised(labelled("memory"));
        const Tensor filled = run.data(labelled(changed ? "long word" : "word"));
        const Tensor word =
            run.op("aten::to").in(filled).out(labelled(changed ? "long copy" : "copy"));
        if (changed && other) run.op("aten::ones").out(labelled("mask"));
        const Tensor batch =
            run.op("aten::stack").in(word).out(labelled(changed ? "batch b" : "batch a"));
        run.phase(Phase::forward);
        run.module("net",
                   [&] { run.op("aten::relu").in(batch).out(labelled(changed ? "y" : "z")); });
      };
    };
    const Report drawn = report_of(words(2, true));
    REQUIRE(drawn.findings.size() == 1);
    CHECK(drawn.findings[0].kind == FindingKind::rng);
    const Report same_order = report_of(words(1, true));
    REQUIRE(same_order.first() != nullptr);
    CHECK(same_order.first()->op == "aten::empty");
  }

  TEST_CASE("an order that both runs draw, one of them earlier, changes nothing") {
    const auto run_with = [](RunBuilder& run, int drawn_in, const std::string& batch) {
      const Tensor weight = run.parameter("fc.weight", labelled("weight"));
      for (int step = 0; step < 4; ++step) {
        const std::string number = std::to_string(step);
        run.step(step).phase(Phase::data);
        if (step == drawn_in)
          run.op("aten::randperm").draws_from_own(1).out(labelled("rest").as(Dtype::int64));
        run.phase(Phase::forward);
        const Tensor x = run.data(labelled(step == 2 ? batch : "x" + number));
        run.op("aten::mm").in(x).in(weight).out(labelled("y" + (step == 2 ? batch : number)));
      }
    };
    const auto compared = [&](int drawn_in, const std::string& batch) {
      return report_of([&](RunBuilder& run) { run_with(run, 2, "x2"); },
                       [&](RunBuilder& run) { run_with(run, drawn_in, batch); });
    };
    CHECK(compared(0, "x2").verdict == Verdict::identical);
    CHECK(compared(3, "x2").verdict == Verdict::identical);
    CHECK(compared(9, "x2").verdict == Verdict::diverged);
    const Report report = compared(0, "another");
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::data);
  }

  TEST_CASE("what is read from memory that one run alone takes over comes from outside") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      const Tensor weight = run.parameter("fc.weight", labelled("weight"));
      const Tensor batch = run.data(labelled(changed ? "another" : "batch"));
      if (changed) {
        const Tensor empty = run.op("aten::empty").out_uninitialised(Values({0}, {}));
        run.op("aten::set_")
            .in(empty, "self", slot_flag::metadata_only)
            .returns(batch, slot_flag::view | slot_flag::unproduced);
      }
      run.phase(Phase::forward);
      run.op("aten::mm").in(batch).in(weight).out(labelled(changed ? "z" : "y"));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::data);
    CHECK(report.first()->op == "aten::mm");
  }
}
