#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

using Names = std::vector<std::string>;

/// A product that launches kernels from its inner op, which returns `numbers`, and a different op
/// after it.
void multiply(RunBuilder& run, const Names& kernels, const std::string& numbers) {
  if (!kernels.empty()) run.environment("capture.kernels", "recorded");
  run.step(0).phase(Phase::forward);
  const Tensor x = run.data(labelled("batch"));
  Tensor y;
  run.op("aten::matmul")
      .in(x)
      .calls([&] {
        y = run.op("aten::mm")
                .in(x)
                .calls([&] {
                  for (const std::string& kernel : kernels) run.event(EventKind::kernel, kernel);
                })
                .out(labelled(numbers));
      })
      .returns(y);
  run.op("aten::relu")
      .in(y)
      .calls([&] {
        if (!kernels.empty()) run.event(EventKind::kernel, "relu_kernel");
      })
      .out(labelled("of " + numbers));
}

Report launching(const Names& reference, const Names& candidate, bool changed) {
  return report_of([&](RunBuilder& run, bool is_candidate) {
    multiply(run, is_candidate ? candidate : reference,
             is_candidate && changed ? "other" : "product");
  });
}

/// A kernel of Triton that was tuned to these settings.
Report launched_with(const std::string& reference, const std::string& candidate, bool changed) {
  return report_of([&](RunBuilder& run, bool is_candidate) {
    run.environment("triton.triton_sum", is_candidate ? candidate : reference);
    run.step(0).phase(Phase::forward);
    run.op("inductor::triton_sum")
        .in(run.data(labelled("batch")))
        .out(labelled(is_candidate && changed ? "other" : "sum"));
  });
}

}  // namespace

TEST_SUITE("kernels") {
  TEST_CASE("an op that gives another result with other kernels took another algorithm") {
    const Report report = launching({"gemm_64", "reduce"}, {"gemm_128"}, true);
    REQUIRE(report.first());
    CHECK(report.first()->op == "aten::mm");
    CHECK(report.first()->kernels.reference == Names{"gemm_64", "reduce"});
    CHECK(report.first()->kernels.candidate == Names{"gemm_128"});
    CHECK(first_cause(report) == "algorithm");
    CHECK(report.causes.front().confidence == Confidence::certain);
  }

  TEST_CASE("with the same kernels it did not") {
    const Report report = launching({"gemm_64"}, {"gemm_64"}, true);
    REQUIRE(report.first());
    CHECK(report.first()->kernels.candidate == Names{"gemm_64"});
    CHECK(find_cause(report, "algorithm") == nullptr);
  }

  TEST_CASE("other kernels with the same result are no difference") {
    CHECK(launching({"gemm_64"}, {"gemm_128", "reduce"}, false).verdict == Verdict::identical);
  }

  TEST_CASE("kernels that one run alone recorded tell nothing") {
    CHECK(launching({"gemm_64"}, {}, false).verdict == Verdict::identical);
    CHECK(find_cause(launching({"gemm_64"}, {}, true), "algorithm") == nullptr);
  }

  TEST_CASE("how a kernel is launched was chosen by measuring, and its bits depend on it") {
    const Report report = launched_with("XBLOCK=64", "XBLOCK=128", true);
    CHECK(first_cause(report) == "algorithm");
    CHECK(report.causes.front().confidence == Confidence::likely);
    CHECK(report.causes.front().evidence == Names{"triton.triton_sum is XBLOCK=64 and XBLOCK=128"});
    CHECK(launched_with("XBLOCK=64", "XBLOCK=128", false).verdict == Verdict::identical);
    CHECK(find_cause(launched_with("XBLOCK=64", "XBLOCK=64", true), "algorithm") == nullptr);
  }
}
