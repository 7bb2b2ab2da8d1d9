#include "compare/report/checks/check.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;
using comparison::Check;

namespace {

/// What a program's run says of one habit.
Check check_of(const Program& program, std::string_view name) {
  RunBuilder run;
  program(run);
  for (Check& check : comparison::check_rank(*run.build(), 0))
    if (check.name == name) return std::move(check);
  FAIL("no such check");
  return {};
}

std::string details(const Check& check) {
  std::string text;
  for (const std::string& detail : check.details) text += detail + "\n";
  return text;
}

/// A training step on what `batch` names.
void train_step(RunBuilder& run, std::int64_t step, std::string_view batch) {
  run.step(step).phase(Phase::data);
  const Tensor loaded = run.op("aten::stack").out(labelled(batch, 8));
  run.phase(Phase::forward);
  const Tensor weight = run.parameter("fc.weight", labelled("weight"));
  run.op("aten::mm").in(loaded).in(weight).out(labelled("out"));
  run.backward(true);
  run.op("aten::mm").in(weight).out(labelled("gradient"));
  run.backward(false);
}

Program training(std::initializer_list<std::string_view> batches) {
  return [batches = std::vector<std::string>(batches.begin(), batches.end())](RunBuilder& run) {
    std::int64_t step = 0;
    for (const std::string& batch : batches) train_step(run, step++, batch);
  };
}

}  // namespace

TEST_SUITE("batches") {
  TEST_CASE("one that comes again is seen, with both steps") {
    const Check check = check_of(training({"a", "b", "c", "b", "d"}), "batches");
    CHECK(check.result == Check::Result::look);
    CHECK(has(details(check), "step 3 trains on what step 1 had"));
    CHECK(check_of(training({"a", "b", "c", "d"}), "batches").result == Check::Result::ok);
  }

  TEST_CASE("the next epoch may have the same ones") {
    CHECK(check_of(training({"a", "b", "c", "a", "b", "c"}), "batches").result ==
          Check::Result::ok);
    const auto noted = [](RunBuilder& run) {
      std::int64_t step = 0;
      for (const std::string_view batch : {"a", "b", "b", "a"}) {
        if (step % 2 == 0) run.step(step).environment("note.epoch", std::to_string(step / 2));
        train_step(run, step++, batch);
      }
    };
    CHECK(check_of(noted, "batches").result == Check::Result::ok);
  }

  TEST_CASE("one and the same for all steps is no habit") {
    CHECK(check_of(training({"a", "a", "a", "a"}), "batches").result == Check::Result::ok);
    CHECK(check_of(training({"a", "a", "a", "a"}), "order").result == Check::Result::ok);
  }

  TEST_CASE("what is only evaluated is no batch") {
    const auto program = [](Phase phase) {
      return [phase](RunBuilder& run) {
        for (int step = 0; step < 6; ++step) {
          run.step(step).phase(Phase::forward);
          const Tensor made = run.op("aten::rand").out(labelled("drawn " + std::to_string(step)));
          run.op("aten::exp").in(made).out(labelled("y"));
          run.backward(true);
          run.op("aten::mm").in(made).out(labelled("g"));
          run.backward(false);
          run.phase(phase);
          const Tensor validation = run.data(labelled(step % 3 == 0 ? "first" : "second", 8));
          run.op("aten::mm").in(validation).out(labelled("score"));
        }
      };
    };
    for (const std::string_view name : {"batches", "order"})
      CHECK(check_of(program(Phase::eval), name).result == Check::Result::unseen);
    CHECK(check_of(program(Phase::forward), "order").result == Check::Result::look);
  }

  TEST_CASE("what the training itself made is none, so a program without data says so") {
    const auto program = [](RunBuilder& run) {
      for (int step = 0; step < 3; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor made = run.op("aten::ones").out(labelled("ones"));
        run.op("aten::exp").in(made).out(labelled("y"));
        run.backward(true);
        run.op("aten::mm").in(made).out(labelled("g"));
        run.backward(false);
      }
    };
    CHECK(check_of(program, "batches").result == Check::Result::unseen);
  }
}

TEST_SUITE("epochs") {
  TEST_CASE("one that repeats the one before is seen without their boundaries") {
    const Check check = check_of(training({"a", "b", "c", "a", "b", "c"}), "order");
    CHECK(check.result == Check::Result::look);
    CHECK(has(details(check), "steps 3 - 5 read what steps 0 - 2 read"));
    CHECK(check_of(training({"a", "b", "c", "a", "b", "c"}), "epochs").result ==
          Check::Result::unseen);
  }

  TEST_CASE("another order of the same batches is another epoch") {
    CHECK(check_of(training({"a", "b", "c", "b", "c", "a"}), "order").result == Check::Result::ok);
  }

  TEST_CASE("drawn orders of more samples than a batch tell where they begin") {
    const auto program = [](std::size_t samples) {
      return [samples](RunBuilder& run) {
        for (int step = 0; step < 5; ++step) {
          if (step == 0) run.phase(Phase::setup);
          if (step > 0) run.step(step).phase(Phase::data);
          if (step % 2 == 0) run.op("aten::randperm").draws(1).out(labelled("order", samples));
          train_step(run, step, "batch " + std::to_string(step));
        }
      };
    };
    const Check check = check_of(program(32), "epochs");
    CHECK(check.result == Check::Result::look);
    CHECK(has(check.text, "3 epochs of 2, 2, 1 steps"));
    CHECK(has(check.text, "the last one is shorter"));
    CHECK(check_of(program(8), "epochs").result == Check::Result::unseen);  // mixes a batch
  }

  TEST_CASE("what is drawn after the last step of an epoch begins none in that step") {
    const auto program = [](RunBuilder& run) {
      for (int step = 0; step < 4; ++step) {
        if (step == 0) run.phase(Phase::setup);
        if (step == 0) run.op("aten::randperm").draws(1).out(labelled("order", 32));
        train_step(run, step, "batch " + std::to_string(step));
        run.phase(Phase::optimizer).op("aten::add_").out(labelled("weight"));
        run.phase(Phase::data);
        if (step == 1) run.op("aten::randperm").draws(1).out(labelled("what is left", 32));
      }
    };
    CHECK(has(check_of(program, "epochs").text, "2 epochs of 2, 2 steps"));
  }

  TEST_CASE("an order that a sampler draws and does not use begins no epoch") {
    const auto program = [](bool made_again) {
      return [made_again](RunBuilder& run) {
        for (int step = 0; step < 8; ++step) {
          if (step == 0) run.phase(Phase::setup);
          if (step > 0) run.step(step).phase(Phase::data);
          const auto which = static_cast<std::uint64_t>(made_again ? 1 + step / 4 : 1);
          if (step % 4 == 0 || step % 4 == 1)
            run.op("aten::randperm").draws_from_own(1, which).out(labelled("order", 32));
          train_step(run, step, "batch " + std::to_string(step));
        }
      };
    };
    CHECK(has(check_of(program(true), "epochs").text, "2 epochs of 4, 4 steps"));
    CHECK(has(check_of(program(false), "epochs").text, "4 epochs of 1, 3, 1, 3 steps"));
  }
}

TEST_SUITE("recomputed forwards") {
  const auto program = [](std::string_view input, std::string_view mask, bool in_module = true) {
    return [=](RunBuilder& run) {
      run.step(0).phase(Phase::forward);
      const auto dropout = [&](std::string_view of, std::string_view result) {
        const Tensor x = run.data(labelled(of));
        run.op("aten::dropout").in(x).arg("p", 0.5).draws(1).out(labelled(result));
      };
      const auto call = [&](std::string_view of, std::string_view result) {
        if (in_module)
          run.module("drop", [&] { dropout(of, result); });
        else
          dropout(of, result);
      };
      call("x", "mask");
      run.backward(true);
      call(input, mask);
    };
  };

  TEST_CASE("another result from equal inputs is seen") {
    const Check check = check_of(program("x", "other mask"), "recompute");
    CHECK(check.result == Check::Result::look);
    CHECK(has(details(check), "aten::dropout of drop"));
    CHECK(has(details(check), "a different state of the generator"));
  }

  TEST_CASE("the same result, other inputs, or no module are not") {
    CHECK(check_of(program("x", "mask"), "recompute").result == Check::Result::ok);
    CHECK(has(check_of(program("x", "mask"), "recompute").text, "1 op recomputed"));
    CHECK(check_of(program("z", "other mask"), "recompute").result == Check::Result::ok);
    CHECK(check_of(program("x", "other mask", false), "recompute").result == Check::Result::ok);
  }

  TEST_CASE("one run that does so is the cause of other draws in backward") {
    const Report report = report_of([&](RunBuilder& run, bool changed) {
      run.seed(1);
      program("x", changed ? "other mask" : "mask")(run);
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(first_cause(report) == "recompute");
  }
}

TEST_SUITE("ops without a fixed order") {
  Program calling(std::string_view op, std::uint16_t threads, std::uint32_t flags) {
    return [=](RunBuilder& run) {
      run.threads(threads).step(0).phase(Phase::forward);
      run.op(op).flag(flags).in(run.data(labelled("x"))).out(labelled("y"));
    };
  }

  TEST_CASE("LibTorch knows best, the list stands in, deterministic mode takes other ways") {
    const auto result = [](std::string_view op, std::uint16_t threads, std::uint32_t flags) {
      return check_of(calling(op, threads, flags), "ops").result;
    };
    using namespace event_flag;
    CHECK(result("aten::anything", 1, not_deterministic) == Check::Result::look);
    CHECK(result("aten::index_put_", 2, 0) == Check::Result::look);
    CHECK(result("aten::index_put_", 1, 0) == Check::Result::ok);
    CHECK(result("aten::index_put_", 2, deterministic) == Check::Result::ok);
    CHECK(result("aten::add", 2, 0) == Check::Result::ok);
  }

  TEST_CASE("what LibTorch says is evidence where results differ") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      run.op("aten::max_unpool2d")
          .flag(event_flag::not_deterministic)
          .in(run.data(labelled("x")))
          .out(labelled(changed ? "b" : "a"));
    };
    const Report report = report_of(program);
    const Cause* const cause = find_cause(report, "atomic");
    REQUIRE(cause != nullptr);
    CHECK(has(cause->evidence.front(), "LibTorch itself says"));
  }
}

TEST_SUITE("generators") {
  TEST_CASE("a seed from the operating system is told from one that a person wrote") {
    const auto drawing = [](std::uint64_t seed) {
      return [seed](RunBuilder& run) {
        run.seed(seed).step(0);
        run.op("aten::rand").draws(1).out(labelled("r"));
      };
    };
    CHECK(check_of(drawing(42), "seeds").result == Check::Result::ok);
    CHECK(check_of(drawing(4294967295), "seeds").result == Check::Result::ok);
    CHECK(check_of(drawing(15496041726867381134ULL), "seeds").result == Check::Result::look);
    CHECK(check_of(drawing(67280421310721ULL), "seeds").result == Check::Result::ok);

    const Report report =
        report_of(drawing(15496041726867381134ULL), drawing(8812344721006654311ULL));
    REQUIRE(first_cause(report) == "rng-seed");
    CHECK(has(report.causes.front().evidence.back(), "each looks like one"));
  }

  TEST_CASE("threads that share the default one are named with their draws") {
    const Check check = check_of(
        [](RunBuilder& run) {
          run.step(0).op("aten::rand").draws(1).out(labelled("r"));
          run.lane(LaneRole::worker, 0).op("aten::rand").draws(1).out(labelled("s"));
        },
        "generators");
    CHECK(check.result == Check::Result::look);
    CHECK(has(details(check), "worker 0: 1 draw"));
  }

  TEST_CASE("without ops nothing is said") {
    const auto layers = [](RunBuilder& run) {
      run.step(0).phase(Phase::forward);
      run.scope(EventKind::module, "Linear", [] {});
    };
    for (const std::string_view name : {"seeds", "generators", "ops", "recompute"})
      CHECK(check_of(layers, name).result == Check::Result::unseen);
  }
}

TEST_SUITE("evidence of a run alone") {
  TEST_CASE("an epoch that begins in one run only") {
    const auto program = [](RunBuilder& run, bool changed) {
      const int length = changed ? 2 : 4;
      for (int step = 0; step < 6; ++step) {
        if (step % length == 0)
          run.step(step).environment("note.epoch", std::to_string(step / length));
        run.step(step).phase(Phase::forward);
        run.op("aten::exp")
            .in(run.data(labelled("batch " + std::to_string(step % length))))
            .out(labelled("y"));
        run.backward(true);
        run.op("aten::mm").in(run.data(labelled("z"))).out(labelled("g"));
        run.backward(false);
      }
    };
    const Report report = report_of(program);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->step == 2);
    const Cause* const cause = find_cause(report, "epoch");
    REQUIRE(cause != nullptr);
    CHECK(has(cause->evidence.front(), "only in the candidate an epoch begins here"));
  }
}
