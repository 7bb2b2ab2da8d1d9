#include <algorithm>
#include <cctype>
#include <functional>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// Threads that take trainings from a queue: which of them each thread trained. An upper-case
/// training is the one of the lower-case letter with a different result in its second op.
Report report_of_shares(const std::vector<std::string>& reference,
                        const std::vector<std::string>& candidate) {
  const auto train = [](RunBuilder& run, const std::vector<std::string>& shares) {
    run.step(0).phase(Phase::forward);
    for (std::uint32_t number = 0; number < shares.size(); ++number) {
      run.lane(LaneRole::trainer, number);
      for (const char task : shares[number]) {
        const std::string name(1, static_cast<char>(std::tolower(task)));
        const Tensor weight = run.data(labelled("weight " + name));
        const Tensor result = run.op("aten::mm").in(weight).out(labelled("hidden " + name));
        const bool changed = std::isupper(task) != 0;
        run.op("aten::relu").in(result).out(labelled((changed ? "changed " : "active ") + name));
      }
    }
  };
  return report_of([&](RunBuilder& run) { train(run, reference); },
                   [&](RunBuilder& run) { train(run, candidate); });
}

/// One training whose steps threads take in turn: which one each step. What the last step makes of
/// its weight can be changed.
void hand_over(RunBuilder& run, const std::vector<std::uint32_t>& threads, bool changed = false) {
  run.step(0).phase(Phase::forward);
  run.op("aten::ones").out(labelled("one"));
  const Tensor weight = run.data(labelled("weight"));
  Tensor loss = weight;
  for (std::size_t k = 0; k < threads.size(); ++k) {
    const std::string n = std::to_string(k) + (changed && k + 1 == threads.size() ? "'" : "");
    run.lane(LaneRole::trainer, threads[k]);
    loss = run.op("aten::mm")
               .in(run.data(labelled("batch " + std::to_string(k))))
               .in(weight)
               .out(labelled("loss " + std::to_string(k)));
    run.op("aten::item").in(loss).result(static_cast<double>(k));
    run.op("aten::add_").in(weight).in(loss).writes(weight, labelled("weight " + n));
  }
  run.lane(LaneRole::main, 0);
  run.op("aten::neg").in(loss).out(labelled("negative"));
}

/// What an op makes of data, which the changed program negates before.
Tensor made_otherwise(RunBuilder& run, std::string_view op, bool changed) {
  Tensor x = run.data(labelled("x"));
  if (changed) x = run.op("aten::neg").in(x).out(labelled("-0"));
  return run.op(op).in(x).out(labelled(changed ? "a" : "b"));
}

using Factor = std::function<Tensor(RunBuilder&, const Tensor&, std::uint32_t)>;

/// A product with what `factor` makes of a tensor that the candidate detaches: backward has no
/// gradient of the factor there. @param factor is also given the flags of what it reads and makes.
Report multiplied_by(const Factor& factor) {
  return report_of([&](RunBuilder& run, bool changed) {
    run.step(0).phase(Phase::forward);
    const std::uint32_t needs = changed ? 0 : slot_flag::requires_grad;
    const Tensor u = run.data(labelled("u"));
    const Tensor slope = run.op("aten::exp").in(u).out(labelled("slope"));
    if (changed) run.op("aten::detach").given(slope, slot_flag::metadata_only).returns_view(slope);
    const Tensor other = factor(run, slope, needs);
    const std::uint64_t forward = run.next_position();
    const Tensor y = run.op("aten::mul").in(u).given(other, needs).out(labelled("y"));
    run.phase(Phase::backward).backward(true);
    Tensor g = run.op("aten::ones_like").in(y).out(labelled("one"));
    run.node("MulBackward0", forward, [&] {
      if (!changed) run.op("aten::sin").in(g).in(u).out(labelled("of the factor"));
      g = run.op("aten::mul").in(g).in(other).out(labelled("of u"));
    });
    run.op("aten::neg").in(g).out(labelled(changed ? "a" : "b"));
  });
}

bool blames_a_product(const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
    return finding.op == "aten::sin" || finding.op == "aten::mul";
  });
}

}  // namespace

TEST_SUITE("sequence") {
  TEST_CASE("an extra op that changes nothing is harmless") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor y = run.op("aten::exp").in(x).out(labelled("y"));
      if (changed) run.op("aten::cat").in(y).out(labelled("unused"));
      run.op("aten::sin").in(y).out(labelled("z"));
    });
    CHECK(report.verdict == Verdict::identical);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::sequence);
    CHECK(report.findings[0].op == "aten::cat");
    CHECK_FALSE(report.findings[0].diverges);
    CHECK_FALSE(report.findings[0].event.reference.has_value());
    CHECK(report.findings[0].event.candidate == 1);
    CHECK(cause_ids(report) == "harmless-rewrite");
    CHECK(report.coverage.only_candidate == 1);
    CHECK(report.first() == nullptr);
  }

  TEST_CASE("an op that one run lacks diverges where what follows differs") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor y = run.op("aten::exp").in(x).out(labelled("y"));
      if (!changed) run.op("aten::clamp_").in(y).writes(y, labelled("clamped"));
      run.op("aten::sin").in(y).out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.verdict == Verdict::diverged);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::clamp_");
    CHECK(report.findings[0].event.reference == 1);
    CHECK(cause_ids(report) == "structure");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("a scale that moves past a product is absorbed where both results are equal") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      Tensor x = run.data(labelled("x"));
      if (!changed) x = run.op("aten::mul").in(x).out(labelled("2x"));
      Tensor y = run.op("aten::mm").in(x).out(labelled(changed ? "xw" : "2xw"));
      if (changed) y = run.op("aten::mul").in(y).out(labelled("2xw"));
      run.op("aten::relu").in(y).out(labelled("active"));
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(diverging(report) == 0);
    REQUIRE(!report.findings.empty());
    REQUIRE(report.findings[0].absorbed.has_value());
    CHECK(report.findings[0].absorbed->op == "aten::mul");
    CHECK(report.findings[0].absorbed->event.candidate == 1);
    CHECK(cause_ids(report) == "harmless-rewrite");
    CHECK(has(report.summary, "every outcome is equal"));
  }

  TEST_CASE("a difference that an op of both runs ends is absorbed by it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor y = made_otherwise(run, "aten::exp", changed);
      const Tensor z = run.op("aten::relu").in(y).out(labelled("0"));
      run.op("aten::sin").in(z).out(labelled("end"));
    });
    CHECK(report.verdict == Verdict::identical);
    REQUIRE(report.findings.size() == 1);
    REQUIRE(report.findings[0].absorbed.has_value());
    CHECK(report.findings[0].absorbed->op == "aten::relu");
    CHECK(report.findings[0].absorbed->event.reference == 1);
    CHECK(report.findings[0].absorbed->step == 0);
    CHECK_FALSE(report.findings[0].in_outcome);
  }

  TEST_CASE("a difference that a module returns is not absorbed by what reads it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      Tensor y = x;
      run.module_with_output("fc", [&] {
        const Tensor given = changed ? run.op("aten::neg").in(x).out(labelled("-0")) : x;
        y = run.op("aten::exp").in(given).out(labelled(changed ? "a" : "b"));
        return y;
      });
      run.op("aten::relu").in(y).out(labelled("0"));
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(!report.findings.empty());
    CHECK_FALSE(report.findings[0].absorbed.has_value());
    CHECK(report.findings[0].in_outcome);
  }

  TEST_CASE("a number that the program reads is not absorbed by what else reads its tensor") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor y = made_otherwise(run, "aten::sum", changed);
      run.op("aten::item").in(y).result(changed ? 1.0 : 2.0);
      run.op("aten::relu").in(y).out(labelled("0"));
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a parameter that is written otherwise is not absorbed when it is equal again") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor weight = run.parameter("fc.weight", labelled("w"));
      run.step(0).phase(Phase::forward);
      if (changed) run.op("aten::mul_").in(weight).writes(weight, labelled("w'"));
      const Tensor y = run.op("aten::exp").in(weight).out(labelled(changed ? "a" : "b"));
      run.op("aten::relu").in(y).out(labelled("0"));
      run.op("aten::zero_").in(weight).writes(weight, labelled("0"));
      run.op("aten::sin").in(weight).out(labelled("end"));
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("what an optimizer keeps from step to step is not absorbed, in grad mode either") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      const Tensor state = run.op("aten::zeros").out(labelled("zero"));
      run.scope(EventKind::optimizer, "Own", [&] {
        run.op("aten::mul_")
            .flag(event_flag::in_optimizer)
            .in(state)
            .arg("other", changed ? 2 : 1)
            .writes(state, labelled(changed ? "b" : "a"));
        run.op("aten::div").in(state).out(labelled("normalized"));
        run.op("aten::zero_")
            .flag(event_flag::in_optimizer)
            .in(state)
            .writes(state, labelled("zero"));
      });
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a difference of arguments is absorbed as an op of one run alone is") {
    const auto report_with = [](bool ends) {
      return report_of([ends](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        const Tensor y = run.op("aten::clamp")
                             .in(x)
                             .arg("max", changed ? 7 : 6)
                             .out(labelled(changed ? "a" : "b"));
        const bool differs = changed && !ends;
        const Tensor z =
            run.op("aten::clamp").in(y).arg("max", 5).out(labelled(differs ? "c" : "5"));
        run.op("aten::sin").in(z).out(labelled("end"));
        if (!ends) run.op("aten::item").in(z).result(changed ? 1.0 : 2.0);
      });
    };
    const Report absorbed = report_with(true);
    CHECK(absorbed.verdict == Verdict::identical);
    REQUIRE(absorbed.findings.size() == 1);
    CHECK(absorbed.findings[0].kind == FindingKind::arguments);
    CHECK(absorbed.findings[0].absorbed.has_value());
    CHECK(cause_ids(absorbed) == "harmless-rewrite");
    CHECK(report_with(false).verdict == Verdict::diverged);
  }

  TEST_CASE(
      "what hands a difference back, asks about it or reads a part of it does not absorb it") {
    const auto report_with = [](const std::function<void(RunBuilder&, const Tensor&)>& reader) {
      return report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        reader(run, made_otherwise(run, "aten::exp", changed));
        run.op("aten::sin").in(run.data(labelled("other"))).out(labelled("end"));
      });
    };
    const auto verdict_with = [&](const auto& reader) { return report_with(reader).verdict; };
    CHECK(verdict_with([](RunBuilder& run, const Tensor& y) {
            run.op("aten::relu").in(y).out(labelled("0"));
          }) == Verdict::identical);
    CHECK(verdict_with([](RunBuilder& run, const Tensor& y) {
            run.op("aten::dropout").in(y).returns_view(y);
          }) == Verdict::diverged);
    CHECK(verdict_with([](RunBuilder& run, const Tensor& y) {
            run.op("aten::isfinite").in(y).out(Values({1, 1, 1, 1}).as(Dtype::bool_));
          }) == Verdict::diverged);
    CHECK(verdict_with([](RunBuilder& run, const Tensor& y) {
            Tensor part = y;
            part.geometry.sizes = {2};
            run.op("aten::relu").in(part).out({0, 0});
          }) == Verdict::diverged);
    CHECK(verdict_with([](RunBuilder& run, const Tensor& y) {
            run.op("aten::relu").in(y).out(labelled("0"));
            run.op("aten::resolve_conj").in(y).returns_view(y);
          }) == Verdict::diverged);
  }

  TEST_CASE("an origin diverges where the difference is absorbed") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor y = run.op("aten::exp").in(x).out(labelled(changed ? "a" : "b"));
      run.op("aten::relu").in(y).out(labelled("0"));
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.findings[0].kind == FindingKind::origin);
  }

  TEST_CASE("what a lone op wrote diverges when it is read, however late") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor counter = run.buffer("bn.num_batches_tracked", labelled("n"));
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      if (!changed) run.op("aten::add_").in(counter).writes(counter, labelled("n+1"));
      run.module_with_output("bn", [&] { return run.op("aten::exp").in(x).out(labelled("y")); });
      run.step(1).phase(Phase::eval);
      run.op("aten::sin").in(counter).out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].diverges);
    CHECK(report.findings[0].op == "aten::add_");
    CHECK(first_cause(report) == "mode");
  }

  TEST_CASE("what only looks, in a row with what changes something, is a finding of its own") {
    const auto report = [](bool uses_what_it_sees) {
      return report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::eval);
        const Tensor weight = run.parameter("fc.weight", labelled("w"));
        run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
        if (changed) {
          const Tensor seen = run.op("aten::mm").in(weight).out(labelled("seen"));
          const Tensor worst = run.op("aten::amax").in(seen).out(labelled("worst", 1));
          EventBuilder scales = run.op("aten::mul_");
          scales.in(weight);
          if (uses_what_it_sees) scales.in(worst);
          scales.writes(weight, labelled("less"));
        }
        const std::string now = run.content_words(weight);
        run.op("aten::mv").in(weight).out(labelled("result of " + now));
      });
    };
    const Report only_looks = report(false);
    REQUIRE(only_looks.findings.size() == 2);
    CHECK(only_looks.first()->op == "aten::mul_");
    CHECK(only_looks.findings[1].op == "aten::mm");
    CHECK_FALSE(only_looks.findings[1].diverges);
    const Report uses = report(true);
    REQUIRE(uses.findings.size() == 1);
    CHECK(uses.first()->op == "aten::mm");
  }

  TEST_CASE(
      "what a lone op wrote to memory of both diverges where the run's other lone ops use it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      const Tensor average = run.buffer("average", labelled("zero"));
      run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
      if (changed)
        run.op("aten::copy_").in(run.data(labelled("early"))).writes(average, labelled("early"));
      run.step(1).phase(Phase::data);
      const Tensor now = run.data(labelled("late"));
      if (changed)
        run.op("aten::lerp_").in(average).in(now).writes(average, labelled("both"));
      else
        run.op("aten::fill_").in(now).writes(average, labelled("late"));
      run.phase(Phase::eval);
      const std::string is = changed ? "both" : "late";
      run.op("aten::mm").in(average).out(labelled("result of " + is));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::copy_");
    CHECK(report.first()->step == 0);
  }

  TEST_CASE("an optimizer's state that only one run makes is told once, as resume") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::optimizer);
      for (const std::string name : {"a", "b", "c"}) {
        const Tensor gradient = run.data(labelled("gradient of " + name));
        const Tensor weight = run.parameter(name, labelled(name));
        Tensor mean = run.data(labelled("mean of " + name));
        run.module(name, [&] {
          if (changed) {
            mean = run.op("aten::zeros_like").out(labelled("zeros"));
            run.op("aten::zeros_like").out(labelled("zeros"));
          }
          const std::string state = changed ? "new" : "old";
          run.op("aten::add_")
              .in(mean)
              .in(gradient)
              .writes(mean, labelled(state + " mean of " + name));
          run.op("aten::addcdiv_").in(mean).writes(weight, labelled(state + name));
        });
      }
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].op == "aten::zeros_like");
    CHECK(first_cause(report) == "resume");
  }

  TEST_CASE(
      "an optimizer that fills new state has resumed without its own, whatever it fills it with") {
    for (const std::string fills : {"aten::zeros_like", "aten::full_like", "aten::ones_like"}) {
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::optimizer);
        Tensor count = run.data(labelled("7"));
        Tensor sum = run.data(labelled("sum"));
        if (changed) {
          count = run.op("aten::zeros").flag(event_flag::factory).out(labelled("0"));
          sum = run.op(fills).out(labelled("filled"));
        }
        const std::string state = changed ? "new" : "old";
        run.op("aten::add_").in(count).writes(count, labelled(state + " count"));
        run.op("aten::addcmul_").in(sum).writes(sum, labelled(state + " sum"));
      });
      CAPTURE(fills);
      REQUIRE(diverging(report) == 1);
      CHECK(first_cause(report) == "resume");
    }
  }

  TEST_CASE("a count alone is no state of an optimizer") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::optimizer);
      Tensor count = run.data(labelled("7"));
      if (changed) count = run.op("aten::zeros").flag(event_flag::factory).out(labelled("0"));
      run.op("aten::add_").in(count).writes(count, labelled(changed ? "new" : "old"));
    });
    CHECK(find_cause(report, "resume") == nullptr);
  }

  /// The candidate's optimizer makes its state, and is given this option.
  Report resumed_with(double reference, double candidate) {
    return report_of([&](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::optimizer);
      const Tensor weight = run.parameter("weight", labelled("w"));
      Tensor mean = run.data(labelled("mean"));
      run.event(EventKind::optimizer, "Adam::step")
          .arg("option", changed ? candidate : reference)
          .calls([&] {
            if (changed) mean = run.op("aten::zeros_like").out(labelled("zeros"));
            const std::string state = changed ? "new" : "old";
            run.op("aten::add_").in(mean).writes(mean, labelled(state + " mean"));
            run.op("aten::addcdiv_").in(mean).writes(weight, labelled(state));
          });
    });
  }

  TEST_CASE("an option that only scales is set otherwise by a resume, one that is zero is not") {
    CHECK(first_cause(resumed_with(0.1, 0.2)) == "resume");
    CHECK(find_cause(resumed_with(0.0, 0.2), "resume") == nullptr);
  }

  TEST_CASE("the count of steps, which Python's optimizers fill past ops, is part of their state") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::optimizer);
      const std::string state = changed ? "new" : "old";
      std::vector<Tensor> counts;
      for (const std::string name : {"a", "b"}) {
        counts.push_back(run.data(labelled("7")));
        if (!changed) continue;
        counts.back() =
            run.op("aten::empty").flag(event_flag::factory).out_uninitialised(labelled("0" + name));
        run.op("aten::lift_fresh").in(counts.back()).returns_view(counts.back());
        run.op("aten::zeros_like").out(labelled("zeros"));
      }
      for (const Tensor& count : counts)
        run.op("aten::add_").in(count).writes(count, labelled(state + " count"));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(first_cause(report) == "resume");
  }

  TEST_CASE(
      "a value told at a module's boundary belongs to the op that made it and is not counted "
      "again") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor y = run.op("aten::mm").in(x).out(labelled(changed ? "b" : "a"));
      run.event(EventKind::module_output, "Linear::output").returns(y);
      run.event(EventKind::module_gradient, "Linear::gradient").returns(y);
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::mm");
    CHECK(report.propagated.events == 0);
  }

  TEST_CASE("replaced ops are one finding, harmless where the values agree") {
    const auto program = [](const std::string& other) {
      return [other](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor w = run.parameter("fc.weight", labelled("w"));
        const Tensor x = run.data(labelled("x"));
        Tensor y;
        run.module_with_output("fc", [&] {
          if (!changed) return y = run.op("aten::linear").in(x).in(w).out(labelled("y"));
          run.op("aten::t").given(w, slot_flag::metadata_only).returns_view(w);
          const Tensor product = run.op("aten::matmul").in(x).in(w).out(labelled("product"));
          return y = run.op("aten::add").in(product).out(labelled(other));
        });
        run.op("aten::relu").in(y).out(labelled(changed ? "r" + other : "ry"));
      };
    };
    const Report harmless = report_of(program("y"));
    CHECK(harmless.verdict == Verdict::identical);
    REQUIRE(harmless.findings.size() == 1);
    CHECK(harmless.findings[0].op == "aten::linear");
    CHECK(has(notes_of(harmless.findings[0]),
              "only in the candidate: aten::t, aten::matmul, aten::add"));

    const Report harmful = report_of(program("y'"));
    CHECK(harmful.verdict == Verdict::diverged);
    REQUIRE(harmful.findings.size() == 1);
    CHECK(harmful.findings[0].diverges);
    CHECK(cause_ids(harmful) == "structure");
  }

  TEST_CASE("a harmless op of every step is told once") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      for (int step = 0; step < 5; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled("x" + std::to_string(step)));
        if (changed) run.op("aten::cat").in(x).out(labelled("unused"));
        run.op("aten::sin").in(x).out(labelled("z" + std::to_string(step)));
      }
    });
    CHECK(report.verdict == Verdict::identical);
    REQUIRE(report.findings.size() == 1);
    CHECK(has(notes_of(report.findings[0]), "again in steps 1 - 4"));
  }

  TEST_CASE("of a lone op in every step the one that did harm is told where it did") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor total = run.data(labelled("total"));
      for (int step = 0; step < 5; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled("x" + std::to_string(step)));
        run.op("aten::zero_").given(total).writes(total, labelled("zero"));
        if (changed) run.op("aten::add_").in(total).writes(total, labelled("sum"));
        run.module_with_output("m", [&] {
          return run.op("aten::sin").in(x).out(labelled("z" + std::to_string(step)));
        });
        if (step == 3) run.op("aten::cos").in(total).out(labelled(changed ? "b" : "a"));
      }
    });
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[0].op == "aten::add_");
    CHECK(report.findings[0].diverges);
    CHECK(report.findings[0].step == 3);
    CHECK_FALSE(report.findings[1].diverges);
    CHECK(report.findings[1].step == 0);
  }

  TEST_CASE("a longer op list with equal parameters is a harmless rewrite") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      std::vector<Tensor> parameters;
      std::vector<Tensor> gradients;
      for (int k = 0; k < 4; ++k) {
        const std::string n = std::to_string(k);
        parameters.push_back(run.parameter("p" + n, labelled("p" + n)));
        gradients.push_back(run.data(labelled("g" + n)));
      }
      for (int step = 0; step < 2; ++step) {
        const std::string s = std::to_string(step);
        run.step(step).phase(Phase::forward);
        for (int k = 0; k < 4; ++k)
          run.op("aten::mul")
              .in(parameters[static_cast<std::size_t>(k)])
              .out(labelled("y" + s + std::to_string(k)));
        run.backward(false);
        if (changed) {
          EventBuilder foreach = run.op("aten::_foreach_add_");
          foreach
            .in_list(parameters).in_list(gradients);
          for (std::size_t k = 0; k < 4; ++k)
            foreach
              .writes(parameters[k], labelled("q" + s + std::to_string(k)));
        } else {
          for (std::size_t k = 0; k < 4; ++k)
            run.op("aten::add_")
                .in(parameters[k])
                .in(gradients[k])
                .writes(parameters[k], labelled("q" + s + std::to_string(k)));
        }
      }
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(cause_ids(report) == "harmless-rewrite");
    CHECK(diverging(report) == 0);
  }

  TEST_CASE("an op inserted among equal ones is found by the values") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      for (int k = 0; k < 6; ++k) {
        const std::string n = std::to_string(k);
        if (changed && k == 3) {
          const Tensor x = run.op("aten::ones").out(labelled("one"));
          run.op("aten::add").in(x).out(labelled("inserted"));
        }
        const Tensor x = run.op("aten::ones").out(labelled("one" + n));
        run.op("aten::add").in(x).out(labelled("sum" + n));
      }
    });
    CHECK(report.verdict == Verdict::identical);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].event.candidate == 6);
  }

  TEST_CASE("an op inserted before one with the same result is found by its arguments") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::optimizer);
      const std::vector<Tensor> gradients{run.data(labelled("a")), run.data(labelled("b"))};
      const auto norm = [&](const Tensor& gradient, double p) {
        return run.op("aten::norm")
            .in(gradient)
            .arg("p", p)
            .out(labelled("norm of " + run.content_words(gradient)));
      };
      for (std::size_t k = 0; changed && k < gradients.size(); ++k) (void)norm(gradients[k], -2.0);
      for (const Tensor& gradient : gradients) (void)norm(gradient, 2.0);
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(diverging(report) == 0);
  }

  TEST_CASE("backward ops follow their forward ops when a layer is missing") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      std::vector<std::uint64_t> forward;
      Tensor x = run.data(labelled("x"));
      for (int k = 0; k < 4; ++k) {
        EventBuilder op = run.op("aten::as_strided");
        forward.push_back(op.position());
        op.given(x, slot_flag::metadata_only).arg("offset", k).returns_view(x);
      }
      run.backward(true);
      for (int k = 4; k-- > 0;) {
        if (changed && k == 2) continue;
        run.node("AsStridedBackward0", forward[static_cast<std::size_t>(k)], [&] {
          run.op("aten::new_zeros").out(labelled("zero"));
          run.op("aten::as_strided")
              .given(x, slot_flag::metadata_only)
              .arg("offset", k)
              .returns_view(x);
        });
      }
    });
    CHECK(diverging(report) == 0);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::sequence);
    CHECK(report.findings[0].op == "aten::new_zeros");
    CHECK(has(notes_of(report.findings[0]),
              "only in the reference: aten::new_zeros, aten::as_strided"));
  }

  TEST_CASE("the backward of an op that one run has alone follows from that op") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const std::string as = changed ? " of sin" : " of tanh";
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const std::uint64_t forward = run.next_position();
      const Tensor y = run.op(changed ? "aten::sin" : "aten::tanh").in(x).out(labelled("y" + as));
      run.op("aten::mul").in(y).out(labelled("loss" + as));
      run.backward(true);
      const Tensor grad = run.op("aten::ones_like").out(labelled("ones"));
      Tensor slope = grad;
      run.node(changed ? "SinBackward0" : "TanhBackward0", forward, [&] {
        slope = run.op(changed ? "aten::cos" : "aten::tanh_backward")
                    .in(grad)
                    .in(y)
                    .out(labelled("slope" + as));
        if (changed) slope = run.op("aten::mul").in(slope).in(grad).out(labelled("slope by it"));
      });
      if (changed) slope = run.op("aten::add").in(slope).in(grad).out(labelled("sum" + as));
      run.scope(EventKind::gradient, "torch::autograd::AccumulateGrad",
                [&] { run.op("aten::clone").in(slope).out(labelled("gradient" + as)); });
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].op == "aten::tanh");
    CHECK(report.findings[0].phase == Phase::forward);
  }

  TEST_CASE("how a first gradient is kept in its parameter's layout is no finding of its own") {
    for (const bool adds : {false, true}) {
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        const std::string as = changed ? " by rows" : " by columns";
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        const Tensor y = run.op("aten::conv2d").in(x).out(labelled("y" + as));
        run.backward(true);
        const Tensor slope = run.op("aten::mul").in(y).out(labelled("slope" + as));
        run.scope(EventKind::gradient, "torch::autograd::AccumulateGrad", [&] {
          if (!changed) {
            run.op("aten::detach").in(slope).returns_view(slope);
          } else {
            run.op("aten::new_empty_strided").flag(event_flag::factory).out(labelled("empty"));
            if (adds)
              run.op("aten::add").in(slope).in(slope).out(labelled("sum" + as));
            else
              run.op("aten::copy_").in(slope).out(labelled("slope" + as));
          }
        });
        run.op("aten::neg").in(slope).out(labelled("update" + as));
      });
      REQUIRE(diverging(report) == (adds ? 2 : 1));
      CHECK(report.findings[0].op == "aten::conv2d");
      if (adds) CHECK(report.findings[1].kind == FindingKind::sequence);
    }
  }

  TEST_CASE("an op of backward is not another one's with other arguments") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const std::uint64_t forward = run.next_position();
      Tensor y = run.op(changed ? "aten::softmax" : "aten::exp").in(x).out(labelled("ones"));
      const std::uint64_t scaled = run.next_position();
      if (changed) y = run.op("aten::mul").in(y).in_number(1).out(labelled("ones"));
      run.op("aten::sum").in(y).out(labelled("loss"));
      run.backward(true);
      const Tensor grad = run.op("aten::ones_like").out(labelled("grad"));
      Tensor left;
      if (changed)
        run.node("MulBackward0", scaled, [&] {
          left = run.op("aten::mul").in(grad).in_number(1).out(labelled("grad by one"));
        });
      else
        run.node("ExpBackward0", forward, [&] {
          left = run.op("aten::mul").in(grad).in(y).out(labelled("grad by result"));
        });
      run.scope(EventKind::gradient, "torch::autograd::AccumulateGrad",
                [&] { run.op("aten::clone").in(left).out(labelled(changed ? "g2" : "g1")); });
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::sequence);
    CHECK(report.findings[0].op == "aten::exp");
  }

  TEST_CASE("a sum within backward is not what adds to a parameter's gradient") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor gradient = run.op("aten::zeros").out(labelled("g"));
      run.name_storage(gradient, "weight.grad", slot_flag::gradient);
      run.backward(true);
      const Tensor one = run.op("aten::mul").in(run.data(labelled("x"))).out(labelled("one"));
      if (changed)
        run.op("aten::add_").in(one).in(run.data(labelled("two"))).writes(one, labelled("both"));
      run.scope(EventKind::gradient, "torch::autograd::AccumulateGrad", [&] {
        run.op("aten::add_")
            .in(gradient)
            .in(one)
            .writes(gradient, labelled(changed ? "g + both" : "g + one"));
      });
    });
    CHECK(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::sequence);
    CHECK_FALSE(report.findings[0].event.reference.has_value());
  }

  TEST_CASE("a view of another dtype tells nothing: those who read through it do") {
    const auto masked = [](const std::string& other) {
      return report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor mask = run.op("aten::ge").out(Values{1, 0}.as(Dtype::int64));
        const Tensor to =
            changed ? mask : run.op("aten::to").in(mask).out(Values{1, 0}.as(Dtype::float32));
        const Tensor column = run.view(to, {2, 1}, {1, 1});
        run.op("aten::unsqueeze")
            .flag(event_flag::view)
            .given(to, slot_flag::metadata_only)
            .returns_view(column);
        run.op("aten::index_select").out(labelled("rows"));
        const Tensor y = run.op(changed ? "aten::mul" : "aten::scatter_")
                             .in(column)
                             .out(labelled(changed ? other : "y"));
        run.op("aten::sum").in(y).out(labelled("sum of " + run.content_words(y)));
      });
    };
    CHECK(masked("y").verdict == Verdict::identical);
    CHECK(masked("z").verdict == Verdict::diverged);
  }

  TEST_CASE("threads that train side by side are numbered as they come") {
    const auto train = [](RunBuilder& run, const std::vector<std::string>& batches) {
      run.step(0).phase(Phase::forward);
      for (std::uint32_t number = 0; number < batches.size(); ++number) {
        const std::string& batch = batches[number];
        run.lane(LaneRole::trainer, number);
        for (int k = 0; k < 3; ++k)
          run.op("aten::mm")
              .in(run.data(labelled(batch + std::to_string(k))))
              .out(labelled("result of " + batch + std::to_string(k)));
      }
    };
    CHECK(report_of(
              [&](RunBuilder& run) {
                train(run, {"a", "b", "c"});
              },
              [&](RunBuilder& run) {
                train(run, {"b", "c", "a"});
              })
              .verdict == Verdict::identical);
    const Report other = report_of(
        [&](RunBuilder& run) {
          train(run, {"a", "b", "c"});
        },
        [&](RunBuilder& run) {
          train(run, {"b", "d", "a"});
        });
    CHECK(diverging(other) == 1);  // of the nine ops that read batches
    CHECK(other.findings[0].kind == FindingKind::data);
  }

  TEST_CASE("what a thread reads of a step's batch is one finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const std::string as = changed ? " of another sample" : "";
      for (const int step : {0, 1}) {
        run.step(step).phase(Phase::data);
        const Tensor image = run.data(labelled("image" + std::to_string(step) + as));
        run.op("aten::to").in(image).out(labelled("on device" + std::to_string(step) + as));
        run.phase(Phase::forward);
        const Tensor label = run.data(labelled("label" + std::to_string(step) + as));
        run.op("aten::nll_loss").in(label).out(labelled("loss" + std::to_string(step) + as));
        run.op("aten::embedding").in(run.data(labelled("id" + as))).out(labelled("row" + as));
      }
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].op == "aten::to");
    CHECK(has(notes_of(report.findings[0]),
              "in this step aten::nll_loss, aten::embedding read different data, too"));
    CHECK(has(notes_of(report.findings[0]), "again in step 1"));
  }

  TEST_CASE("threads that have nothing in common are partners by the calls that created them") {
    const auto train = [](RunBuilder& run, std::uint32_t number, const std::string& created_by,
                          std::uint64_t seed) {
      run.lane(LaneRole::trainer, number, "train", created_by).step(0).seed(seed);
      run.phase(Phase::forward);
      run.op("aten::rand").draws(3).out(labelled("drawn after " + std::to_string(seed)));
    };
    const Report report = report_of(
        [&](RunBuilder& run) {
          train(run, 0, "train+11a0", 1);
          train(run, 1, "train+12b0", 2);
        },
        [&](RunBuilder& run) {
          train(run, 0, "train+12b0", 1002);
          train(run, 1, "train+11a0", 1001);
        });
    REQUIRE(diverging(report) == 2);
    CHECK(has(notes_of(report.findings[0]), "the generator's seed is 1 and 1001"));
    CHECK(has(notes_of(report.findings[1]), "the generator's seed is 2 and 1002"));
  }

  TEST_CASE("which thread takes which step of a training is no difference") {
    const Report report = report_of(
        [](RunBuilder& run) {
          hand_over(run, {0, 0, 1, 0});
        },
        [](RunBuilder& run) {
          hand_over(run, {0, 1, 1, 1});
        });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.aligned == 14);
  }

  TEST_CASE("a step that another thread takes and does differently is no harmless rewrite") {
    const Report report = report_of(
        [](RunBuilder& run) {
          hand_over(run, {0, 0, 1, 0});
        },
        [](RunBuilder& run) {
          hand_over(run, {0, 1, 1, 1}, true);
        });
    CHECK(report.verdict != Verdict::identical);
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->op == "aten::add_");
  }

  TEST_CASE("a trainer is compared to its end, however far others have read") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.lane(LaneRole::trainer, 0).step(0).phase(Phase::forward);
      const Tensor read = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
      run.op("aten::sin").in(read).out(labelled(changed ? "b" : "a"));
      run.lane(LaneRole::main, 0).step(kSetup);
      run.op("aten::neg").in(read).out(labelled("z"));
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::sin");
  }

  TEST_CASE("a trainer is compared as far as others read it, whatever step that is in") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor x = run.data(labelled("x"));
      Tensor y;
      run.lane(LaneRole::trainer, 0).phase(Phase::forward);
      for (int step = 0; step < 3; ++step) {
        const bool differs = changed && step == 2;
        y = run.step(step).op("aten::exp").in(x).out(labelled(differs ? "b" : "a"));
      }
      run.lane(LaneRole::main, 0).step(0).op("aten::cos").in(x).out(labelled("c"));
      run.step(1).op("aten::neg").in(y).out(labelled(changed ? "-b" : "-a"));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->op == "aten::exp");
    CHECK(report.first()->step == 2);
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("in which steps an op gave identical results is counted for each thread") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      for (std::uint32_t number = 0; number < 2; ++number) {
        run.lane(LaneRole::trainer, number).phase(Phase::forward);
        const Tensor x = run.data(labelled("x" + std::to_string(number)));
        for (int step = 0; step < 3; ++step) {
          const bool differs = changed && number == 1 && step == 2;
          run.step(step).op("aten::exp").in(x).out(labelled(differs ? "b" : "a"));
        }
      }
    });
    REQUIRE(diverging(report) == 1);
    CHECK(has(notes_of(*report.first()), "this op gave identical results in steps 0 - 1"));
  }

  TEST_CASE("what a thread that trains nothing takes from one that trains is no difference") {
    const auto program = [](bool elsewhere) {
      return [elsewhere](RunBuilder& run) {
        run.step(0).phase(Phase::forward);
        run.op("aten::ones").out(labelled("one"));
        run.lane(LaneRole::trainer, 0);
        const Tensor x = run.op("aten::mm").in(run.data(labelled("x"))).out(labelled("y"));
        if (elsewhere) run.lane(LaneRole::thread, 0);
        run.op("aten::sin").in(x).out(labelled("z"));
        run.lane(LaneRole::thread, 0);
        run.op("aten::cos").in(run.data(labelled("u"))).out(labelled("v"));
      };
    };
    const Report report = report_of(program(false), program(true));
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.aligned == 4);
  }

  TEST_CASE("a model that a thread draws in place of the one that trains it is no difference") {
    const auto program = [](bool elsewhere) {
      return [elsewhere](RunBuilder& run) {
        run.lane(elsewhere ? LaneRole::thread : LaneRole::trainer, 0);
        const Tensor weight = run.op("aten::rand").draws(2).out(labelled("w"));
        run.lane(LaneRole::trainer, 0).step(0).phase(Phase::forward);
        run.op("aten::mm").in(run.data(labelled("x"))).in(weight).out(labelled("y"));
      };
    };
    const Report report = report_of(program(false), program(true));
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.aligned == 2);
  }

  TEST_CASE("models that begin alike are known by the threads that train them") {
    const auto program = [](const std::vector<std::string>& roots) {
      return [roots](RunBuilder& run) {
        std::vector<Tensor> weights;
        for (std::uint32_t k = 0; k < 2; ++k) {
          run.lane(LaneRole::trainer, k).step(0).phase(Phase::forward).root(roots[k]);
          weights.push_back(run.parameter("fc.weight", labelled("w")));
          run.parameters({weights.back()});
          run.module("fc", [&] {
            run.op("aten::mm")
                .in(run.data(labelled("x" + std::to_string(k))))
                .in(weights.back())
                .out(labelled("y" + std::to_string(k)));
          });
        }
        run.lane(LaneRole::main, 0).step(0);
        for (std::uint32_t k = 0; k < 2; ++k) {
          run.root(roots[k]);
          run.module("fc", [&] {
            run.op("aten::mul")
                .in(weights[k])
                .arg("other", static_cast<int>(k))
                .out(labelled("average " + std::to_string(k)));
          });
        }
      };
    };
    const Report report = report_of(program({"Net", "Net#2"}), program({"Net#2", "Net"}));
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.only_reference + report.coverage.only_candidate == 0);
  }

  TEST_CASE("which thread takes which training from a queue is no difference") {
    for (const auto& shares :
         {std::vector<std::string>{"ad", "cb"}, {"a", "cdb"}, {"abcd"}, {"dcba", ""}}) {
      const Report report = report_of_shares({"ab", "cd"}, shares);
      CHECK(report.verdict == Verdict::identical);
      CHECK(report.coverage.only_reference + report.coverage.only_candidate == 0);
    }
    CHECK(report_of_shares({"aa", "aa"}, {"aaa", "a"}).verdict == Verdict::identical);
  }

  TEST_CASE("a training that differs is found whichever thread took it") {
    for (const auto& shares : {std::vector<std::string>{"ab", "cD"}, {"aD", "cb"}, {"a", "cDb"}}) {
      const Report report = report_of_shares({"ab", "cd"}, shares);
      CHECK(report.verdict == Verdict::diverged);
      REQUIRE(report.first() != nullptr);
      CHECK(report.first()->kind == FindingKind::origin);
      CHECK(report.first()->op == "aten::relu");
    }
  }

  TEST_CASE("a training that only one run has, from a queue, cannot be aligned") {
    CHECK(report_of_shares({"ab", "cd"}, {"ad", "cbe"}).verdict == Verdict::inconclusive);
  }

  TEST_CASE("gradients that are added to what was there in one run only are one finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      std::vector<Tensor> gradients;
      for (const std::string name : {"one", "two", "three"}) {
        gradients.push_back(run.op("aten::zeros").out(labelled("g " + name)));
        run.name_storage(gradients.back(), name + ".weight.grad", slot_flag::gradient);
      }
      run.backward(true);
      for (const Tensor& gradient : gradients) {
        const std::string of = std::to_string(&gradient - gradients.data());
        const Tensor more = run.op("aten::mul").in(run.data(labelled("x" + of))).out(labelled(of));
        run.scope(EventKind::gradient, "torch::autograd::AccumulateGrad", [&] {
          if (changed)
            run.op("aten::add_").in(gradient).in(more).writes(gradient, labelled("sum " + of));
          else
            run.op("aten::detach").in(more).returns_view(more);
        });
      }
      run.phase(Phase::optimizer);
      for (const Tensor& gradient : gradients)
        run.op("aten::neg").in(gradient).out(labelled(run.content_words(gradient) + "neg"));
    });
    CHECK(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::sequence);
  }

  TEST_CASE(
      "what an optimizer leaves out is one finding, with the gradient that it does not drop") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const std::vector<std::string> names = {"first", "second"};
      std::vector<Tensor> parameters, counts;
      run.step(0).phase(Phase::forward);
      for (const std::string& name : names)
        parameters.push_back(run.parameter(name, labelled("w " + name)));
      for (const int step : {0, 1, 2}) {
        const std::string at = " " + std::to_string(step);
        for (std::size_t k = 0; k < names.size(); ++k) {
          run.step(step).phase(Phase::forward);
          const bool other = changed && k == 1 && step > 0;
          const std::string name = names[k] + at;
          run.op("aten::mm").in(parameters[k]).out(labelled("y" + name + (other ? "'" : "")));
          run.backward(true);
          const Tensor gradient =
              run.op("aten::mul").in(run.data(labelled("x"))).out(labelled(name));
          run.name_storage(gradient, names[k] + ".grad", slot_flag::gradient);
          EventBuilder taken = run.event(EventKind::gradient, "torch::autograd::AccumulateGrad");
          taken.calls([&] {
            if (other)
              run.op("aten::add_").in(gradient).writes(gradient, labelled("sum " + name));
            else
              run.op("aten::detach").in(gradient).returns_view(gradient);
          });
          taken.returns(gradient);
          run.backward(false);
        }
        run.phase(Phase::optimizer);
        run.scope(EventKind::optimizer, "Adam", [&] {
          for (std::size_t k = 0; k < (changed ? 1 : 2); ++k) {
            const std::string name = names[k] + at;
            if (step == 0) counts.push_back(run.op("aten::zeros").out(labelled("zero")));
            run.op("aten::add_").in(counts[k]).writes(counts[k], labelled("count" + at));
            run.op("aten::mul_").in(parameters[k]).writes(parameters[k], labelled("w " + name));
          }
        });
      }
    });
    CHECK(diverging(report) == 1);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->step == 0);
    CHECK(report.first()->phase == Phase::optimizer);
  }

  TEST_CASE("an update that one run lacks follows from the gradient that it lacks") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor w = run.parameter("w", labelled("w"));
      const Tensor b = run.parameter("b", labelled("b"));
      run.op("aten::mm").in(w).in(b).out(labelled("y"));
      run.backward(true);
      for (const std::string name : {"w", "b"}) {
        const Tensor gradient =
            run.op("aten::sum").in(run.data(labelled("g" + name))).out(labelled(name));
        if (changed && name == "b") continue;
        run.name_storage(gradient, name + ".grad", slot_flag::gradient);
        EventBuilder taken = run.event(EventKind::gradient, "torch::autograd::AccumulateGrad");
        taken.calls([&] { run.op("aten::detach").in(gradient).returns_view(gradient); });
        taken.returns(gradient);
      }
      run.backward(false).phase(Phase::optimizer);
      run.scope(EventKind::optimizer, "SGD", [&] {
        run.op("aten::add_").in(w).writes(w, labelled("w'"));
        run.op("aten::norm").in(w).out(labelled("n"));
        if (!changed) run.op("aten::add_").in(b).writes(b, labelled("b'"));
      });
      run.phase(Phase::data);
      run.op("aten::mm").in(b).out(labelled(changed ? "v" : "u"));
    });
    CHECK(report.findings.size() == 1);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->phase == Phase::backward);
  }

  TEST_CASE("another optimizer does not follow from numbers that one has read") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor w = run.parameter("w", labelled("w"));
      const Tensor v = run.parameter("v", labelled("v"));
      const Tensor loss = run.op("aten::mm").in(w).out(labelled(changed ? "b" : "a"));
      run.phase(Phase::optimizer);
      run.scope(EventKind::optimizer, "LBFGS",
                [&] { run.op("aten::item").in(loss).result(changed ? 0.5 : 0.25); });
      run.scope(EventKind::optimizer, "SGD", [&] {
        run.op("aten::add_")
            .in(v)
            .arg("alpha", changed ? 0.125 : 1.0)
            .writes(v, labelled(changed ? "v'" : "v"));
      });
    });
    CHECK(diverging(report) == 2);
  }

  TEST_CASE("what an optimizer does after it has read other numbers follows from those") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor w = run.parameter("w", labelled("w"));
      const Tensor loss = run.op("aten::mm").in(w).out(labelled(changed ? "b" : "a"));
      run.phase(Phase::optimizer);
      run.scope(EventKind::optimizer, "LBFGS", [&] {
        run.op("aten::item").in(loss).result(changed ? 0.5 : 0.25);
        if (changed) run.op("aten::neg").in(run.data(labelled("g"))).out(labelled("n"));
        run.op("aten::add_")
            .in(w)
            .arg("alpha", changed ? 0.125 : 1.0)
            .writes(w, labelled(changed ? "w'" : "w"));
      });
    });
    CHECK(diverging(report) == 1);
    CHECK(report.findings.size() == 1);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::mm");
  }

  TEST_CASE("a thread that one run lacks stands alone") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      run.op("aten::ones").out(labelled("one"));
      if (changed) {
        run.lane(LaneRole::thread, 0);
        run.op("aten::zeros").out(labelled("zero"));
      }
    });
    CHECK(report.verdict == Verdict::identical);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].lane == "thread 0");
  }

  TEST_CASE("another lane is read in the order in which data flows") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::exp").in(x).out(labelled("y"));
      run.lane(LaneRole::autograd, 0).backward(true);
      const Tensor g = run.op("aten::mm").in(x).out(labelled(changed ? "b" : "a"));
      run.lane(LaneRole::main, 0).backward(false);
      run.op("aten::add_").in(g).out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].lane == "autograd");
    CHECK(report.findings[0].op == "aten::mm");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("what a module does each time it is called is one finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      for (const std::string name : {"a", "b", "c"})
        run.module("block", [&] {
          Tensor x = run.op("aten::exp").in(run.data(labelled(name))).out(labelled("e" + name));
          if (changed) x = run.op("aten::abs").in(x).out(labelled("abs" + name));
          run.op("aten::sin").in(x).out(labelled("sin" + run.content_words(x)));
        });
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].op == "aten::abs");
    CHECK(has(notes_of(report.findings[0]), "the same at 2 more ops in this step"));
  }

  TEST_CASE("what an update does to every parameter is one finding, whoever wrote the optimizer") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.without_optimizer().step(0).phase(Phase::optimizer);
      for (const std::string name : {"a", "b", "c"})
        run.module(name, [&] {
          const Tensor weight = run.parameter(name, labelled(name));
          if (changed) run.op("aten::mul_").in(weight).writes(weight, labelled("less " + name));
          run.op("aten::add_")
              .in(weight)
              .writes(weight, labelled("new " + run.content_words(weight)));
        });
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].op == "aten::mul_");
  }

  TEST_CASE("what backward lacks behind a tensor that one run detaches follows from that") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const std::uint64_t forward = run.next_position();
      const Tensor y = run.op("aten::mul").in(run.data(labelled("x"))).out(labelled("y"));
      if (changed) run.op("aten::detach").given(y, slot_flag::metadata_only).returns_view(y);
      const Tensor z = run.op("aten::exp").in(y).out(labelled("z"));
      run.backward(true);
      Tensor g = run.op("aten::mul").in(z).out(labelled("g"));
      if (!changed)
        run.node("MulBackward0", forward,
                 [&] { g = run.op("aten::neg").in(g).out(labelled("more")); });
      run.backward(false);
      run.op("aten::norm").in(g).out(labelled("norm of " + run.content_words(g)));
    });
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].op == "aten::detach");
    CHECK(diverging(report) == 1);
  }

  TEST_CASE("a sum of gradients that one run lacks follows from the reader that it detaches") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const std::uint64_t forward = run.next_position();
      const Tensor y = run.op("aten::mm").in(run.data(labelled("x"))).out(labelled("y"));
      run.op("aten::exp").in(y).out(labelled("read by a loss"));
      if (changed) run.op("aten::detach").given(y, slot_flag::metadata_only).returns_view(y);
      run.op("aten::sin").in(y).out(labelled("read by another"));
      run.phase(Phase::backward).backward(true);
      Tensor g = run.op("aten::mul").in(run.data(labelled("one"))).out(labelled("g"));
      if (!changed)
        run.op("aten::add_").in(g).in(run.data(labelled("more"))).writes(g, labelled("sum"));
      run.node("MmBackward0", forward,
               [&] { run.op("aten::mm").in(g).out(labelled(changed ? "less" : "all")); });
      run.backward(false);
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->op == "aten::detach");
    CHECK(report.first()->event.candidate.has_value());
  }

  TEST_CASE("the backward of backward follows the forward op that one run has alone") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const std::string as = changed ? " of sin" : " of tanh";
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const std::uint64_t forward = run.next_position();
      const Tensor y = run.op(changed ? "aten::sin" : "aten::tanh").in(x).out(labelled("y" + as));
      run.op("aten::sum").in(y).out(labelled("loss" + as));
      run.phase(Phase::backward).backward(true);
      const Tensor one = run.op("aten::ones_like").out(labelled("one"));
      std::uint64_t in_node = 0;
      Tensor slope = one;
      run.node(changed ? "SinBackward0" : "TanhBackward0", forward, [&] {
        in_node = run.next_position() + (changed ? 1 : 0);
        if (changed) slope = run.op("aten::cos").in(x).out(labelled("cos"));
        slope = run.op("aten::mul").in(one).in(slope).out(labelled("slope" + as));
      });
      const Tensor size = run.op("aten::norm").in(slope).out(labelled("norm" + as));
      run.node("MulBackward0", in_node, [&] {
        run.op("aten::mul").in(size).in(one).out(labelled("first" + as));
        if (!changed) run.op("aten::mul").in(one).in(one).out(labelled("second"));
        if (changed) run.op("aten::exp").in(one).out(labelled("third"));
      });
      run.op("aten::log").in(size).out(labelled("log" + as));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->op == "aten::tanh");
    CHECK(report.findings.size() == 1);
  }

  TEST_CASE("a gradient that one run lacks follows from its detaching what was multiplied") {
    const Report report =
        multiplied_by([](RunBuilder&, const Tensor& slope, std::uint32_t) { return slope; });
    CHECK_FALSE(blames_a_product(report));
  }

  TEST_CASE("what is computed from a detached tensor has no gradient for the same reason") {
    const Report report =
        multiplied_by([](RunBuilder& run, const Tensor& slope, std::uint32_t needs) {
          return run.op("aten::mul").given(slope, needs).out(labelled("square"), needs);
        });
    CHECK_FALSE(blames_a_product(report));
  }

  TEST_CASE("a node that only one run passes a gradient to follows from where that comes from") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const std::uint64_t first = run.next_position();
      const Tensor x = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("e"));
      const std::uint64_t second = run.next_position();
      const Tensor y = run.op("aten::mul").in(x).out(labelled("y"));
      if (changed) run.op("aten::detach").given(y, slot_flag::metadata_only).returns_view(y);
      run.op("aten::sin").in(y).out(labelled("z"));
      run.phase(Phase::backward).backward(true);
      Tensor g = run.op("aten::ones_like").in(y).out(labelled("one"));
      if (!changed)
        run.node("MulBackward0", second,
                 [&] { g = run.op("aten::neg").in(g).out(labelled("passed on")); });
      const Tensor both = run.op("aten::cos").in(y).out(labelled("both"));
      if (!changed)
        run.node(
            "ExpBackward0", first,
            [&] { run.op("aten::sqrt").in(both).out(labelled("from saved tensors")); }, {}, g);
      run.op("aten::norm").in(g).out(labelled("norm of " + run.content_words(g)));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->op == "aten::detach");
    CHECK(report.findings.size() == 1);
  }

  TEST_CASE("a part that only one run takes comes before who reads it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x =
          run.op("aten::relu").in(run.data(labelled("raw"))).out(Values({4}, {1, 2, 3, 4}));
      const Tensor part = run.view(x, {2}, {1});
      if (changed) {
        run.op("aten::slice")
            .given(x, slot_flag::metadata_only)
            .flag(event_flag::view)
            .returns_view(x);
        run.op("aten::slice")
            .given(x, slot_flag::metadata_only)
            .flag(event_flag::view)
            .returns_view(part);
      }
      run.op("aten::exp")
          .in(changed ? part : x)
          .out(Values(changed ? Values({2}, {1, 2}) : Values({4}, {1, 2, 3, 4})));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->op == "aten::slice");
    CHECK(report.coverage.only_reference == 0);
  }

  TEST_CASE("a part that both runs have is another tensor, though one run takes it once more") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor y =
          run.op("aten::exp").in(run.data(labelled("x"))).out(Values({4}, {1, 2, 3, 4}));
      const Tensor head = run.view(y, {2}, {1});
      const Tensor tail = run.view(y, {2}, {1}, 2);
      const auto take = [&](const Tensor& part) {
        run.op("aten::slice")
            .given(y, slot_flag::metadata_only)
            .flag(event_flag::view)
            .returns_view(part);
      };
      take(head);
      take(tail);
      if (changed) take(tail);
      run.op("aten::log").in(changed ? tail : head, "self").out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->op == "aten::log");
    CHECK(report.first()->kind == FindingKind::arguments);
  }

  TEST_CASE("a view that one run takes inside of an op explains no other order after it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(Values({2, 2}, {1, 2, 3, 4}));
      const Tensor columns = run.view(x, {2, 2}, {1, 2});
      run.op("aten::sum")
          .in(x, "self")
          .calls([&] {
            if (changed) run.op("aten::t").given(x, slot_flag::metadata_only).returns_view(columns);
          })
          .out(labelled("sum"));
      run.op("aten::log_softmax")
          .in(changed ? columns : x, "self")
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->op == "aten::log_softmax");
    CHECK(report.first()->kind == FindingKind::metadata);
  }

  TEST_CASE("what the program reads in a different order past ops differs") {
    const auto reads = [](std::string_view op) {
      return report_of([=](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(Values({2, 2}, {1, 2, 3, 4}));
        const Tensor columns = run.view(x, {2, 2}, {1, 2});
        run.op(op).in(changed ? columns : x, "self").returns_view(changed ? columns : x);
      });
    };
    const Report report = reads("aten::resolve_conj");
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->kind == FindingKind::metadata);
    CHECK(report.first()->meaning == "aten::resolve_conj reads self in a different order");
    CHECK(diverging(reads("aten::detach")) == 0);
  }

  TEST_CASE("from memory that one run alone hands out follows what reads it, nothing else") {
    const auto program = [](bool reads_it) {
      return [=](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::data);
        const Tensor data = run.data(labelled(changed && !reads_it ? "other noise" : "noise"));
        Tensor memory = data;
        if (changed) {
          memory = run.op("aten::empty").out_uninitialised(labelled("garbage"));
          run.op("aten::view").in(memory, "self").returns_view(memory);
        }
        run.op("aten::mul").in(reads_it ? memory : data).out(labelled(changed ? "b" : "a"));
      };
    };
    const Report unread = report_of(program(false));
    REQUIRE(unread.first() != nullptr);
    CHECK(unread.first()->kind == FindingKind::data);
    CHECK(unread.first()->op == "aten::mul");
    const Report read = report_of(program(true));
    REQUIRE(read.first() != nullptr);
    CHECK(read.first()->kind == FindingKind::sequence);
    CHECK(read.first()->op == "aten::empty");
  }

  TEST_CASE("a square matrix that one run alone transposes is not the same") {
    const auto program = [](const Values& matrix, bool keep, bool matters) {
      return [=](RunBuilder& run, bool changed) {
        if (keep) run.keep_content();
        run.step(0).phase(Phase::forward);
        Tensor x = run.data(matrix);
        if (changed) {
          const Tensor transposed = run.view(x, {2, 2}, {1, 2});
          run.op("aten::t").given(x, slot_flag::metadata_only).returns_view(transposed);
          x = transposed;
        }
        const bool other = changed && matters;
        run.op("aten::log_softmax").in(x, "self").out(labelled(other ? "b" : "a"));
      };
    };
    const Values any({2, 2}, {1, 2, 3, 4});
    for (const bool keep : {false, true}) {
      CAPTURE(keep);
      const Report report = report_of(program(any, keep, true));
      REQUIRE(diverging(report) == 1);
      CHECK(report.first()->kind == FindingKind::sequence);
      CHECK(report.first()->op == "aten::t");
      CHECK(diverging(report_of(program(any, keep, false))) == 0);
    }
    const Report symmetric = report_of(program(Values({2, 2}, {1, 2, 2, 4}), true, true));
    REQUIRE(symmetric.first() != nullptr);
    CHECK(symmetric.first()->kind == FindingKind::origin);
  }

  TEST_CASE("a line that has been rewritten is one finding, in whichever module and step") {
    const auto program = [](bool by_line) {
      return [by_line](RunBuilder& run, bool changed) {
        const Tensor x = run.data(labelled("x"));
        for (const std::int64_t step : {0, 1}) {
          run.step(step).phase(Phase::forward);
          for (const char* path : {"a", "b"})
            run.module(path, [&] {
              const std::string tag = path + std::to_string(step);
              const char* const line = by_line ? "train.py:23 forward" : "";
              Tensor y = run.op("aten::relu").in(x).stack(line).out(labelled("y" + tag));
              if (changed) y = run.op("aten::mul").in(y).stack(line).out(labelled("z" + tag));
              run.op("aten::tanh").in(y).stack(line).out(labelled((changed ? "v" : "u") + tag));
            });
        }
      };
    };
    const Report report = report_of(program(true));
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].module == "a");
    CHECK(has(notes_of(report.findings[0]), "the same at 1 more op in this step"));
    CHECK(has(notes_of(report.findings[0]), "again in step 1"));
    CHECK(report_of(program(false)).findings.size() == 2);
  }

  TEST_CASE("an optimizer's tensors may be saved in any order") {
    const auto save = [](bool changed, const char* third,
                         std::uint32_t flags = slot_flag::optimizer_state) {
      return [=](RunBuilder& run) {
        run.step(0).phase(Phase::optimizer);
        const Tensor x = run.data(labelled("x"));
        std::vector<Tensor> states;
        for (const char* const made : {"first", "second", third})
          states.push_back(run.op("aten::mul").in(x).out(labelled(made)));
        if (changed) std::rotate(states.begin(), states.begin() + 1, states.end());
        for (const Tensor& state : states) run.op(kSave).given(state, flags);
      };
    };
    const Report same = report_of(save(false, "third"), save(true, "third"));
    CHECK(same.verdict == Verdict::identical);
    CHECK(same.coverage.only_reference == 0);
    const Report other = report_of(save(false, "third"), save(true, "changed"));
    CHECK(other.verdict == Verdict::diverged);
    CHECK(other.findings.size() == 1);
    CHECK(report_of(save(false, "third", 0), save(true, "third", 0)).verdict != Verdict::identical);
  }

  TEST_CASE("an optimizer's tensors that have names are the same ones, whichever were made first") {
    const auto save = [](bool changed, bool exchanged) {
      return [=](RunBuilder& run) {
        run.step(0).phase(Phase::optimizer);
        std::vector<std::string> names{"a.exp_avg", "b.exp_avg"};
        if (changed) std::swap(names[0], names[1]);
        for (const std::string& name : names) {
          const std::string holds = exchanged ? (name[0] == 'a' ? "b" : "a") : name.substr(0, 1);
          const Tensor state = run.data(labelled(holds));
          run.name_storage(state, name, slot_flag::optimizer_state);
          run.op(kSave).given(state, slot_flag::optimizer_state);
        }
      };
    };
    const Report same = report_of(save(false, false), save(true, false));
    CHECK(same.verdict == Verdict::identical);
    CHECK(same.findings.empty());
    CHECK(report_of(save(false, false), save(true, true)).verdict == Verdict::diverged);
  }
}
