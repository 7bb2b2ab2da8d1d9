#include <algorithm>
#include <map>
#include <optional>

#include "core/forwarded_run.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

void train(RunBuilder& run, int first, int steps, const std::string& tag = {}) {
  for (int step = 0; step < steps; ++step) {
    run.step(first + step).phase(Phase::forward);
    const Tensor x = run.data(labelled("x" + std::to_string(step)));
    run.op("aten::mm").in(x).out(labelled("y" + tag + std::to_string(step)));
    run.op("aten::relu").in(x).out(labelled("z" + std::to_string(step)));
  }
}

/// A program that trains several models. Its optimizers keep so many `states`, made by the first
/// update, that change with each update alike, whatever the gradients are.
class Training {
 public:
  Training(RunBuilder& run, const std::vector<std::string>& models, int states = 0)
      : run_(run), states_(static_cast<std::size_t>(states)) {
    for (const std::string& model : models) {
      run.root(model);
      weights_.emplace(model, run.parameter("weight", labelled(model, 8)));
    }
  }

  /// Forward and backward with a part of the data, or with what the last one has made.
  void pass(const std::string& model, std::optional<int> part) {
    const Tensor& weight = weights_.at(model);
    Tensor x = made_;
    if (part) {
      const std::string batch = "x" + std::to_string(*part);
      run_.phase(Phase::data);
      x = run_.op("aten::stack").in(run_.data(labelled(batch, 8))).out(labelled(batch, 8));
    }
    run_.root(model).phase(Phase::forward);
    if (carries_over && updates_ == 0) made_ = run_.data(labelled("begin", 8));
    const std::string made = model + run_.content_words(x) + run_.content_words(weight) +
                             (carries_over ? run_.content_words(made_) : "");
    EventBuilder op = run_.op(model == "g" ? "aten::addmm" : "aten::mm");
    op.in(x).in(weight);
    if (carries_over) op.in(made_);
    const Tensor y = op.out(labelled("y" + made, 8));
    made_ = y;
    run_.backward(true);
    gradient_ = run_.op("aten::mul").in(y).out(labelled("dy" + made, 8));
    gradient_ = run_.gradient("weight.grad", labelled("dw" + made, 8), "");
    run_.backward(false);
  }

  void update(const std::string& model) {
    const Tensor& weight = weights_.at(model);
    run_.root(model).phase(Phase::optimizer);
    ++updates_;
    for (Tensor& state : states_)
      if (updates_ == 1) state = run_.op("aten::zeros_like").out(labelled("state", 8));
    for (const Tensor& state : states_)
      run_.op("aten::mul_").in(state).writes(state, labelled(std::to_string(updates_), 8));
    run_.op("aten::add_")
        .in(weight)
        .in(gradient_)
        .writes(weight, labelled(run_.content_words(weight) + run_.content_words(gradient_), 8));
  }

  void end() {
    for (const auto& [model, weight] : weights_) run_.root(model).leaves({weight});
  }

  bool carries_over = false;  ///< each forward reads what the last one has made

 private:
  RunBuilder& run_;
  std::map<std::string, Tensor> weights_;
  std::vector<Tensor> states_;
  int updates_ = 0;
  Tensor made_;
  Tensor gradient_;
};

/// Trains with the same data in each step. `left_out` has no update, so that the next pass belongs
/// to the same step; `more` has a pass more, the gradients of which are dropped.
void full_batches(RunBuilder& run, int passes, std::optional<int> left_out,
                  std::optional<int> more) {
  Training training(run, {"d"});
  int step = 0;
  for (int pass = 0; pass < passes; ++pass) {
    // What follows the last update belongs to its step.
    const bool is_rest = pass == left_out && pass + 1 == passes;
    run.step(is_rest ? step - 1 : step);
    if (pass == more) {
      training.pass("d", 0);
      run.event(EventKind::zero_grad, "zero_grad");
    }
    training.pass("d", 0);
    if (pass == left_out) continue;
    training.update("d");
    ++step;
  }
  training.end();
}

/// Forward and backward of a weight with a part of the data; returns its gradient.
Tensor pass_of(RunBuilder& run, const Tensor& weight, const std::string& part) {
  run.phase(Phase::forward);
  const std::string made = run.content_words(weight) + part;
  const Tensor x = run.data(labelled("x" + part, 8));
  const Tensor y = run.op("aten::mm").in(x).in(weight).out(labelled("y" + made, 8));
  run.backward(true);
  const Tensor gradient = run.op("aten::mul").in(y).out(labelled("g" + made, 8));
  run.name_storage(gradient, "fc.weight.grad", slot_flag::gradient);
  {
    EventBuilder taken = run.event(EventKind::gradient, "torch::autograd::AccumulateGrad");
    taken.calls([&] { run.op("aten::detach").in(gradient).out(labelled("g" + made, 8)); });
    taken.returns(gradient);
  }
  run.backward(false);
  return gradient;
}

/// A run that counts how often a block is read.
class CountedRun : public ForwardedRun {
 public:
  using ForwardedRun::ForwardedRun;
  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override {
    ++read;
    return ForwardedRun::block(rank, lane, index);
  }
  mutable std::uint64_t read = 0;
};

}  // namespace

TEST_SUITE("steps") {
  TEST_CASE("where most data of every step differ, each is still read only a few times") {
    constexpr std::uint64_t kSteps = 200;
    const auto learn = [](RunBuilder& run, const std::string& tag) {
      const Tensor weight = run.parameter("weight", labelled("weight"));
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        const std::string number = std::to_string(step);
        run.step(static_cast<std::int64_t>(step)).phase(Phase::forward);
        const Tensor x = run.data(labelled("x" + number));
        run.op("aten::mm").in(x).in(weight).out(labelled("y" + number));
        for (const std::string name : {"a", "b", "c"})
          run.op("aten::exp").in(run.data(labelled(name + tag + number))).out(labelled("z"));
      }
    };
    RunBuilder left;
    RunBuilder right;
    learn(left, "left");
    learn(right, "right");
    const auto reference = left.build();
    const auto candidate = right.build();
    const CountedRun counted(*reference);
    const Report report = compare(counted, *candidate, {});
    CHECK(report.first()->kind == FindingKind::data);
    CHECK(counted.read < 4 * kSteps);
  }

  TEST_CASE("what ends a step in one run and begins the next one in the other is the same") {
    const auto draw = [](RunBuilder& run) {
      const Tensor order = run.op("aten::randperm").out(labelled("order"));
      run.op("aten::resolve_neg").given(order, slot_flag::metadata_only).returns_view(order);
    };
    const auto run_with = [&](RunBuilder& run, bool looks, int draws) {
      const Tensor weight = run.parameter("weight", labelled("weight"));
      for (const int step : {0, 1}) {
        const std::string number = std::to_string(step);
        run.step(step).phase(Phase::data);
        if (step == 1 && !looks)
          for (int k = 0; k < draws; ++k) draw(run);
        const Tensor x =
            run.op("aten::select").in(run.data(labelled("x" + number))).out(labelled("b" + number));
        run.phase(Phase::forward);
        run.op("aten::mm").in(x).in(weight).out(labelled("y" + number));
        run.phase(Phase::optimizer);
        run.op("aten::add_").in(weight).in(x).writes(weight, labelled("w" + number));
        run.phase(Phase::data);
        if (step == 0 && looks) {
          draw(run);
          run.op("aten::norm").in(weight).out(labelled("norm"));
        }
      }
    };
    const auto compared = [&](int draws) {
      return report_of([&](RunBuilder& run) { run_with(run, false, draws); },
                       [&](RunBuilder& run) { run_with(run, true, 1); });
    };
    const Report once = compared(1);
    CHECK(once.coverage.only_reference == 0);
    CHECK(once.coverage.only_candidate == 1);
    REQUIRE(once.findings.size() == 1);
    CHECK(once.findings[0].op == "aten::norm");
    CHECK(compared(2).coverage.only_reference == 2);
  }

  TEST_CASE("a run that merely is longer is inconclusive") {
    const Report report = report_of([](RunBuilder& run) { train(run, 0, 3); },
                                    [](RunBuilder& run) { train(run, 0, 5); });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(report.summary ==
          "inconclusive: identical in the 3 steps that both have; the candidate has 2 more");
    REQUIRE(report.findings.size() == 1);
    CHECK_FALSE(report.findings[0].diverges);
    CHECK(report.findings[0].goes_on);
    CHECK(report.findings[0].kind == FindingKind::sequence);
    CHECK(report.findings[0].step == 3);
    CHECK(report.findings[0].op == "aten::mm");
    CHECK(cause_ids(report) == "epoch");
    CHECK(report.coverage.only_candidate == 4);
  }

  TEST_CASE("a run that merely is longer is identical where that is allowed") {
    CompareOptions options;
    options.allow_longer = true;
    const auto three = [](RunBuilder& run) { train(run, 0, 3); };
    const auto five = [](RunBuilder& run) { train(run, 0, 5); };
    CHECK(report_of(three, five, options).verdict == Verdict::identical);
    CHECK(report_of(five, three, options).verdict == Verdict::identical);
  }

  TEST_CASE("where all steps use the same data, an update left out is named in its step") {
    constexpr int kPasses = 12;
    for (const bool is_last : {false, true}) {
      const int left_out = is_last ? kPasses - 1 : 4;
      CompareOptions options;
      options.allow_longer = true;
      const Report report =
          report_of([](RunBuilder& run) { full_batches(run, kPasses, {}, {}); },
                    [&](RunBuilder& run) { full_batches(run, kPasses, left_out, {}); }, options);
      REQUIRE(report.verdict == Verdict::diverged);
      CHECK(report.findings.size() == 1);
      CHECK(report.first()->op == "aten::add_");
      CHECK(report.first()->step == left_out);
      CHECK(find_cause(report, "skipped-step") != nullptr);
    }
  }

  TEST_CASE("where all steps use the same data, a pass more that updates nothing moves no steps") {
    const Report report = report_of([](RunBuilder& run) { full_batches(run, 12, {}, {}); },
                                    [](RunBuilder& run) { full_batches(run, 12, {}, 4); });
    CHECK_FALSE((report.verdict == Verdict::diverged));
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].step == 4);
  }

  TEST_CASE("a pass whose gradients are dropped before the update is what one run alone has") {
    const Report report = report_of([&](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("fc.weight", labelled("w", 8));
      for (const std::string part : {"0", "1"}) {
        run.step(part == "0" ? 0 : 1);
        if (changed && part == "1") {
          pass_of(run, w, "more");
          run.event(EventKind::zero_grad, "zero_grad");
        }
        const Tensor g = pass_of(run, w, part);
        run.phase(Phase::optimizer);
        run.op("aten::add_").in(w).in(g).writes(w, labelled("w" + part, 8));
      }
    });
    REQUIRE(report.findings.size() == 1);
    CHECK_FALSE(report.findings[0].diverges);
    CHECK(report.findings[0].op == "aten::mm");
    CHECK(report.coverage.only_reference == 0);
  }

  TEST_CASE("gradients that the update of another model leaves over are not dropped") {
    const Report report = report_of([&](RunBuilder& run, bool changed) {
      run.root("critic").step(0);
      const auto pass = [&](const std::string& of) {
        run.phase(Phase::forward);
        run.op("aten::mm").in(run.data(labelled(of, 8))).out(labelled("y of " + of, 8));
        run.backward(true);
        run.gradient("weight.grad", labelled("g of " + of, 8), "fc");
        run.backward(false).phase(Phase::optimizer);
      };
      if (changed) {
        pass("the generator");
        run.op("aten::sub_").writes(run.parameter("v", labelled("v", 8)), labelled("v1", 8));
      }
      run.phase(Phase::data).event(EventKind::zero_grad, "zero_grad");
      pass("the critic");
      run.op("aten::add_").writes(run.parameter("w", labelled("w", 8)), labelled("w1", 8));
    });
    CHECK(report.coverage.only_reference == 0);
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].op == "aten::mm");
  }

  TEST_CASE(
      "a shorter run with a backward of its own is not identical, though a longer one may be") {
    CompareOptions options;
    options.allow_longer = true;
    const Report report =
        report_of([](RunBuilder& run) { train(run, 0, 4); },
                  [](RunBuilder& run) {
                    train(run, 0, 3);
                    run.backward(true);
                    run.op("aten::mul").in(run.data(labelled("own"))).out(labelled("made"));
                    run.backward(false);
                  },
                  options);
    CHECK(report.summary ==
          "inconclusive: identical in the 3 steps that both have; the reference has 1 more, and 1 "
          "backward of the candidate has no equal");
  }

  TEST_CASE("of a run that is shorter a change after its last op is seen") {
    CompareOptions options;
    options.allow_longer = true;
    const auto update = [](RunBuilder& run, int steps, bool changed) {
      const Tensor weight = run.parameter("fc.weight", labelled("w"));
      for (int step = 0; step < steps; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        run.op("aten::mm").in(x).in(weight).out(labelled("y" + std::to_string(step)));
        run.phase(Phase::optimizer);
        run.op("aten::add_").in(weight).in(x).writes(weight, labelled("w" + std::to_string(step)));
      }
      if (changed) run.overwrite(weight, labelled("by hand"));
      run.leaves({weight});
    };
    const auto two = [&](RunBuilder& run) { update(run, 2, false); };
    const auto two_changed = [&](RunBuilder& run) { update(run, 2, true); };
    const auto three = [&](RunBuilder& run) { update(run, 3, false); };
    CHECK(report_of(two, three, options).verdict == Verdict::identical);
    CHECK(report_of(two_changed, three, options).verdict == Verdict::inconclusive);
    CHECK(report_of(three, two_changed, options).verdict == Verdict::inconclusive);
  }

  TEST_CASE("missing steps after a difference are no finding of their own") {
    const Report report = report_of([](RunBuilder& run) { train(run, 0, 3, "a"); },
                                    [](RunBuilder& run) { train(run, 0, 2, "b"); });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::origin);
    CHECK(has(report.coverage.unseen.back(), "the reference goes on for 1 step after step 1"));
  }

  TEST_CASE("an incomplete run that is equal as far as it goes is inconclusive") {
    const auto whole = [](RunBuilder& run) { train(run, 0, 3); };
    const Report steps = report_of(whole, [](RunBuilder& run) {
      train(run, 0, 2);
      run.incomplete("the program was killed");
    });
    CHECK(steps.verdict == Verdict::inconclusive);
    CHECK(steps.findings.empty());
    CHECK(has(steps.coverage.unseen.back(), "incomplete: the program was killed"));

    const Report ops = report_of(whole, [](RunBuilder& run) {
      train(run, 0, 2);
      run.step(2);
      run.op("aten::mm").in(run.data(labelled("x2"))).out(labelled("y2"));
      run.incomplete("the program was killed");
    });
    CHECK(ops.verdict == Verdict::inconclusive);
    CHECK(ops.findings.empty());
    CHECK(ops.coverage.only_reference == 1);
  }

  TEST_CASE("an incomplete run that differs has diverged") {
    const Report report = report_of([](RunBuilder& run) { train(run, 0, 3, "a"); },
                                    [](RunBuilder& run) {
                                      train(run, 0, 2, "b");
                                      run.incomplete("the program was killed");
                                    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.findings.at(0).op == "aten::mm");
  }

  TEST_CASE("a warm-up step is passed over with a step offset") {
    const auto reference = [](RunBuilder& run) { train(run, 0, 3); };
    const auto candidate = [](RunBuilder& run) {
      run.step(0);
      run.op("aten::exp").in(run.data(labelled("warm"))).out(labelled("up"));
      train(run, 1, 3);
    };
    const Report plain = report_of(reference, candidate);
    CHECK(plain.verdict == Verdict::identical);
    REQUIRE(plain.findings.size() == 1);
    CHECK(plain.findings[0].kind == FindingKind::sequence);
    CHECK(plain.findings[0].op == "aten::exp");
    CHECK(plain.findings[0].step == 0);
    CHECK(has(plain.coverage.unseen.at(0), "step 0 of the reference is step 1 of the candidate"));
    const Report shifted = report_of(reference, candidate, step_offset(1));
    CHECK(shifted.verdict == Verdict::identical);
    CHECK(shifted.findings.empty());
    CHECK(has(shifted.coverage.unseen.at(0), "shifted by 1"));
    CHECK(report_of(candidate, reference, step_offset(-1)).verdict == Verdict::identical);
  }

  TEST_CASE("samples in another order are no extra steps") {
    const auto learn = [](RunBuilder& run, const std::vector<int>& order) {
      const Tensor weight = run.parameter("weight", labelled("weight"));
      for (std::size_t step = 0; step < order.size(); ++step) {
        run.step(static_cast<std::int64_t>(step)).phase(Phase::forward);
        const Tensor x = run.data(labelled("x" + std::to_string(order[step])));
        const Tensor scaled =
            run.op("aten::div").in(x).out(labelled("scaled" + run.content_words(x)));
        const std::string made = run.content_words(scaled) + run.content_words(weight);
        const Tensor y = run.op("aten::mm").in(scaled).in(weight).out(labelled("y" + made));
        run.op("aten::add_").in(weight).in(y).writes(weight, labelled("w" + made));
      }
    };
    for (const std::vector<int>& order :
         {std::vector{1, 2, 3, 4, 0}, {1, 0, 2, 3, 4}, {3, 4, 0, 1, 2}}) {
      const Report report = report_of(
          [&](RunBuilder& run) {
            learn(run, {0, 1, 2, 3, 4});
          },
          [&](RunBuilder& run) { learn(run, order); });
      REQUIRE(report.first() != nullptr);
      CHECK(report.first()->kind == FindingKind::data);
      CHECK(report.first()->step == 0);
      CHECK(report.coverage.only_candidate == 0);
    }
  }

  TEST_CASE("setup is compared, and comes before step 0") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w =
          run.op("aten::exp").in(run.data(labelled("c"))).out(labelled(changed ? "w2" : "w1"));
      run.step(0).phase(Phase::forward);
      run.op("aten::mm").in(w).out(labelled(changed ? "y2" : "y1"));
      run.op("aten::mm").in(run.data(labelled("x"))).out(labelled(changed ? "z2" : "z1"));
    });
    REQUIRE(report.findings.size() == 2);
    CHECK_FALSE(report.findings[0].step.has_value());
    CHECK(report.findings[0].phase == Phase::setup);
    CHECK(report.findings[1].step == 0);
    CHECK(has(report.summary, "diverged in setup: aten::exp"));
  }

  TEST_CASE("setup that one run lacks is no identical run") {
    const Report report = report_of([](RunBuilder& run) { train(run, 0, 2); },
                                    [](RunBuilder& run) {
                                      run.op("aten::ones").out(labelled("one"));
                                      train(run, 0, 2);
                                    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::sequence);
    CHECK_FALSE(report.findings[0].step.has_value());
  }

  TEST_CASE("a step in the middle that one run did not record is inconclusive") {
    const Report report =
        report_of([](RunBuilder& run) { train(run, 0, 3); },
                  [](RunBuilder& run) {
                    run.step(0).phase(Phase::forward);
                    for (const int step : {0, 2}) {
                      run.step(step);
                      const Tensor x = run.data(labelled("x" + std::to_string(step)));
                      run.op("aten::mm").in(x).out(labelled("y" + std::to_string(step)));
                      run.op("aten::relu").in(x).out(labelled("z" + std::to_string(step)));
                    }
                  });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(report.findings.empty());
  }

  TEST_CASE("recordings that begin at other steps are compared from where both have begun") {
    const auto learn = [](RunBuilder& run, int first, int end, const std::string& start) {
      for (int step = 0; step < first; ++step) run.step(step);
      const Tensor weight = run.parameter("weight", labelled(start));
      for (int step = first; step < end; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled("x" + std::to_string(step)));
        run.op("aten::mm").in(x).in(weight).out(labelled(start + "y" + std::to_string(step)));
      }
      run.steps_in_run(12);
    };
    const auto from = [&](int first, int end, const std::string& start = "w") {
      return [=](RunBuilder& run) { learn(run, first, end, start); };
    };
    SUBCASE("equal where both are recorded, the rest is not known") {
      const Report report = report_of(from(4, 8), from(6, 10));
      CHECK(report.verdict == Verdict::inconclusive);
      CHECK(report.findings.empty());
      CHECK(report.coverage.aligned == 2);
      CHECK(has(report.coverage.unseen.at(0), "before step 6, from step 4 on"));
      CHECK(has(report.coverage.unseen.at(1), "where the reference's recording ends"));
    }
    SUBCASE("what differs at once parted before, nobody knows why") {
      const Report report = report_of(from(4, 8), from(4, 8, "v"));
      CHECK(report.verdict == Verdict::diverged);
      CHECK(report.findings.at(0).kind == FindingKind::parameter);
      CHECK(cause_ids(report) == "unknown");
      CHECK(has(report.causes.at(0).evidence.at(0), "diverged before step 4"));
    }
    SUBCASE("settings of before are those that the recording begins with") {
      const auto with_setting = [&](int first, std::int64_t set_in) {
        return [=](RunBuilder& run) {
          if (set_in == kSetup) run.environment("threads.intra_op", "2");
          for (int step = 0; step <= set_in; ++step) run.step(step);
          if (set_in != kSetup) run.environment("threads.intra_op", "2");
          learn(run, first, 8, "w");
        };
      };
      CHECK(report_of(with_setting(4, kSetup), with_setting(4, 3)).environment.empty());
    }
  }

  TEST_CASE("runs without events, and runs of other programs, are inconclusive") {
    const auto program = [](const std::string& family) {
      return [family](RunBuilder& run) {
        run.step(0).phase(Phase::forward);
        for (int k = 0; k < 10; ++k)
          run.op("aten::" + family + std::to_string(k)).out(labelled("y"));
      };
    };
    CHECK(report_of(program("a"), [](RunBuilder&) {}).verdict == Verdict::inconclusive);
    CHECK(report_of([](RunBuilder&) {}, [](RunBuilder&) {}).verdict == Verdict::inconclusive);
    const Report other = report_of(program("a"), program("b"));
    CHECK(other.verdict == Verdict::inconclusive);
    CHECK(has(other.summary, "inconclusive: "));
  }

  TEST_CASE("one rank of a run is compared with another number of the other") {
    const Report report = report_of(
        [](RunBuilder& run) {
          run.rank(0);
          train(run, 0, 1);
        },
        [](RunBuilder& run) {
          run.rank(2);
          train(run, 0, 1);
        });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("an update left out makes one step of two: the later ones are partners all the same") {
    // A program with its own optimizer: nothing shows that it drops gradients.
    const auto pass = [](RunBuilder& run, const Tensor& w, int number, bool updates) {
      const std::string made = run.content_words(w) + std::to_string(number);
      const Tensor g = pass_of(run, w, std::to_string(number));
      // What comes before an update belongs to it where there is one.
      run.phase(updates ? Phase::optimizer : Phase::data);
      run.op("aten::norm").in(g).out(labelled("norm" + made, 4));
      if (updates) run.op("aten::add_").in(w).in(g).writes(w, labelled("w" + made, 8));
    };
    constexpr int kPasses = 8;
    constexpr int kLeftOut = 2;
    const Report report = report_of(
        [&](RunBuilder& run) {
          const Tensor w = run.without_optimizer().parameter("fc.weight", labelled("w", 8));
          for (int number = 0; number < kPasses; ++number) pass(run.step(number), w, number, true);
        },
        [&](RunBuilder& run) {
          const Tensor w = run.without_optimizer().parameter("fc.weight", labelled("w", 8));
          for (int number = 0; number < kPasses; ++number) {
            run.step(number > kLeftOut ? number - 1 : number);
            pass(run, w, number, number != kLeftOut);
          }
        });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::add_");
    CHECK(report.first()->step == kLeftOut);
    REQUIRE_FALSE(report.coverage.unseen.empty());
    CHECK(has(report.coverage.unseen.front(),
              "steps 2 - 3 of the reference and step 2 of the candidate are compared together"));
    CHECK(find_cause(report, "gradient-accumulation") == nullptr);
    CHECK(report.coverage.only_reference == 1);
    CHECK(report.coverage.only_candidate == 0);
  }

  TEST_CASE("an iteration that one run leaves out is found by the data of all later ones") {
    const auto train = [](RunBuilder& run, const std::vector<int>& batches) {
      const Tensor all = run.data(labelled("all", 64));
      const Tensor weight = run.parameter("fc.weight", labelled("w", 8));
      std::string history;
      int step = 0;
      for (const int batch : batches) {
        const std::string name = std::to_string(batch);
        history += name;
        run.step(step++).phase(Phase::data);
        const Tensor x = run.op("aten::index").in(all).out(labelled("x" + name, 8));
        run.phase(Phase::forward);
        const Tensor y = run.op("aten::mm").in(x).in(weight).out(labelled("y" + history, 8));
        run.phase(Phase::optimizer);
        run.op("aten::add_").in(weight).in(y).writes(weight, labelled("w" + history, 8));
      }
    };
    const auto compared = [&](const std::vector<int>& batches) {
      return report_of(
          [&](RunBuilder& run) {
            train(run, {0, 1, 2, 3, 4, 5, 6, 7});
          },
          [&](RunBuilder& run) { train(run, batches); });
    };
    const Report report = compared({0, 1, 3, 4, 5, 6, 7});
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::sequence);
    CHECK(report.first()->step == 2);
    CHECK(report.first()->meaning == "the whole step runs in the reference only");
    CHECK(report.coverage.only_reference == 3);
    CHECK(report.coverage.only_candidate == 0);
    // As many iterations in another order, or fewer with other data, are compared one by one.
    CHECK(compared({0, 1, 3, 4, 5, 6, 7, 2}).coverage.only_reference == 0);
    CHECK(compared({0, 1, 3, 4, 5, 6, 9}).first()->kind != FindingKind::sequence);
  }

  TEST_CASE("an iteration that one run leaves out is found where later epochs have other orders") {
    // Each epoch ends with a validation.
    const auto train = [](RunBuilder& run, bool leaves_out, bool validates) {
      constexpr int kBatches = 4;
      constexpr int kLeftOut = 2;
      const Tensor weight = run.parameter("fc.weight", labelled("w", 8));
      std::string history;
      int step = 0;
      for (int epoch = 0; epoch < 2; ++epoch)
        for (int batch = 0; batch < kBatches; ++batch) {
          if (leaves_out && epoch == 0 && batch == kLeftOut) continue;
          const std::string name =
              std::to_string(batch) + (leaves_out && epoch > 0 ? "b" : "a") + std::to_string(epoch);
          history += name;
          run.step(step++).phase(Phase::data);
          const Tensor x = run.data(labelled("x" + name, 8));
          run.phase(Phase::forward);
          const Tensor y = run.op("aten::mm")
                               .in(x)
                               .in(weight)
                               .stack("train.py:3 train\ty = net(x)\t.")
                               .out(labelled("y" + history, 8));
          run.phase(Phase::optimizer);
          run.op("aten::add_").in(weight).in(y).writes(weight, labelled("w" + history, 8));
          if (batch + 1 < kBatches || !validates) continue;
          run.phase(Phase::eval);
          run.op("aten::exp")
              .in(weight)
              .stack("train.py:9 valid\tnet(held_out)\t.")
              .out(labelled("v" + history));
        }
    };
    const auto compared = [&](bool validates) {
      return report_of([&](RunBuilder& run) { train(run, false, validates); },
                       [&](RunBuilder& run) { train(run, true, validates); });
    };
    const Report report = compared(true);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->step == 2);
    CHECK(report.first()->meaning == "the whole step runs in the reference only");
    CHECK(compared(false).first()->meaning.empty());
  }

  TEST_CASE(
      "a network that one run trains once more is found though all later numbers are others") {
    constexpr int kSteps = 8;
    constexpr int kOnceMore = 3;
    const auto train = [](RunBuilder& run, bool more, int rounds) {
      const Tensor critic = run.parameter("critic.weight", labelled("critic", 8));
      const Tensor maker = run.parameter("maker.weight", labelled("maker", 8));
      int drawn = 0;
      int step = 0;
      int updates = 0;
      const auto update = [&](const Tensor& weight, const std::string& op, const std::string& data,
                              const std::string& call) {
        run.phase(Phase::forward);
        const std::string made = std::to_string(updates++) + std::to_string(drawn);
        const Tensor noise = run.data(labelled("noise" + std::to_string(drawn++), 8));
        const Tensor y = run.op(op)
                             .in(run.data(labelled("real" + data, 8)))
                             .in(noise)
                             .in(weight)
                             .stack(call)
                             .out(labelled("y" + made, 8));
        run.phase(Phase::optimizer);
        run.op("aten::add_").in(weight).in(y).writes(weight, labelled("w" + made, 8));
      };
      for (int round = 0; round < rounds; ++round) {
        const std::string data = std::to_string(round);
        for (int k = 0; k < (more && round == kOnceMore ? 2 : 1); ++k) {
          if (k > 0) ++step;
          run.step(step);
          update(critic, "aten::mm", data, "gan.py:3 train\tloss(critic(maker(noise)))\t.");
        }
        update(maker, "aten::addmm", data, "gan.py:4 train\tloss(maker(noise))\t.");
        ++step;
      }
    };
    const auto compared = [&](int rounds) {
      return report_of([&](RunBuilder& run) { train(run, false, rounds); },
                       [&](RunBuilder& run) { train(run, true, kSteps); });
    };
    const Report report = compared(kSteps);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::sequence);
    CHECK_FALSE(report.first()->event.reference.has_value());
    CHECK(report.first()->where == "gan.py:3");
    CHECK(report.coverage.only_reference == 0);
    CHECK(report.coverage.only_candidate == 2);
    const auto are_together = [](const Report& one) {
      return std::ranges::any_of(one.coverage.unseen, [](const std::string& words) {
        return has(words, "step 3 of the reference and steps 3 - 4 of the candidate");
      });
    };
    CHECK(are_together(report));
    // Without a step more in the candidate, the maker's update is left out.
    CHECK_FALSE(are_together(compared(kSteps + 1)));
  }

  TEST_CASE("gradients that one run drops between two passes of a step leave the passes partners") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      run.step(0);
      for (const std::string pass : {"a", "b"}) {
        run.phase(Phase::forward);
        const Tensor y =
            run.op("aten::mm").in(run.data(labelled("x" + pass))).in(w).out(labelled("y" + pass));
        run.backward(true);
        const Tensor g = run.op("aten::mul").in(y).out(labelled("g" + pass));
        if (pass == "a" || changed)
          run.event(EventKind::gradient, "torch::autograd::AccumulateGrad").returns(g);
        else
          run.op("aten::add_").in(g).writes(g, labelled("sum"));
        run.backward(false).phase(Phase::data);
        if (changed && pass == "a") run.event(EventKind::zero_grad, "zero_grad");
      }
    });
    CHECK(report.coverage.only_reference == 1);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::add_");
  }

  TEST_CASE("so are steps whose batches are views, after an update that was left out") {
    constexpr int kPasses = 8;
    constexpr int kLeftOut = 2;
    const auto pass = [](RunBuilder& run, const Tensor& data, const Tensor& w, int number,
                         bool updates) {
      run.phase(Phase::data);
      const Tensor x = run.view(data, {8}, {1}, 8 * number);
      run.op("aten::narrow").flag(event_flag::view).in(data).returns_view(x);
      run.phase(Phase::forward);
      const std::string made = run.content_words(w) + std::to_string(number);
      run.op("aten::mm").in(x).in(w).out(labelled("y" + made, 8));
      run.backward(true);
      const Tensor g = run.gradient("fc.weight.grad", labelled("g" + made, 8), "fc");
      run.backward(false);
      if (updates) run.op("aten::sub_").in(w).in(g).writes(w, labelled("w" + made, 8));
      run.op("aten::zero_").given(g).writes(g, labelled("zero", 8));
    };
    const auto train = [&](RunBuilder& run, bool leaves_out) {
      run.without_optimizer();
      const Tensor data = run.op("aten::randn").out(labelled("data", std::size_t{8} * kPasses));
      const Tensor w = run.parameter("fc.weight", labelled("w", 8));
      for (int number = 0; number < kPasses; ++number) {
        run.step(leaves_out && number > kLeftOut ? number - 1 : number);
        pass(run, data, w, number, !leaves_out || number != kLeftOut);
      }
    };
    const Report report = report_of([&](RunBuilder& run, bool changed) { train(run, changed); });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::sub_");
    CHECK(report.first()->step == kLeftOut);
    REQUIRE_FALSE(report.coverage.unseen.empty());
    CHECK(has(report.coverage.unseen.front(), "step 2 of the candidate are compared together"));
  }

  TEST_CASE("an update in the middle of an accumulation is what one run alone has") {
    constexpr int kStates = 8;  // that are what the other run's update finds and leaves
    const Report report = report_of([](RunBuilder& run, bool changed) {
      Training training(run, {"fc"}, kStates);
      int part = 0;
      std::int64_t number = 0;
      for (int step = 0; step < 6; ++step) {
        run.step(number++);
        for (int k = 0; k < 4; ++k) {
          training.pass("fc", part++);
          if (!changed || step != 2 || k != 1) continue;
          training.update("fc");
          run.step(number++);
        }
        training.update("fc");
      }
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::mul_");
    CHECK(report.first()->step == 2);
    CHECK(report.coverage.only_reference == 0);
    CHECK(report.coverage.only_candidate == kStates + 1);
  }

  TEST_CASE("steps whose borders have moved for good hold the same parts in the same order") {
    // Two models in turn. Without one update, a step ends a part later from there on.
    constexpr int kRounds = 12;
    const Report report = report_of([](RunBuilder& run, bool changed) {
      Training training(run, {"d", "g"});
      for (int round = 0; round < kRounds; ++round) {
        const bool skips = changed && round == 2;
        const bool has_moved = changed && round > 2;
        if (!has_moved) run.step(round);
        training.pass("d", 2 * round);
        if (!skips) training.update("d");
        if (has_moved) run.step(round);
        training.pass("g", 2 * round + 1);
        training.update("g");
      }
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::add_");
    CHECK(report.first()->step == 2);
    CHECK(report.coverage.only_reference == 1);
    CHECK(report.coverage.only_candidate == 0);
  }

  TEST_CASE("a part that one run trains twice, which ends a step there, is what it alone has") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      Training training(run, {"d", "g"});
      std::int64_t number = 0;
      for (int round = 0; round < 6; ++round) {
        run.step(number++);
        training.pass("d", 2 * round);
        training.update("d");
        if (changed && round == 2) {
          run.step(number++);
          training.pass("d", 2 * round);
          training.update("d");
        }
        training.pass("g", std::nullopt);
        training.update("g");
      }
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::stack");
    CHECK(report.first()->step == 3);  // in the candidate, which alone has it
    CHECK(report.coverage.only_reference == 0);
    CHECK(report.coverage.only_candidate == 5);
  }

  TEST_CASE("a step with fewer parts, after which all data are shifted, is that of its number") {
    for (const int steps : {5, 12}) {
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        Training training(run, {"fc"});
        int part = 0;
        for (int step = 0; step < steps; ++step) {
          run.step(step);
          const int parts = changed && step == 2 ? 3 : 4;
          for (int k = 0; k < parts; ++k) training.pass("fc", part++);
          training.update("fc");
        }
      });
      REQUIRE(report.first() != nullptr);
      CHECK(report.first()->op == "aten::stack");
      CHECK(report.first()->step == 2);
      CHECK(report.coverage.only_reference == 4);
      CHECK(report.coverage.only_candidate == 0);
    }
  }

  TEST_CASE("an update left out is named in its step, whatever else one run does in each of them") {
    struct Habit {
      int states = 0;
      bool carries_over = false;
      bool logs = false;  ///< in the candidate alone
      int left_out = 0;
    };
    for (const Habit& habit :
         {Habit{.states = 8, .left_out = 0}, Habit{.carries_over = true, .left_out = 3},
          Habit{.logs = true, .left_out = 3}}) {
      CAPTURE(habit.left_out);
      CAPTURE(habit.states);
      CAPTURE(habit.carries_over);
      CAPTURE(habit.logs);
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        Training training(run, {"fc"}, habit.states);
        training.carries_over = habit.carries_over;
        for (int step = 0; step < 10; ++step) {
          if (!changed || step <= habit.left_out) run.step(step);
          if (changed && step > habit.left_out + 1) run.step(step - 1);
          training.pass("fc", step);
          if (!changed || step != habit.left_out) training.update("fc");
          run.phase(Phase::data);
          if (habit.logs && changed)
            run.op("aten::isnan").in(run.data(labelled("log"))).out(labelled("no"));
        }
      });
      REQUIRE(report.first() != nullptr);
      CHECK(report.first()->step.value_or(0) == habit.left_out);
      CHECK(report.first()->phase == Phase::optimizer);
      CHECK(report.coverage.only_candidate <= 10 + habit.states);
      CHECK(report.coverage.only_reference == 1 + 2 * habit.states);
    }
  }

  TEST_CASE("updates left out again and again are one finding, though one run logs in each step") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      Training training(run, {"fc"});
      std::int64_t number = 0;
      for (int pass = 0; pass < 12; ++pass) {
        const bool goes_on = changed && pass % 3 == 0 && pass > 0;  // without an update before it
        if (!goes_on) run.step(number++);
        training.pass("fc", pass);
        if (!changed || pass % 3 != 2) training.update("fc");
        run.phase(Phase::data);
        if (changed) run.op("aten::isnan").in(run.data(labelled("log"))).out(labelled("no"));
      }
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::add_");
    CHECK(report.first()->step == 2);
    CHECK(report.coverage.only_reference == 4);
    CHECK(report.coverage.only_candidate == 12);
    CHECK(std::count_if(report.findings.begin(), report.findings.end(),
                        [](const Finding& finding) { return finding.diverges; }) == 1);
  }

  TEST_CASE("the same numbers drawn for other models in another order join no steps") {
    // Where one run trains d, d, g and the other one d, g, d, each with the next numbers.
    const Report report = report_of([](RunBuilder& run, bool changed) {
      Training training(run, {"d", "g"});
      int part = 0;
      std::int64_t number = 0;
      const auto train = [&](const std::string& model) {
        training.pass(model, part++);
        training.update(model);
      };
      for (int round = 0; round < 5; ++round) {
        run.step(number++);
        train("d");
        if (changed && round == 2) train("g");
        run.step(number++);
        train("d");
        if (!changed || round != 2) train("g");
      }
    });
    for (const std::string& words : report.coverage.unseen)
      CHECK_FALSE(has(words, "are compared together"));
  }
}
