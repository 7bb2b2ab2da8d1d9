#include "compare/diff/describe.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// A convolution that another backend computes in the candidate.
void convolve(RunBuilder& run, bool changed) {
  const Tensor x = run.data(labelled("x"));
  run.composite("aten::convolution", [&](EventBuilder& outer) {
    outer.in(x);
    return run.op(changed ? "aten::thnn_conv2d" : "aten::mkldnn_convolution")
        .in(x)
        .out(labelled(changed ? "b" : "a"));
  });
}

}  // namespace

TEST_SUITE("origin") {
  TEST_CASE("equal runs are identical") {
    const Report report = report_of([](RunBuilder& run, bool) {
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      for (int step = 0; step < 3; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled("batch" + std::to_string(step)));
        const Tensor y = run.op("aten::mm").in(x).in(w).out(labelled("y" + std::to_string(step)));
        run.op("aten::relu").in(y).out(labelled("z" + std::to_string(step)));
      }
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    CHECK(report.causes.empty());
    CHECK(report.first() == nullptr);
    CHECK(report.coverage.aligned == 6);
    CHECK(report.reference.events == 6);
  }

  TEST_CASE("the op whose inputs are equal and whose output is not is the origin") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(4).phase(Phase::forward);
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      const Tensor x = run.data(labelled("x"));
      Tensor y;
      run.module("fc", [&] {
        y = run.op("aten::mm").in(x, "self").in(w, "mat2").out(labelled(changed ? "b" : "a"));
      });
      run.op("aten::relu").in(y).out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.verdict == Verdict::diverged);
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings.front();
    CHECK(finding.kind == FindingKind::origin);
    CHECK(finding.op == "aten::mm");
    CHECK(finding.step == 4);
    CHECK(finding.phase == Phase::forward);
    CHECK(finding.lane == "main");
    CHECK(finding.module == "fc");
    CHECK(finding.root == "Net");
    CHECK(finding.device == "cpu");
    REQUIRE(finding.tensors.size() == 3);
    CHECK(finding.tensors[0].equal);
    CHECK(finding.tensors[1].name == "fc.weight");
    CHECK(finding.tensors[2].role == Role::output);
    CHECK_FALSE(finding.tensors[2].equal);
    CHECK(report.propagated.events == 1);
    CHECK(report.propagated.steps == std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 4}});
    CHECK(cause_ids(report) == "unknown");
  }

  TEST_CASE("a recorded stack says where in the program the op was called") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::relu")
          .in(x)
          .stack("any.h:250 torch::nn::AnyModule::forward(at::Tensor)\nnet.cpp:7 Net::forward()")
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings.front().where == "net.cpp:7");
  }

  TEST_CASE("the place in the program is the innermost call that is not a library's") {
    CHECK(comparison::place_in_program("").place == "");
    CHECK(comparison::place_in_program("train.cpp:41 main\nstart.cpp:1 _start").place ==
          "train.cpp:41");
    CHECK(comparison::place_in_program("train+0x12 main").place == "train+0x12");
    CHECK(comparison::place_in_program("train+0x12").place == "train+0x12");
    CHECK(comparison::place_in_program(
              "a.h:1 void std::invoke<int>(int&)\ntrain.cpp:7 void run<int>()")
              .place == "train.cpp:7");
    CHECK(comparison::place_in_program("any.h:1 at::Tensor torch::f()\nvector:9 std::g()").place ==
          "any.h:1");
  }

  TEST_CASE("a line of the program comes with its text, where that was recorded") {
    const auto line = comparison::place_in_program("train.py:41 Net.forward\tx = f(x)\na.py:1 g");
    CHECK(line.place == "train.py:41");
    CHECK(line.source == "x = f(x)");
    CHECK(comparison::place_in_program("train.py:41 Net.forward").source.empty());
  }

  TEST_CASE("blame goes to the deepest op with equal inputs") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Values y = labelled(changed ? "b" : "a");
      run.composite("aten::linear", [&](EventBuilder& linear) {
        linear.in(x);
        run.op("aten::t").given(x, slot_flag::metadata_only).returns_view(x);
        EventBuilder addmm = run.op("aten::addmm");
        addmm.in(x);
        run.op("aten::expand").given(x, slot_flag::metadata_only).returns_view(x);
        return addmm.out(y);
      });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::addmm");
    CHECK(report.findings[0].parents == std::vector<std::string>{"aten::linear"});
    CHECK(report.findings[0].children.reference == std::vector<std::string>{"aten::expand"});
    CHECK(report.findings[0].event.reference == 2);
  }

  TEST_CASE("another op inside leaves the blame with the op that chose it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      convolve(run, changed);
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::origin);
    CHECK(report.findings[0].op == "aten::convolution");
    CHECK(report.findings[0].children.reference ==
          std::vector<std::string>{"aten::mkldnn_convolution"});
    CHECK(report.findings[0].children.candidate == std::vector<std::string>{"aten::thnn_conv2d"});
    CHECK(first_cause(report) == "backend");
    CHECK(report.coverage.only_reference == 1);
    CHECK(report.coverage.only_candidate == 1);
  }

  TEST_CASE("threads that choose the op inside are the cause, not the backend") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward).threads(changed ? 2 : 1);
      convolve(run, changed);
    });
    CHECK(first_cause(report) == "threads");
    REQUIRE(find_cause(report, "backend") != nullptr);
    CHECK(find_cause(report, "backend")->confidence == Confidence::possible);
  }

  TEST_CASE("another op inside is no finding where the results are equal") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward).threads(changed ? 2 : 1);
      const Tensor x = run.data(labelled("x"));
      const Tensor y = run.composite("aten::cat", [&](EventBuilder& outer) {
        outer.in(x);
        const auto buffers = static_cast<std::size_t>(changed ? 8 : 4);
        run.op("aten::resize_").in(x).out(labelled("buffer", buffers));
        if (changed) run.op("aten::narrow").given(x, slot_flag::metadata_only).returns_view(x);
        return run.op("aten::copy_").in(x).out(labelled("y"));
      });
      run.op("aten::relu").in(y).out(labelled("z"));
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    CHECK(report.coverage.only_candidate == 1);
  }

  TEST_CASE("a difference kept aside inside an op is an origin once something reads it") {
    const auto program = [](bool backward) {
      return [backward](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        Tensor saved;
        run.composite("aten::batch_norm", [&](EventBuilder& outer) {
          outer.in(x);
          EventBuilder inner = run.op("aten::native_batch_norm");
          const Tensor y = inner.in(x).out(labelled("y"));
          saved = inner.out(labelled(changed ? "mean b" : "mean a"));
          return y;
        });
        run.backward(true);
        if (backward)
          run.op("aten::native_batch_norm_backward").in(saved).out(labelled(changed ? "q" : "p"));
      };
    };
    CHECK(report_of(program(false)).verdict == Verdict::identical);
    const Report report = report_of(program(true));
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::origin);
    CHECK(report.findings[0].op == "aten::native_batch_norm");
    CHECK(report.findings[0].diverges);
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("branches that do not feed each other have an origin each") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor a = run.data(labelled("a"));
      const Tensor b = run.data(labelled("b"));
      const Tensor left = run.op("aten::mm").in(a).out(labelled(changed ? "l2" : "l1"));
      const Tensor right = run.op("aten::mm").in(b).out(labelled(changed ? "r2" : "r1"));
      run.op("aten::add").in(left).in(right).out(labelled(changed ? "s2" : "s1"));
    });
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[0].event.reference == 0);
    CHECK(report.findings[1].event.reference == 1);
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("an origin that returns in later steps is told once") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      for (int step = 0; step < 20; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled("x" + std::to_string(step)));
        const bool apart = changed && step >= 17;
        run.op("aten::exp").in(x).out(labelled((apart ? "b" : "a") + std::to_string(step)));
      }
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].step == 17);
    CHECK(has(notes_of(report.findings[0]), "identical results in steps 0 - 16"));
    CHECK(has(notes_of(report.findings[0]), "again in steps 18 - 19"));
  }

  TEST_CASE("a backward op names its node, its forward op and its module") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      std::uint64_t forward = 0;
      run.module("head", [&] {
        EventBuilder mm = run.op("aten::addmm");
        forward = mm.position();
        mm.in(x).out(labelled("y"));
      });
      const Tensor grad = run.data(labelled("grad"));
      run.backward(true);
      run.scope(EventKind::scope, "autograd::engine::evaluate_function: AddmmBackward0", [&] {
        run.node("AddmmBackward0", forward,
                 [&] { run.op("aten::mm").in(grad).in(x).out(labelled(changed ? "b" : "a")); });
      });
    });
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.lane == "autograd");
    CHECK(finding.phase == Phase::backward);
    CHECK(finding.parents == std::vector<std::string>{"AddmmBackward0"});
    CHECK(finding.forward_op == "aten::addmm");
    CHECK(finding.module == "head");
  }

  TEST_CASE("an op without a module names the modules beside it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      Tensor x = run.data(labelled("x"));
      run.module("conv1", [&] { x = run.op("aten::convolution").in(x).out(labelled("c")); });
      x = run.op("aten::relu").in(x).out(labelled(changed ? "b" : "a"));
      run.module("fc", [&] { run.op("aten::addmm").in(x).out(labelled(changed ? "d" : "e")); });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK_FALSE(report.findings[0].module.has_value());
    REQUIRE(report.findings[0].between.has_value());
    CHECK(report.findings[0].between->reference == "conv1");
    CHECK(report.findings[0].between->candidate == "fc");
  }

  TEST_CASE("neighbours show what was equal before and what followed") {
    const Report report = report_of(
        [](RunBuilder& run, bool changed) {
          run.step(0).phase(Phase::forward);
          Tensor x = run.data(labelled("x"));
          x = run.op("aten::exp").in(x).out(labelled("e"));
          x = run.op("aten::sin").in(x).out(labelled(changed ? "b" : "a"));
          x = run.op("aten::cos").in(x).out(labelled(changed ? "d" : "c"));
        },
        context(1));
    REQUIRE(report.findings.size() == 1);
    const auto& neighbours = report.findings[0].neighbours;
    REQUIRE(neighbours.size() == 3);
    CHECK(neighbours[0].op == "aten::exp");
    CHECK(neighbours[0].equal);
    CHECK(neighbours[1].finding);
    CHECK(neighbours[2].op == "aten::cos");
    CHECK(neighbours[2].note == "propagated");
  }

  TEST_CASE("a number read back from equal inputs is an output") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::max").in(x).result(changed ? 2.0 : 1.0);
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::origin);
  }

  TEST_CASE("distances are measured where both runs hold the bytes") {
    const auto program = [](bool content) {
      return [content](RunBuilder& run, bool changed) {
        if (content) run.keep_content();
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data({1, 2, 3});
        run.op("aten::exp").in(x).out(changed ? Values{1, 2.5, 4} : Values{1, 2, 4});
      };
    };
    const Report without = report_of(program(false));
    CHECK_FALSE(without.findings.at(0).tensors.at(1).difference.has_value());
    CHECK(without.coverage.not_compared.no_bytes == 1);
    const Report with = report_of(program(true));
    REQUIRE(with.findings.at(0).tensors.at(1).difference.has_value());
    const Difference& difference = *with.findings[0].tensors[1].difference;
    CHECK(difference.differing == 1);
    CHECK(difference.absolute_max == 0.5);
    CHECK(difference.worst->index == std::vector<std::int64_t>{1});
    CHECK(with.coverage.not_compared.no_bytes == 0);
  }

  TEST_CASE("an op that throws in one run only is an origin") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::linalg_inv").in(x).flag(changed ? event_flag::threw : 0);
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(has(notes_of(report.findings[0]), "exception in the candidate"));
  }
}
