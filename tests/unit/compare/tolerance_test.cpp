#include "compare/measure/tolerance.hpp"

#include <limits>
#include <span>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;
using namespace std::chrono_literals;

namespace {

constexpr double kUlpAtTwo = 2.384185791015625e-07;  // of float32 at 2

CompareOptions limits(std::optional<std::uint64_t> ulp, std::optional<double> rtol = {},
                      std::optional<double> atol = {}) {
  CompareOptions options;
  options.limits = {ulp, rtol, atol};
  return options;
}

ToleranceRule rule(std::string op, std::optional<std::string> module, std::uint64_t ulp) {
  ToleranceRule result;
  result.op = std::move(op);
  result.module = std::move(module);
  result.limits.max_ulp = ulp;
  return result;
}

CompareOptions rules(std::vector<ToleranceRule> list) {
  CompareOptions options;
  options.rules = std::move(list);
  return options;
}

/// One op whose result is given for each run.
std::function<void(RunBuilder&, bool)> result(const Values& reference, const Values& candidate) {
  return [=](RunBuilder& run, bool changed) {
    run.keep_content().step(0).phase(Phase::forward);
    run.op("aten::exp").in(run.data({1, 2})).out(changed ? candidate : reference);
  };
}

/// A module that is 1 ULP off, and one after it that reads its result and is 4 ULP off.
void two_layers(RunBuilder& run, bool changed) {
  run.keep_content().step(0).phase(Phase::forward);
  const Tensor x = run.data({1, 2});
  Tensor y;
  run.module("first", [&] {
    y = run.op("aten::tanh").in(x).out({1, 2 + (changed ? kUlpAtTwo : 0)});
  });
  run.module("second", [&] {
    run.op("aten::exp").in(y).out({1, 2 + (changed ? 4 * kUlpAtTwo : 0)});
  });
}

/// `aten::linear` whose difference comes from the `aten::addmm` inside.
void composite(RunBuilder& run, bool changed) {
  run.keep_content().step(0).phase(Phase::forward);
  const Tensor x = run.data({1, 2});
  auto outer = run.op("aten::linear");
  Tensor y;
  outer.in(x).calls([&] {
    y = run.op("aten::addmm").in(x).out({1, 2 + (changed ? kUlpAtTwo : 0)});
  });
  outer.returns(y);
}

}  // namespace

TEST_SUITE("limits") {
  TEST_CASE("an infinity is close to itself alone") {
    const double largest = std::numeric_limits<float>::max();
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(report_of(result({largest}, {infinity}), limits(4, 1.0, 1.0)).verdict ==
          Verdict::diverged);
    CHECK(report_of(result({infinity, 2}, {infinity, 2 + kUlpAtTwo}), limits(4)).verdict ==
          Verdict::within);
  }

  TEST_CASE("integers know no ULP") {
    const auto labels = [](double value) { return Values({value}).as(Dtype::int64); };
    CHECK(report_of(result(labels(3), labels(4)), limits(4)).verdict == Verdict::diverged);
    CHECK(report_of(result(labels(3), labels(4)), limits({}, {}, 1)).verdict == Verdict::within);
  }

  TEST_CASE("integers that no double tells apart are not the same") {
    const std::vector<std::int64_t> left{9007199254740992};  // 2^53
    const std::vector<std::int64_t> right{9007199254740993};
    const auto bytes = [](const std::vector<std::int64_t>& numbers) {
      const auto view = std::as_bytes(std::span(numbers));
      return std::vector<std::byte>(view.begin(), view.end());
    };
    const comparison::TensorBytes tensor{Dtype::int64, {1}, {1}, {bytes(left), bytes(right)}};
    CHECK_FALSE(comparison::Tolerance(limits(4)).judge(tensor, {}).inside);
    CHECK(comparison::Tolerance(limits({}, {}, 1)).judge(tensor, {}).inside);
  }

  TEST_CASE("within still lists what differs") {
    const Report report = report_of(result({1, 2}, {1, 2 + kUlpAtTwo}), limits(1));
    REQUIRE(report.verdict == Verdict::within);
    REQUIRE(report.first() != nullptr);
    const TensorReport& output = report.first()->tensors.back();
    CHECK_FALSE(output.equal);
    REQUIRE(output.difference.has_value());
    CHECK(output.difference->ulp_max == 1);
    REQUIRE(output.tolerance.has_value());
    CHECK(output.tolerance->inside);
    CHECK_FALSE(output.tolerance->rule.has_value());
  }

  TEST_CASE("the first value outside is named, though the op where runs diverge is inside") {
    const Report report = report_of(two_layers, limits(2));
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::tanh");
    REQUIRE(report.first_outside.has_value());
    CHECK(report.first_outside->op == "aten::exp");
    CHECK(report.first_outside->module == "second");
    CHECK(report.first_outside->step == 0);
    CHECK(report.first_outside->ulp_max == 4);
    CHECK(report.first_outside->absolute_max == doctest::Approx(4 * kUlpAtTwo));
    CHECK(report.first_outside->limits.max_ulp == 2);
    CHECK(
        report.summary.find("first outside the tolerance: step 0, out 0 of aten::exp in second") !=
        std::string::npos);
    CHECK_FALSE(report_of(two_layers, limits(4)).first_outside.has_value());
  }

  TEST_CASE("a finding that is inside comes after the one that explains what is outside") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor x = run.data({1, 2});
      const Tensor y = run.op("aten::tanh").in(x).out({1, 2 + (changed ? kUlpAtTwo : 0)});
      run.op("aten::exp").in(x).out({1, 2 + (changed ? 4 * kUlpAtTwo : 0)});
      run.op("aten::log").in(y).out({1, 2 + (changed ? kUlpAtTwo : 0)});
    };
    CHECK(report_of(program).first()->op == "aten::tanh");
    const Report report = report_of(program, limits(2));
    REQUIRE(report.findings.size() == 2);
    CHECK(report.first()->op == "aten::exp");
    CHECK(inside_tolerance(report.findings[1]));
    CHECK(report_of(program, limits(4)).first()->op == "aten::tanh");
  }

  TEST_CASE("an incomplete run is not within") {
    RunBuilder reference;
    RunBuilder candidate;
    result({1, 2}, {1, 2 + kUlpAtTwo})(reference, false);
    result({1, 2}, {1, 2 + kUlpAtTwo})(candidate, true);
    const auto left = reference.build();
    const auto right = candidate.build();
    right->details.complete = false;
    const Report report = compare(*left, *right, limits(1));
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "inside the tolerance, but the candidate's recording is incomplete"));
  }

  TEST_CASE("steps that one run alone has are not within") {
    const Report report = report_of(
        [](RunBuilder& run, bool changed) {
          run.keep_content();
          for (int step = 0; step < (changed ? 1 : 2); ++step) {
            run.step(step).phase(Phase::forward);
            run.op("aten::exp").in(run.data({1})).out({1, 2 + (changed ? kUlpAtTwo : 0)});
          }
        },
        limits(1));
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("an op that threw in one run is beyond every tolerance") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      run.op("aten::exp").in(run.data({1})).out({2 + (changed ? kUlpAtTwo : 0)});
      run.op("aten::cholesky").in(run.data({1})).flag(changed ? event_flag::threw : 0);
    };
    CHECK(report_of(program, limits(1)).verdict == Verdict::diverged);
  }

  TEST_CASE("what an inner op writes without telling is judged") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor x = run.data({1});
      const Tensor statistics = run.data({0, 0});
      auto outer = run.op("aten::batch_norm");
      outer.in(x).in(statistics).calls([&] {
        run.op("aten::native_batch_norm").in(x).writes(statistics, {1, 2 + (changed ? 0.5 : 0)});
      });
    };
    CHECK(report_of(program, limits(1)).verdict == Verdict::diverged);
    CHECK(report_of(program, limits({}, 0.25)).verdict == Verdict::within);
  }
}

TEST_SUITE("rules") {
  TEST_CASE("the first rule that matches decides") {
    const Report strict_first = report_of(two_layers, rules({rule("*", {}, 1), rule("*", {}, 4)}));
    CHECK(strict_first.verdict == Verdict::diverged);
    const Report report = report_of(two_layers, rules({rule("*", {}, 4), rule("*", {}, 1)}));
    CHECK(report.verdict == Verdict::within);
    CHECK(report.rules[0].passed == 2);
    CHECK(report.rules[1].passed == 0);
  }

  TEST_CASE("what no rule matches is judged by the limits for everything else") {
    CompareOptions options = rules({rule("aten::exp", {}, 4)});
    CHECK(report_of(two_layers, options).verdict == Verdict::diverged);
    options.limits.max_ulp = 1;
    CHECK(report_of(two_layers, options).verdict == Verdict::within);
  }

  TEST_CASE("a rule may name a module") {
    CHECK(report_of(two_layers, rules({rule("*", "sec*", 4), rule("*", "first", 1)})).verdict ==
          Verdict::within);
    CHECK(report_of(two_layers, rules({rule("*", "third", 4), rule("*", "first", 1)})).verdict ==
          Verdict::diverged);
    CHECK(report_of(result({2}, {2 + kUlpAtTwo}), rules({rule("*", "*", 4)})).verdict ==
          Verdict::diverged);
  }

  TEST_CASE("an input belongs to the op that wrote it") {
    const Report report =
        report_of(two_layers, rules({rule("aten::tanh", {}, 1), rule("aten::exp", {}, 4)}));
    CHECK(report.verdict == Verdict::within);
    CHECK(report.rules[0].passed == 1);
    CHECK(report.rules[1].passed == 1);
  }

  TEST_CASE("the op inside and the one that called it are both known") {
    for (const char* op : {"aten::addmm", "aten::linear"}) {
      CAPTURE(op);
      const Report report = report_of(composite, rules({rule(op, {}, 1)}));
      CHECK(report.verdict == Verdict::within);
      CHECK(report.rules[0].passed == 1);
      REQUIRE(report.first()->tensors.back().tolerance.has_value());
      CHECK(report.first()->tensors.back().tolerance->rule == 0);
    }
  }

  TEST_CASE("a part of a value is not judged once more by the op that reads it") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor x = run.data({1});
      const Tensor y = run.op("aten::tanh").in(x).out({1, 2 + (changed ? kUlpAtTwo : 0)});
      Tensor part = y;
      part.geometry.sizes = {1};
      part.geometry.storage_offset = 1;
      run.op("aten::relu").in(part).out({2});
    };
    CHECK(report_of(program, rules({rule("aten::tanh", {}, 1)})).verdict == Verdict::within);
  }

  TEST_CASE("what an op of one run alone wrote is judged where it is read") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor x = run.data({1, 2});
      const Tensor y = run.op(changed ? "aten::matmul" : "aten::linear")
                           .in(x)
                           .out({1, 2 + (changed ? 4 * kUlpAtTwo : 0)});
      run.op("aten::relu").in(y).out({1, 2 + (changed ? kUlpAtTwo : 0)});
      run.op("aten::exp").in(x).out({5, 6});
    };
    CHECK(report_of(program, rules({rule("aten::relu", {}, 1)})).verdict == Verdict::diverged);
    CHECK(report_of(program, rules({rule("aten::relu", {}, 4)})).verdict == Verdict::within);
  }

  TEST_CASE("what follows from an op of one run alone is judged where it is written") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor x = run.data({1, 2});
      const Tensor y =
          run.op(changed ? "aten::matmul" : "aten::linear").in(x).out({1, changed ? 3.0 : 2.0});
      Tensor z = y;
      run.module_with_output("act", [&] {
        z = run.op("aten::relu").in(y).out({1, changed ? 3.0 : 2.0});
        return z;
      });
      Tensor part = z;
      part.geometry.sizes = {1};
      part.geometry.storage_offset = 1;
      run.op("aten::exp").in(part).out({2});
      run.op("aten::exp").in(x).out({5, 6});
    };
    CHECK(report_of(program, rules({rule("aten::relu", {}, 1U << 24)})).verdict == Verdict::within);
  }

  TEST_CASE("a rule applies through its last day") {
    ToleranceRule expiring = rule("*", {}, 4);
    expiring.expires = 2027y / 1 / 31;
    CompareOptions options = rules({expiring});
    options.today = 2027y / 1 / 31;
    CHECK(report_of(two_layers, options).verdict == Verdict::within);
    options.today = 2027y / 2 / 1;
    const Report report = report_of(two_layers, options);
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.rules[0].expired);
    CHECK(report.rules[0].passed == 0);
  }

  TEST_CASE("without bytes they cannot be checked") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      run.op("aten::exp").in(run.data({1})).out({2 + (changed ? kUlpAtTwo : 0)});
    };
    CHECK(report_of(program, rules({rule("*", {}, 4)})).verdict == Verdict::inconclusive);
  }
}
