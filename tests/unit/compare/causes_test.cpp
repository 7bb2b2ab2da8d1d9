#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

[[nodiscard]] Values integers(std::vector<double> numbers) {
  return Values(std::move(numbers)).as(Dtype::int64);
}

/// `parts` backward passes in a step, whose gradients add up to `sum`.
void accumulate(RunBuilder& run, int parts, const Values& sum) {
  const Tensor data = run.data(labelled("batch", 8));
  for (int part = 0; part < parts; ++part) {
    run.phase(Phase::forward);
    const Tensor piece =
        run.op("aten::narrow")
            .given(data)
            .arg("length", 8 / parts)
            .out(labelled("piece" + std::to_string(part), static_cast<std::size_t>(8 / parts)));
    run.op("aten::mm").in(piece).out(labelled("loss" + std::to_string(part), 1));
    run.backward(true);
    run.gradient("fc.weight.grad", part + 1 == parts ? sum : labelled("partial"), "fc");
    run.backward(false);
  }
}

}  // namespace

TEST_SUITE("causes") {
  TEST_CASE("equal numbers chosen from other places are ties") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content();
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(Values{3, 1, 3});
      auto op = run.op("aten::topk");
      op.in(x);
      op.out(Values{3, 3});
      op.out(integers(changed ? std::vector<double>{2, 0} : std::vector<double>{0, 2}));
    });
    CHECK(first_cause(report) == "ties");
    CHECK(report.causes.front().confidence == Confidence::certain);
  }

  TEST_CASE("other places of numbers that are all different are no ties") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content();
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(Values{3, 1, 2});
      run.op("aten::argmax").in(x).out(integers({changed ? 1.0 : 0.0}));
    });
    CHECK(find_cause(report, "ties") == nullptr);
  }

  TEST_CASE("a place written twice in no order is a duplicate index, one written once is not") {
    const auto program = [](std::vector<double> places) {
      return [places](RunBuilder& run, bool changed) {
        run.keep_content();
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(Values{1, 2, 3, 4});
        const Tensor index = run.data(integers(places));
        run.op("aten::index_put_")
            .in(x)
            .in(index, "indices")
            .writes(x, changed ? Values{9, 2, 3, 4} : Values{5, 2, 3, 4});
      };
    };
    const Report twice = report_of(program({0, 0}));
    REQUIRE(find_cause(twice, "duplicate-index") != nullptr);
    CHECK(find_cause(twice, "duplicate-index")->confidence == Confidence::likely);
    CHECK(find_cause(report_of(program({0, 1})), "duplicate-index") == nullptr);
  }

  TEST_CASE("floats that become other integers are a conversion without a defined result") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(Values{1e30});
      run.op("aten::_to_copy").in(x).out(integers({changed ? 0.0 : -1.0}));
    });
    CHECK(first_cause(report) == "int-cast");
  }

  TEST_CASE("an optimizer that updates lists in one run only is named") {
    const auto evidence = [](const char* other) {
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::optimizer);
        const Tensor weight = run.parameter("fc.weight", labelled("weight"));
        run.op(changed ? other : "aten::mul_")
            .in(weight)
            .writes(weight, labelled(changed ? "b" : "a"));
        run.step(1).phase(Phase::forward);
        run.op("aten::mm").in(weight).out(labelled(changed ? "d" : "c"));
      });
      const Cause* const structure = find_cause(report, "structure");
      REQUIRE(structure != nullptr);
      return std::any_of(structure->evidence.begin(), structure->evidence.end(),
                         [](const std::string& sentence) {
                           return sentence.find("foreach") != std::string::npos &&
                                  sentence.find("in the candidate only") != std::string::npos;
                         });
    };
    CHECK(evidence("aten::_foreach_mul_"));
    CHECK_FALSE(evidence("aten::lerp_"));
  }

  TEST_CASE("a kernel that a compiler has generated otherwise has other code, no other argument") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      run.op("inductor::cpp_fused_gelu_0")
          .in(run.data(labelled("x")), "in_ptr0")
          .arg("source", std::string(changed ? "3b567b21" : "a971d144"))
          .out(labelled(changed ? "y'" : "y"));
    });
    CHECK(cause_ids(report) == "compiled");
    CHECK(report.causes.front().confidence == Confidence::certain);
  }

  TEST_CASE("another number of draws from an equal state is a matter of size") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const int size = changed ? 17 : 16;
      run.op("aten::randn")
          .draws(size)
          .arg("size", std::vector<std::int64_t>{size})
          .out(labelled("noise", static_cast<std::size_t>(size)));
    });
    CHECK(find_cause(report, "rng-size") != nullptr);
  }

  TEST_CASE("gradients of more passes are the same sum in another order, or a multiple of it") {
    const Values sum{1.0, -2.0, 3.0, 0.5};
    const auto compared = [&](const Values& other) {
      return report_of(
          [&](RunBuilder& run) {
            run.keep_content();
            run.step(0);
            accumulate(run, 1, sum);
          },
          [&](RunBuilder& run) {
            run.keep_content();
            run.step(0);
            accumulate(run, 4, other);
          });
    };
    const Report right = compared(Values{1.0000001, -2.0, 3.0000002, 0.5});
    CHECK(find_cause(right, "gradient-accumulation") != nullptr);
    CHECK(find_cause(right, "scale") == nullptr);
    const Report wrong = compared(Values{4.0000001, -8.0, 12.0000002, 2.0});
    CHECK(find_cause(wrong, "gradient-accumulation") == nullptr);
    REQUIRE(find_cause(wrong, "scale") != nullptr);
    CHECK(has(find_cause(wrong, "scale")->evidence.front(), "4"));
  }

  TEST_CASE("an update that one run leaves out is a skipped step, a part of one is not") {
    const auto program = [](std::string_view op) {
      return [op](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::optimizer);
        const Tensor w = run.parameter("fc.weight", labelled("w"));
        if (!changed)
          run.op(op).flag(event_flag::in_optimizer).in(w).writes(w, labelled("updated"));
        run.phase(Phase::data);
        run.op("aten::sum").in(w).out(labelled(changed ? "a" : "b"));
      };
    };
    CHECK(find_cause(report_of(program("aten::add_")), "skipped-step") != nullptr);
    CHECK(find_cause(report_of(program("aten::mul_")), "skipped-step") == nullptr);
  }

  TEST_CASE("an update that one run makes twice is not one that the other leaves out") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::optimizer);
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      const auto update = [&](const std::string& to) {
        run.op("aten::add_").flag(event_flag::in_optimizer).in(w).writes(w, labelled(to));
      };
      update("updated");
      if (changed) update("updated again");
      run.phase(Phase::data);
      run.op("aten::sum").in(w).out(labelled(changed ? "a" : "b"));
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(has(report.summary, "fc.weight is updated again in the candidate"));
    CHECK(find_cause(report, "skipped-step") == nullptr);
  }

  TEST_CASE("an update that comes at another place of the step is not skipped") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.without_optimizer().step(0).phase(Phase::optimizer);
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      const Tensor g = run.data(labelled("g"));
      const auto update = [&] {
        run.op("aten::add_").in(w).writes(w, labelled(changed ? "early" : "late"));
      };
      if (changed) update();
      for (int k = 0; k < 8; ++k)
        run.op("aten::norm").in(g).out(labelled("norm" + std::to_string(k)));
      if (!changed) update();
      run.phase(Phase::data);
      run.op("aten::sum").in(w).out(labelled(changed ? "a" : "b"));
    });
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].op == "aten::add_");
    CHECK(report.findings[0].meaning ==
          "fc.weight is updated here in the candidate, elsewhere in the reference");
    CHECK(find_cause(report, "skipped-step") == nullptr);
    CHECK(first_cause(report) == "structure");
  }

  TEST_CASE("an update that never happened is not looked for in the next pass of the step") {
    const auto pass = [](RunBuilder& run, const std::string& label, const Tensor& w) {
      run.event(EventKind::zero_grad, "Optimizer::zero_grad");
      run.phase(Phase::forward);
      const Tensor x = run.data(labelled("x" + label));
      run.op("aten::mm").in(x).in(w).out(labelled("y" + label));
      run.backward(true);
      run.gradient("fc.weight.grad", labelled("g" + label), "fc");
      run.backward(false);
    };
    const auto update = [](RunBuilder& run, const std::string& label, const Tensor& w) {
      run.phase(Phase::optimizer);
      run.op("aten::add_").flag(event_flag::in_optimizer).in(w).writes(w, labelled("w" + label));
    };
    const Report report = report_of(
        [&](RunBuilder& run) {
          const Tensor w = run.parameter("fc.weight", labelled("w"));
          pass(run.step(0), "0", w);
          update(run, "0", w);
          pass(run.step(1), "1", w);
          update(run, "1", w);
          pass(run.step(2), "2", w);
        },
        [&](RunBuilder& run) {
          const Tensor w = run.parameter("fc.weight", labelled("w"));
          pass(run.step(0), "0", w);
          pass(run, "1", w);
          update(run, "skipped", w);
          pass(run.step(1), "2 after a skip", w);
        });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::sequence);
    CHECK(report.first()->op == "aten::add_");
    CHECK(report.first()->phase == Phase::optimizer);
    CHECK(first_cause(report) == "skipped-step");
  }

  TEST_CASE("an update that comes after one backward more is no skipped step") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      run.step(0).phase(Phase::forward);
      run.op("aten::mm").in(run.data(labelled("x"))).in(w).out(labelled("y"));
      run.phase(Phase::optimizer);
      const auto update = [&] {
        run.phase(Phase::optimizer);
        run.op("aten::add_")
            .flag(event_flag::in_optimizer)
            .in(w)
            .writes(w, labelled(changed ? "updated later" : "updated"));
      };
      const auto backward = [&](const char* name, int ops) {
        run.phase(Phase::backward);
        for (int k = 0; k < ops; ++k)
          run.op(name).in(run.data(labelled(name))).out(labelled(name + std::to_string(k)));
      };
      if (!changed) update();
      backward("aten::convolution_backward", 6);
      if (changed) {
        backward("aten::threshold_backward", 1);
        update();
      }
      run.phase(Phase::forward);
      run.op("aten::mm").in(w).out(labelled(changed ? "later" : "sooner"));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::add_");
    CHECK(find_cause(report, "skipped-step") == nullptr);
  }

  TEST_CASE("an update that a program makes by itself and leaves out is a skipped step") {
    const auto backward = [](RunBuilder& run, const std::string& label, const Tensor& w) {
      run.phase(Phase::forward);
      const Tensor x = run.data(labelled("x" + label));
      run.op("aten::mm").in(x).in(w).out(labelled("y" + label));
      run.backward(true);
      const Tensor gradient = run.gradient("fc.weight.grad", labelled("g" + label), "fc");
      run.backward(false);
      return gradient;
    };
    const auto zero = [](RunBuilder& run, const Tensor& gradient) {
      run.op("aten::zero_").given(gradient).writes(gradient, labelled("zero"));
    };
    const auto train = [&](RunBuilder& run, const std::string& label, const Tensor& w) {
      const Tensor gradient = backward(run, label, w);
      run.op("aten::sub_").in(w).in(gradient).writes(w, labelled("w" + label));
      zero(run, gradient);
    };
    const Report report = report_of(
        [&](RunBuilder& run) {
          const Tensor w = run.parameter("fc.weight", labelled("w"));
          run.without_optimizer();
          for (int step = 0; step < 4; ++step) train(run.step(step), std::to_string(step), w);
        },
        [&](RunBuilder& run) {
          const Tensor w = run.parameter("fc.weight", labelled("w"));
          run.without_optimizer();
          train(run.step(0), "0", w);
          zero(run, backward(run.step(1), "1", w));
          train(run, "2 after a skip", w);
          train(run.step(2), "3 after a skip", w);
        });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::sub_");
    CHECK(report.first()->step == 1);
    CHECK(report.first()->phase == Phase::optimizer);
    CHECK(first_cause(report) == "skipped-step");
  }

  TEST_CASE("a parameter that a program's own update leaves out is no skipped step") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.without_optimizer().step(0).phase(Phase::optimizer);
      const Tensor a = run.parameter("a.weight", labelled("a"));
      const Tensor b = run.parameter("b.weight", labelled("b"));
      if (!changed) run.op("aten::sub_").in(a).writes(a, labelled("updated a"));
      run.op("aten::mul").in(b).out(labelled("product"));
      run.op("aten::sub_").in(b).writes(b, labelled("updated b"));
      run.phase(Phase::data);
      run.op("aten::sum").in(a).out(labelled(changed ? "a" : "b"));
    };
    CHECK(find_cause(report_of(program), "skipped-step") == nullptr);
  }

  TEST_CASE("what comes back otherwise from other ranks is a collective") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::backward);
      const Tensor gradient = run.data(labelled("g"));
      run.op("c10d::allreduce_").in(gradient).writes(gradient, labelled(changed ? "b" : "a"));
    });
    CHECK(first_cause(report) == "collective");
  }

  TEST_CASE("other modules drawn before training are another start") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor unused =
          run.op("aten::empty").flag(event_flag::factory).out_uninitialised(Values{0, 0});
      if (changed) run.op("aten::uniform_").draws(2).given(unused).writes(unused, labelled("u", 2));
      const Tensor w =
          run.op("aten::empty").flag(event_flag::factory).out_uninitialised(Values{0, 0});
      run.op("aten::normal_").draws(2).given(w).writes(w, labelled(changed ? "w" : "v", 2));
      run.name_storage(w, "weight", slot_flag::parameter);
      run.step(0).phase(Phase::forward);
      run.op("aten::relu").in(w).out(labelled(changed ? "b" : "a"));
    });
    CHECK(find_cause(report, "init") != nullptr);
  }

  TEST_CASE("a batch drawn before training is no other start") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("weight", labelled("w"));
      if (changed) run.op("aten::rand").draws(2).out(labelled("r", 2));
      const Tensor x = run.op("aten::randn").draws(2).out(labelled(changed ? "x" : "y", 2));
      run.step(0).phase(Phase::forward);
      run.op("aten::mm").in(x).in(w).out(labelled(changed ? "b" : "a"));
    });
    CHECK(first_cause(report) == "rng-shift");
    CHECK(find_cause(report, "init") == nullptr);
  }

  TEST_CASE("layers that one run alone calls are no matter of mode") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      Tensor y = run.op("aten::exp").in(x).out(labelled("y"));
      if (changed) {
        const Tensor count = run.buffer("norm.num_batches_tracked", Values{0});
        run.op("aten::add_").in(count).writes(count, Values{1});
        y = run.op("aten::batch_norm")
                .in(y)
                .in(run.parameter("norm.weight", labelled("w")))
                .out(labelled("n"));
        y = run.op("aten::dropout").in(y).out(labelled("d"));
      }
      run.op("aten::sin").in(y).out(labelled(changed ? "b" : "a"));
    });
    CHECK(first_cause(report) == "structure");
    CHECK(find_cause(report, "mode") == nullptr);
  }

  TEST_CASE("counting batches is a matter of mode in training, not where a state is loaded") {
    const auto program = [](std::int64_t step) {
      return [step](RunBuilder& run, bool changed) {
        run.step(step).phase(step == kSetup ? Phase::setup : Phase::forward);
        const Tensor count = run.buffer("bn.num_batches_tracked", Values{0});
        if (changed) run.op("aten::add_").in(count).writes(count, Values{1});
        run.step(0).phase(Phase::forward);
        run.op("aten::mul").in(count).out(Values{changed ? 2.0 : 0.0});
      };
    };
    CHECK(find_cause(report_of(program(0)), "mode") != nullptr);
    CHECK(find_cause(report_of(program(kSetup)), "mode") == nullptr);
  }

  TEST_CASE("threads that only one run has explain other data") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      if (changed) {
        run.lane(LaneRole::worker, 0).phase(Phase::data);
        const Tensor x = run.data(labelled("x"));
        run.op("aten::clone").in(x).out(labelled("x"));
        run.lane(LaneRole::main, 0);
      }
      run.step(0).phase(Phase::forward);
      const Tensor batch = run.data(labelled(changed ? "other" : "batch"));
      run.op("aten::relu").in(batch).out(labelled(changed ? "b" : "a"));
    });
    CHECK(find_cause(report, "worker") != nullptr);
  }

  TEST_CASE("threads that update a parameter in a different order are a race") {
    const auto updates = [](std::vector<std::uint32_t> order) {
      return [order = std::move(order)](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::optimizer);
        const Tensor weight = run.parameter("fc.weight", labelled("w"));
        for (std::size_t k = 0; k < order.size(); ++k) {
          const std::uint32_t thread = changed ? order[k] : static_cast<std::uint32_t>(k % 2);
          const std::string left = "w" + std::to_string(k) + (changed ? "'" : "");
          run.lane(LaneRole::trainer, thread, "trainer");
          run.op("aten::sub_").in(weight).writes(weight, labelled(left));
        }
      };
    };
    const Report race = report_of(updates({0, 1, 1, 0}));
    REQUIRE(find_cause(race, "race") != nullptr);
    CHECK(has(find_cause(race, "race")->evidence.back(),
              "fc.weight: its write 3 is by trainer 0 in the reference and by trainer 1"));
    CHECK(find_cause(report_of(updates({0, 1, 0, 1})), "race") == nullptr);
  }

  TEST_CASE("threads that only one run has explain no gradient") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      if (changed) {
        run.lane(LaneRole::thread, 0).phase(Phase::data);
        run.op("aten::clone").in(run.data(labelled("x"))).out(labelled("x"));
        run.lane(LaneRole::main, 0);
      }
      run.step(0).backward(true);
      const Tensor x = run.data(labelled("gradient"));
      run.op("aten::mm").in(x).out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(find_cause(report, "worker") == nullptr);
  }
}

TEST_SUITE("rewrites") {
  TEST_CASE("another shape of the same elements diverges only where a result follows from it") {
    const auto program = [](bool matters) {
      return [matters](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(Values({2, 2}, {1, 2, 3, 4}));
        const std::vector<std::int64_t> sizes =
            changed ? std::vector<std::int64_t>{4, 1} : std::vector<std::int64_t>{4};
        const Tensor flat =
            run.op("aten::reshape").in(x).arg("shape", sizes).out(Values(sizes, {1, 2, 3, 4}));
        const bool other = matters && changed;
        const Tensor sum = run.op("aten::sum").in(flat).out(Values{other ? 11.0 : 10.0});
        run.op("aten::relu").in(sum).out(Values{other ? 11.0 : 10.0});
      };
    };
    const Report same = report_of(program(false));
    CHECK(same.verdict == Verdict::identical);
    CHECK(first_cause(same) == "harmless-rewrite");
    const Report other = report_of(program(true));
    REQUIRE(diverging(other) == 1);
    CHECK(other.first()->kind == FindingKind::arguments);
    CHECK(other.first()->op == "aten::reshape");
  }

  TEST_CASE("of an op list that changes bits the first value that differs is told") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content();
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(Values{1, 2});
      const Tensor y = run.op(changed ? "aten::gelu" : "aten::relu")
                           .in(x)
                           .out(changed ? Values{1, 2.5} : Values{1, 2});
      run.op("aten::neg").in(y).out(changed ? Values{-1, -2.5} : Values{-1, -2});
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.first()->kind == FindingKind::sequence);
    CHECK(has(notes_of(*report.first()), "input 0 of aten::neg"));
    CHECK(has(notes_of(*report.first()), "1 of 2 elements"));
  }

  TEST_CASE("what unseen code computes from differing values is no finding of its own") {
    const auto program = [](Phase made_in) {
      return [made_in](RunBuilder& run, bool changed) {
        run.step(0).phase(made_in);
        const Tensor buffer = run.op("aten::empty")
                                  .flag(event_flag::factory)
                                  .out_uninitialised(changed ? labelled("other") : labelled("one"));
        run.phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        run.op("aten::mm").in(x).out(labelled(changed ? "b" : "a"));
        run.op("aten::relu").in(buffer).out(labelled(changed ? "d" : "c"));
      };
    };
    CHECK(diverging(report_of(program(Phase::forward))) == 1);
    CHECK(diverging(report_of(program(Phase::data))) == 2);
  }

  TEST_CASE("what unseen code computes does not follow from rounding where it is far apart") {
    const auto program = [](double apart) {
      return [apart](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        run.op("aten::exp").in(run.data(Values{0.0}), "self").out({changed ? 1 + 0x1p-23 : 1.0});
        const Tensor table = run.op("aten::empty")
                                 .flag(event_flag::factory)
                                 .out_uninitialised(changed ? Values{1.0 + apart} : Values{1.0});
        run.op("aten::neg").in(table, "self").out({changed ? -1.0 - apart : -1.0});
      };
    };
    CompareOptions options;
    options.budget = true;
    const Report far = report_of(program(0.5), options);
    CHECK(far.verdict == Verdict::diverged);
    CHECK(far.findings.at(0).kind == FindingKind::data);
    CHECK(far.findings[0].op == "aten::neg");
    CHECK(report_of(program(0x1p-20), options).verdict == Verdict::within);
  }

  TEST_CASE("data that the program fills itself is no memory that nobody wrote") {
    const auto program = [](bool filled_in_both) {
      return [filled_in_both](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::data);
        Tensor batch = run.data(labelled("zeros"));
        if (filled_in_both || changed)
          batch = run.op("aten::empty").out_uninitialised(labelled("labels"));
        if (changed)
          run.op("aten::fill_").given(batch).writes(batch, labelled("one of labels"), false);
        run.phase(Phase::forward);
        run.op("aten::mm").in(batch).out(labelled(changed ? "b" : "a"));
      };
    };
    const Report both = report_of(program(true));
    CHECK(first_cause(both) == "structure");
    REQUIRE(find_cause(both, "uninitialised") != nullptr);
    CHECK(find_cause(both, "uninitialised")->confidence == Confidence::possible);
    CHECK(first_cause(report_of(program(false))) == "uninitialised");
  }

  TEST_CASE("rows of what a model computes, or of a parameter, are no batch") {
    const Report routed = report_of([](RunBuilder& run, bool changed) {
      run.phase(Phase::setup);
      const Tensor weight = run.parameter("fc.weight", labelled("w"));
      if (changed) run.op("aten::copy_").given(weight).writes(weight, labelled("v"));
      run.step(0).phase(Phase::forward);
      run.module("fc", [&] {
        const Tensor rows =
            run.op("aten::nonzero").in(weight).out(labelled("rows", changed ? 5 : 4));
        run.op("aten::mm").in(rows).out(labelled("y", changed ? 5 : 4));
      });
    });
    CHECK(cause_ids(routed) == "structure");
    const Report part = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor weight = run.parameter("fc.weight", labelled("w", 8));
      const Tensor seen = run.view(weight, {changed ? 4 : 8}, {1});
      run.op("aten::mm").in(seen, "self").out(labelled("y"));
    });
    REQUIRE(part.findings.at(0).kind == FindingKind::metadata);
    CHECK(find_cause(part, "batch-size") == nullptr);
  }

  TEST_CASE("an op that casts inside, under autocast of one run, computed in another type") {
    const auto program = [](bool autocast) {
      return [autocast](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x", 4));
        auto gru = run.op("aten::gru");
        if (changed && autocast) gru.flag(event_flag::autocast);
        gru.in(x, "input")
            .calls([&] {
              Values inner = labelled(changed ? "narrow" : "wide", 4);
              run.op("aten::mm")
                  .in(x, "self")
                  .out(changed ? inner.as(Dtype::bfloat16) : std::move(inner));
            })
            .out(labelled(changed ? "narrow" : "wide", 4));
      };
    };
    const Report report = report_of(program(true));
    CHECK(report.first()->op == "aten::gru");
    CHECK(first_cause(report) == "dtype");
    CHECK(find_cause(report_of(program(false)), "dtype") == nullptr);
  }

  TEST_CASE("numbers that become floats are not converted to a lower precision and back") {
    const auto program = [](Dtype from) {
      return [from](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        Tensor x = run.data(Values{1, 2});
        for (int k = 0; changed && k < 2; ++k)
          x = run.op("aten::to").in(run.data(Values{1, 2}.as(from))).out(Values{3, 4});
        run.op("aten::exp").in(x).out(labelled(changed ? "b" : "a"));
      };
    };
    const Report rounded = report_of(program(Dtype::bfloat16));
    CHECK(find_cause(rounded, "reduced-precision") != nullptr);
    const Report counted = report_of(program(Dtype::int64));
    CHECK(find_cause(counted, "structure") != nullptr);
    CHECK(find_cause(counted, "reduced-precision") == nullptr);
  }

  TEST_CASE("a batch of other samples of what a thread holds is data-order, and told once") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor all = run.data({1, 2, 3, 4, 5, 6, 7, 8});
      run.lane(LaneRole::worker, 0).step(0).phase(Phase::data);
      const std::int64_t shift = changed ? 2 : 0;
      const std::vector<Tensor> samples = {run.view(all, {2}, {1}, shift),
                                           run.view(all, {2}, {1}, 2 + shift),
                                           run.view(all, {2}, {1}, 4 + shift)};
      const Tensor batch =
          run.op("aten::stack").in_list(samples, "tensors").out(labelled(changed ? "b" : "a", 6));
      run.lane(LaneRole::main, 0).phase(Phase::forward);
      run.op("aten::relu").in(batch).out(labelled(changed ? "y2" : "y1"));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::stack");
    CHECK(report.first()->kind == FindingKind::data);
    CHECK(cause_ids(report).starts_with("data-order"));
    CHECK(std::count_if(report.first()->notes.begin(), report.first()->notes.end(),
                        [](const std::string& note) {
                          return note.find("tensors") != std::string::npos;
                        }) <= 1);
  }

  TEST_CASE("memory that the program has read before it was written is not called uninitialized") {
    const auto program = [](bool reads) {
      return [reads](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor count = run.op("aten::empty").out_uninitialised(labelled("0"));
        if (changed) {
          if (reads) run.op("aten::eq").in(count).out(labelled("false"));
          run.op("aten::add_").given(count).writes(count, labelled("1"));
        }
        run.op("aten::mul").in(count).out(labelled(changed ? "one" : "zero"));
      };
    };
    const Report report = report_of(program(true));
    const Cause* const cause = find_cause(report, "uninitialised");
    REQUIRE(cause != nullptr);
    CHECK(cause->confidence == Confidence::possible);
    CHECK_FALSE(cause->against.empty());
    REQUIRE(find_cause(report_of(program(false)), "uninitialised") != nullptr);
    CHECK(find_cause(report_of(program(false)), "uninitialised")->confidence == Confidence::likely);
  }

  TEST_CASE("what memory was for that was handed out long ago is not known") {
    const auto program = [](int ops) {
      return [ops](RunBuilder& run, bool changed) {
        run.split_blocks(1).step(0).phase(Phase::forward);
        const Tensor count = run.op("aten::empty").out_uninitialised(labelled("0"));
        const Tensor x = run.data(labelled("x"));
        for (int k = 0; k < ops; ++k) run.op("aten::relu").in(x).out(labelled("y"));
        if (changed) run.op("aten::add_").given(count).writes(count, labelled("1"));
        run.op("aten::mul").in(count).out(labelled(changed ? "one" : "zero"));
      };
    };
    const auto confidence = [&](int ops) {
      const Report report = report_of(program(ops));
      const Cause* const cause = find_cause(report, "uninitialised");
      REQUIRE(cause != nullptr);
      return cause->confidence;
    };
    CHECK(confidence(1) == Confidence::likely);
    CHECK(confidence(400) == Confidence::possible);
  }
}
