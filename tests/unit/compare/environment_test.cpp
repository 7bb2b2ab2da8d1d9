#include "compare/report/environment.hpp"

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST_SUITE("environment") {
  TEST_CASE("lists what differs, what can change bits first, and leaves recording out") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.environment("os.kernel", changed ? "6.2" : "6.1");
      run.environment("threads.intra_op", changed ? "2" : "1");
      run.environment("env.LD_PRELOAD", changed ? "b" : "a");
      run.environment("env.ULPSCOPE_VERIFY", changed ? "off" : "full");
      run.environment("cpu.affinity", changed ? "0" : "0-1");
      run.environment("flag.flush_denormal", "off");
      if (changed) run.environment("env.MKL_CBWR", "AVX2");
      run.step(3);
      run.environment("flag.flush_denormal", "on");
      run.op("aten::ones").out(labelled("y"));
    });
    REQUIRE(report.environment.size() == 4);
    CHECK(report.environment[0].key == "env.MKL_CBWR");
    CHECK_FALSE(report.environment[0].reference.has_value());
    CHECK(report.environment[1].key == "threads.intra_op");
    CHECK(report.environment[1].can_change_bits);
    CHECK(report.environment[2].key == "cpu.affinity");
    CHECK_FALSE(report.environment[2].can_change_bits);
    CHECK(report.environment[3].key == "os.kernel");
  }

  TEST_CASE("a compiler that a run without a filled cache loads changes no bits") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      if (!changed) run.environment("library.libnvidia-ptxjitcompiler.so.1", "f092");
      run.environment("library.libcudnn.so.9", changed ? "b" : "a");
      run.step(0);
      run.op("aten::ones").out(labelled("y"));
    });
    REQUIRE(report.environment.size() == 2);
    CHECK(report.environment[0].key == "library.libcudnn.so.9");
    CHECK(report.environment[0].can_change_bits);
    CHECK_FALSE(report.environment[1].can_change_bits);
  }

  TEST_CASE("a change in the middle is placed at its step, also where it is taken back") {
    const auto flag = [](RunBuilder& run, std::int64_t step, std::string value) {
      run.step(step);
      run.environment("flag.cudnn.benchmark", std::move(value));
    };
    const auto end = [](RunBuilder& run) {
      run.step(9);
      run.op("aten::ones").out(labelled("y"));
    };
    const Report open = report_of([&](RunBuilder& run, bool changed) {
      flag(run, kSetup, "off");
      if (changed) flag(run, 5, "on");
      end(run);
    });
    REQUIRE(open.environment.size() == 1);
    CHECK(open.environment[0].reference == "off");
    CHECK(open.environment[0].candidate == "on");
    CHECK(open.environment[0].steps == Ranges{{5, kNoEnd}});
    CHECK(comparison::when_words(open.environment[0]) == "from step 5");

    const Report closed = report_of([&](RunBuilder& run, bool changed) {
      flag(run, kSetup, "off");
      if (changed) {
        flag(run, 5, "on");
        flag(run, 7, "off");
      }
      end(run);
    });
    REQUIRE(closed.environment.size() == 1);
    CHECK(closed.environment[0].steps == Ranges{{5, 7}});  // in step 7 it was on at first
    CHECK(comparison::when_words(closed.environment[0]) == "in steps 5 - 7");

    const Report blink = report_of([&](RunBuilder& run, bool changed) {
      flag(run, kSetup, "off");
      if (changed) {
        flag(run, 5, "on");
        flag(run, 5, "off");
      }
      end(run);
    });
    REQUIRE(blink.environment.size() == 1);
    CHECK(blink.environment[0].candidate == "on");
    CHECK(comparison::when_words(blink.environment[0]) == "in step 5");
  }

  TEST_CASE("of setup counts what the first step finds") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      if (changed) run.environment("rng.cpu.seed", "9");
      run.environment("rng.cpu.seed", "1");
      run.step(0);
      run.op("aten::ones").out(labelled("y"));
    });
    CHECK(report.environment.empty());
  }

  TEST_CASE("when a library was mapped is no difference, another one is") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(changed ? 1 : 3);
      run.environment("library.libcudnn.so.9", "abc");
      run.environment("library.libm.so.6", changed ? "new" : "old");
      run.step(4);
      run.op("aten::ones").out(labelled("y"));
    });
    REQUIRE(report.environment.size() == 1);
    CHECK(report.environment[0].key == "library.libm.so.6");
  }

  TEST_CASE("steps that are shifted against each other are compared shifted") {
    const auto program = [](RunBuilder& run, bool changed) {
      for (const int step : {0, 1, 2}) {
        run.step(step);
        run.op("aten::ones").out(labelled("x"));
      }
      run.step(changed ? 7 : 5);
      run.environment("flag.cudnn.benchmark", "on");
      run.step(8);
      run.op("aten::ones").out(labelled("y"));
    };
    CHECK(report_of(program, step_offset(2)).environment.empty());
    CHECK(report_of(program).environment.size() == 1);
  }

  TEST_CASE("a setting that differs in other steps is no evidence for a finding") {
    const auto program = [](std::int64_t step) {
      return [step](RunBuilder& run, bool changed) {
        run.environment("threads.intra_op", "1");
        run.step(2).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        run.op("aten::sum").in(x).out(labelled(changed ? "b" : "a"));
        run.step(step);
        if (changed) run.environment("threads.intra_op", "2");
        run.step(6);
        run.op("aten::ones").out(labelled("y"));
      };
    };
    CHECK(find_cause(report_of(program(1)), "threads") != nullptr);
    CHECK(find_cause(report_of(program(4)), "threads") == nullptr);
  }

  TEST_CASE("what the program notes of its samples and generators is told beside other data") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      for (int step = 0; step < 3; ++step) {
        const bool other = changed && step == 1;
        run.step(step).environment("note.batch",
                                   other ? "[7, 8]" : "[" + std::to_string(step) + "]");
        run.step(step).environment("note.rng.numpy", changed ? "b" : "a");
        run.phase(Phase::forward);
        const Tensor x = run.data(labelled(other ? "other" : "x" + std::to_string(step)));
        run.op("aten::exp").in(x).out(labelled(other ? "b" : "a"));
      }
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->step == 1);
    const Cause* const cause = find_cause(report, "data-content");
    REQUIRE(cause != nullptr);
    CHECK(std::any_of(cause->evidence.begin(), cause->evidence.end(), [](const std::string& one) {
      return has(one, "note.batch is [1] and [7, 8] in step 1");
    }));
    REQUIRE(report.environment.size() == 2);
    CHECK(report.environment[0].key == "note.rng.numpy");
    CHECK(report.environment[0].can_change_bits);
    CHECK_FALSE(report.environment[1].can_change_bits);
  }
}
