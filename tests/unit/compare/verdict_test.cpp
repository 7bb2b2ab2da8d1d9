#include <cmath>
#include <limits>

#include "compare/measure/elements.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

CompareOptions tolerance(std::optional<std::uint64_t> ulp, std::optional<double> rtol = {},
                         std::optional<double> atol = {}) {
  CompareOptions options;
  options.limits = {ulp, rtol, atol};
  return options;
}

std::function<void(RunBuilder&, bool)> apart_by(double difference, bool content = true) {
  return [=](RunBuilder& run, bool changed) {
    if (content) run.keep_content();
    run.step(0).phase(Phase::forward);
    const Tensor x = run.data({1, 2});
    run.op("aten::exp").in(x).out({1, 2 + (changed ? difference : 0.0)});
  };
}

}  // namespace

TEST_SUITE("tolerance") {
  constexpr double kUlp = 2.384185791015625e-07;  // of float32 at 2

  TEST_CASE("differences inside of it are within, others diverge") {
    CHECK(report_of(apart_by(kUlp), tolerance(1)).verdict == Verdict::within);
    CHECK(report_of(apart_by(2 * kUlp), tolerance(1)).verdict == Verdict::diverged);
    CHECK(report_of(apart_by(0.01), tolerance({}, 0.01)).verdict == Verdict::within);
    CHECK(report_of(apart_by(0.03), tolerance({}, 0.01)).verdict == Verdict::diverged);
    CHECK(report_of(apart_by(0.03), tolerance({}, 0.01, 0.02)).verdict == Verdict::within);
    CHECK(report_of(apart_by(0.03), tolerance({}, {}, 0.02)).verdict == Verdict::diverged);
    CHECK(report_of(apart_by(0), tolerance(1)).verdict == Verdict::identical);
  }

  TEST_CASE("without bytes it cannot be checked") {
    const Report report = report_of(apart_by(kUlp, false), tolerance(1));
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "tolerance cannot be checked"));
  }

  TEST_CASE("a NaN against a number is never inside") {
    const auto program = [](double value) {
      return [value](RunBuilder& run, bool changed) {
        run.keep_content().step(0);
        run.op("aten::log").out({changed ? std::numeric_limits<double>::quiet_NaN() : value});
      };
    };
    CHECK(report_of(program(1), tolerance({}, 1e30, 1e30)).verdict == Verdict::diverged);
  }

  TEST_CASE("another list of ops can be within, another shape cannot") {
    const auto rewrite = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor x = run.data({1, 2});
      const Tensor y = run.op(changed ? "aten::matmul" : "aten::linear")
                           .in(x)
                           .out({1, 2 + (changed ? kUlp : 0)});
      run.op("aten::relu").in(y).out({1, 2 + (changed ? kUlp : 0)});
      run.op("aten::exp").in(x).out({5, 6});
    };
    CHECK(report_of(rewrite).verdict == Verdict::diverged);
    CHECK(report_of(rewrite, tolerance(1)).verdict == Verdict::within);

    const auto reshape = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x", changed ? 8 : 4));
      run.op("aten::exp").in(x).out(labelled("y", changed ? 8 : 4));
    };
    CHECK(report_of(reshape, tolerance(1)).verdict == Verdict::diverged);
  }
}

TEST_SUITE("path") {
  TEST_CASE(
      "differences are followed from the origin to the loss of the first step that has them") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content();
      for (int step = 0; step < 3; ++step) {
        run.step(step).phase(Phase::forward);
        const bool parted = changed && step > 0;
        const auto near = [&](double number) {
          return Values{number, parted ? std::nextafter(static_cast<float>(number), 9.0F) : number};
        };
        Tensor x = run.data({1, 2});
        std::uint64_t loss = 0;
        run.module("fc1", [&] { x = run.op("aten::mm").in(x).out(near(4)); });
        run.module("fc2", [&] { x = run.op("aten::gelu").in(x).out(near(2)); });
        {
          EventBuilder event = run.op("aten::mse_loss");
          loss = event.position();
          x = event.in(x).out(near(1));
        }
        run.backward(true);
        run.node("MseLossBackward0", loss, [&] { run.op("aten::mul").in(x).out(near(8)); });
        run.backward(false);
      }
    };
    const Report report = report_of(program);
    CHECK(report.path.step == 1);
    REQUIRE(report.path.points.size() == 3);
    CHECK(report.path.points[0].op == "aten::mm");
    CHECK(report.path.points[0].module == "fc1");
    CHECK(report.path.points[0].ulp_max == 1);
    CHECK(*report.path.points[0].scaled_max == doctest::Approx(0x1p-23));
    CHECK(report.path.points[1].module == "fc2");
    CHECK(report.path.points[2].op == "aten::mse_loss");
    CHECK(report.path.points[2].module.empty());
  }

  TEST_CASE("a path that begins before the loss ends there, one that begins later in its phase") {
    const auto path_from = [](Phase first) {
      return report_of([first](RunBuilder& run, bool changed) {
               run.keep_content();
               const auto near = [&](double number, Phase phase) {
                 const bool parted = changed && phase >= first;
                 return Values{parted ? std::nextafter(static_cast<float>(number), 9.0F) : number};
               };
               run.step(0).phase(Phase::forward);
               const Tensor x = run.data({1, 2});
               const std::uint64_t loss = run.next_position();
               const Tensor y = run.op("aten::mse_loss").in(x).out(near(4, Phase::forward));
               run.backward(true);
               Tensor gradient = y;
               run.node("MseLossBackward0", loss, [&] {
                 gradient = run.op("aten::mul").in(y).out(near(2, Phase::backward));
               });
               run.backward(false);
               run.phase(Phase::optimizer);
               run.op("aten::sqrt").in(gradient).out(near(1, Phase::optimizer));
             })
          .path.points;
    };
    const auto before = path_from(Phase::forward);
    REQUIRE(before.size() == 1);
    CHECK(before[0].op == "aten::mse_loss");
    const auto in_backward = path_from(Phase::backward);
    REQUIRE(in_backward.size() == 1);
    CHECK(in_backward[0].op == "aten::mul");
    const auto in_optimizer = path_from(Phase::optimizer);
    REQUIRE(in_optimizer.size() == 1);
    CHECK(in_optimizer[0].op == "aten::sqrt");
  }

  TEST_CASE("without bytes there is no path") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      run.op("aten::mm").in(run.data({1})).out({changed ? 2.0 : 3.0});
    });
    CHECK(report.path.points.empty());
  }
}

TEST_SUITE("growth") {
  TEST_CASE("the loss that backward starts from stands beside the gradients") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content();
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data({1, 2, 4});
      const std::uint64_t forward = run.next_position();
      run.op("aten::sum").in(x).out(Values(std::vector<std::int64_t>{}, {changed ? 7.5 : 7.0}));
      run.backward(true);
      run.node("SumBackward0", forward, [&] {
        const Tensor gradient = run.data({1, 2, changed ? 3.0 : 4.0});
        run.name_storage(gradient, "fc.weight.grad", slot_flag::gradient);
        run.op("aten::expand").in(x).writes(gradient, {1, 2, changed ? 3.0 : 4.0});
      });
    });
    REQUIRE(report.growth.size() == 1);
    REQUIRE(report.growth[0].loss.has_value());
    CHECK(report.growth[0].loss->reference == 7.0);
    CHECK(report.growth[0].loss->candidate == 7.5);
  }

  TEST_CASE("is told by step for gradients whose bytes are there") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content();
      for (int step = 0; step < 3; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data({1, 2});
        run.backward(true);
        run.op("aten::mm")
            .in(x)
            .out({1, 2 + (changed ? 0.5 * (step + 1) : 0)}, slot_flag::gradient);
        run.backward(false);
      }
    });
    REQUIRE(report.growth.size() == 3);
    CHECK(report.growth[0].scaled_max == 0.25);
    CHECK(report.growth[2].scaled_max == 0.75);
    CHECK(report.growth[2].step == 2);
    CHECK_FALSE(report.growth[0].loss.has_value());
  }
}

TEST_SUITE("elements") {
  TEST_CASE("places on the lattice agree with the distances of core") {
    const std::vector<float> a{0.0F, -0.0F, 1.0F, 1e-45F, -1e-45F, 3e38F, 1.5F};
    const std::vector<float> b{-0.0F, 0.0F, 1.0000001F, -1e-45F, 1e-44F, 2e38F, -1.5F};
    const auto left = comparison::decode(Dtype::float32, std::as_bytes(std::span(a)));
    const auto right = comparison::decode(Dtype::float32, std::as_bytes(std::span(b)));
    REQUIRE(left.has_value());
    REQUIRE(right.has_value());
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(i);
      const std::vector<std::int64_t> shape{1};
      const Difference known =
          difference(Dtype::float32, shape, shape, std::as_bytes(std::span(&a[i], 1)),
                     std::as_bytes(std::span(&b[i], 1)));
      CHECK(comparison::apart((*left)[i], (*right)[i]) == known.ulp_max);
      CHECK((*left)[i].value == static_cast<double>(a[i]));
    }
  }

  TEST_CASE("small formats have their known values") {
    struct Known {
      Dtype dtype;
      std::vector<std::uint8_t> bytes;
      double value;
    };
    for (const Known& known :
         {Known{Dtype::float16, {0x00, 0x3c}, 1.0}, Known{Dtype::float16, {0x01, 0x00}, 0x1p-24},
          Known{Dtype::bfloat16, {0x80, 0x3f}, 1.0}, Known{Dtype::bfloat16, {0x49, 0x40}, 3.140625},
          Known{Dtype::float8_e4m3fn, {0x7e}, 448.0}, Known{Dtype::float8_e5m2, {0x7b}, 57344.0},
          Known{Dtype::float8_e4m3fnuz, {0x7f}, 240.0},
          Known{Dtype::float8_e5m2fnuz, {0x7f}, 57344.0}, Known{Dtype::int8, {0xff}, -1.0}}) {
      CAPTURE(ulpscope::name(known.dtype));
      const auto decoded = comparison::decode(known.dtype, std::as_bytes(std::span(known.bytes)));
      REQUIRE(decoded.has_value());
      CHECK((*decoded)[0].value == known.value);
    }
  }
}

TEST_SUITE("golden") {
  TEST_CASE("names what its bits hang on, and not the program that it tests") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.environment("cpu.capability", changed ? "AVX512" : "AVX2");
      run.environment("program.build_id", changed ? "b" : "a");
      run.environment("torch.version", changed ? "2.12" : "2.11");
      run.environment("os.kernel", changed ? "6.2" : "6.1");
      run.environment("threads.intra_op", "1");
      run.step(0);
      run.op("aten::ones").out(labelled("y"));
    };
    CHECK_FALSE(report_of(program).golden.has_value());
    CompareOptions options;
    options.golden = true;
    const Report report = report_of(program, options);
    REQUIRE(report.golden.has_value());
    REQUIRE(report.golden->differ.size() == 2);
    CHECK(report.golden->differ[0].key == "cpu.capability");
    CHECK(report.golden->differ[1].key == "torch.version");
  }
}

TEST_SUITE("coverage") {
  TEST_CASE("unverified inputs are told") {
    const Report report = report_of([](RunBuilder& run, bool) {
      run.without_verification().step(0);
      run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
    });
    REQUIRE(report.coverage.unseen.size() == 2);
    CHECK(has(report.coverage.unseen[0], "--verify off"));
  }

  TEST_CASE("ignored ops are counted, and what they leave is still looked at") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor y = run.op("aten::exp").in(x).out(labelled(changed ? "b" : "a"));
      run.op("aten::sin").in(x).out(labelled("s"));
      (void)y;
    };
    CompareOptions options;
    options.ignore = {"aten::e*"};
    const Report report = report_of(program, options);
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.not_compared.ignored == 2);
  }

  TEST_CASE("an op that reads what cannot be read is no origin once the runs have diverged") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor wrapped = run.op("aten::mul")
                                 .in(x)
                                 .arg("other", changed ? 2 : 1)
                                 .out(labelled("w"), slot_flag::opaque);
      run.op("aten::mm").given(wrapped, slot_flag::opaque).out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::mul");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("handles and opaque values are counted") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0);
      const Tensor x = run.data(labelled("x"));
      run.op("profiler::enter").in(x).out(labelled(changed ? "b" : "a"), slot_flag::handle);
      run.op("aten::to_mkldnn").in(x).out(labelled(changed ? "b" : "a"), slot_flag::opaque);
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.not_compared.handle == 1);
    CHECK(report.coverage.not_compared.opaque == 1);
  }

  TEST_CASE("more findings than asked for are counted") {
    CompareOptions options;
    options.max_findings = 2;
    const Report report = report_of(
        [](RunBuilder& run, bool changed) {
          run.step(0);
          for (int k = 0; k < 5; ++k)
            run.op("aten::op" + std::to_string(k))
                .out(labelled((changed ? "b" : "a") + std::to_string(k)));
        },
        options);
    CHECK(report.findings.size() == 2);
    CHECK(report.findings[0].op == "aten::op0");
    CHECK(has(report.coverage.unseen.back(), "3 further findings are not listed"));
  }
}

TEST_SUITE("causes") {
  TEST_CASE("threads are certain where only they differ and the op reduces") {
    const auto program = [](const std::string& op) {
      return [op](RunBuilder& run, bool changed) {
        run.environment("threads.intra_op", changed ? "2" : "1").threads(changed ? 2 : 1);
        run.step(0).phase(Phase::forward);
        run.op(op).in(run.data(labelled("x"))).out(labelled(changed ? "b" : "a"));
      };
    };
    const Report sum = report_of(program("aten::sum"));
    REQUIRE(find_cause(sum, "threads") != nullptr);
    CHECK(find_cause(sum, "threads")->confidence == Confidence::certain);
    CHECK(has(find_cause(sum, "threads")->attempt.at(0), "OMP_NUM_THREADS=1"));
    CHECK(has(find_cause(sum, "threads")->attempt.at(0), "./train"));
    const Report add = report_of(program("aten::add"));
    REQUIRE(find_cause(add, "threads") != nullptr);
    CHECK(find_cause(add, "threads")->confidence == Confidence::possible);
    CHECK_FALSE(find_cause(add, "threads")->against.empty());
  }

  TEST_CASE("several settings that differ make none of them certain") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.environment("threads.intra_op", changed ? "2" : "1");
      run.environment("cpu.capability", changed ? "AVX512" : "AVX2");
      run.environment("torch.version", changed ? "2.12" : "2.11");
      run.step(0);
      run.op("aten::_log_softmax").in(run.data(labelled("x"))).out(labelled(changed ? "b" : "a"));
    });
    CHECK(cause_ids(report) == "threads, isa, library");
    for (const Cause& cause : report.causes) CHECK(cause.confidence != Confidence::certain);
  }

  TEST_CASE("a result that is a multiple of the other is a scale") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content().step(0);
      const double c = changed ? 4 : 1;
      run.op("aten::mse_loss_backward").in(run.data({1})).out({c * 0.1, c * 0.2, c * -0.3, c * 4});
    });
    CHECK(find_cause(report, "scale") != nullptr);
  }

  TEST_CASE("NaN in one run only is told") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content().step(0);
      run.op("aten::log")
          .in(run.data({1}))
          .out({1, changed ? std::numeric_limits<double>::quiet_NaN() : 2});
    });
    CHECK(first_cause(report) == "nan");
  }

  TEST_CASE("denormals flushed in one run only are told") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0);
      run.op("aten::mul")
          .in(run.data({1}))
          .flag(changed ? event_flag::flush_denormal : 0)
          .out(labelled(changed ? "b" : "a"));
    });
    CHECK(first_cause(report) == "flush-denormal");
  }
}
