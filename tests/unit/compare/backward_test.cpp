#include <set>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

constexpr std::uint32_t kMainLane = 0;

/// One step of training. On a device backward runs in a separate thread; `gradient` names what it
/// leaves.
void train(RunBuilder& run, bool on_device, const char* gradient) {
  run.step(0).phase(Phase::forward);
  const Tensor x = run.data(labelled("x"));
  const std::uint64_t forward = run.next_position();
  const Tensor y = run.op("aten::exp").in(x).out(labelled("y"));
  const Tensor one = run.op("aten::ones_like").in(y).out(labelled("one"));
  if (on_device) run.lane(LaneRole::autograd, 0, "pt_autograd_0");
  run.backward(true);
  Tensor g;
  run.node(
      "ExpBackward0", forward,
      [&] { g = run.op("aten::mul").in(one).in(y).out(labelled(gradient)); }, kMainLane);
  run.lane(LaneRole::main, 0).backward(false);
  run.op("aten::neg").in(g).out(labelled(std::string("step by ") + gradient));
}

/// A forward of one op and its backward on a device. Each that is in `other` has another result.
void pass_on_device(RunBuilder& run, const std::string& name, const std::set<std::string>& other) {
  const auto result = [&](const std::string& of) {
    return labelled(of + (other.contains(of) ? "'" : ""));
  };
  const std::string gradient = "gradient of " + name;
  const std::uint64_t forward = run.next_position();
  const Tensor y = run.op("aten::exp").in(run.data(labelled("data"))).out(result(name));
  run.lane(LaneRole::autograd, 0, "pt_autograd_0").backward(true);
  run.node(
      "ExpBackward0", forward,
      [&] { run.op("aten::mul").in(run.data(labelled("seed"))).out(result(gradient)); }, kMainLane);
  run.lane(LaneRole::main, 0).backward(false);
}

[[nodiscard]] std::vector<std::string> places(const Report& report) {
  std::vector<std::string> places;
  for (const Finding& finding : report.findings) places.push_back(finding.lane + " " + finding.op);
  return places;
}

/// A normalization that each run computes by a different library, forward and backward. `extra` is
/// what a hook of the candidate does to the gradient.
void normalise(RunBuilder& run, bool changed, bool backward_too, bool extra) {
  run.step(0).phase(Phase::forward);
  const Tensor x = run.data(labelled("x"));
  std::uint64_t forward = 0;
  const std::string result = changed ? "y'" : "y";
  const Tensor y = run.composite("aten::batch_norm", [&](EventBuilder& outer) {
    outer.in(x);
    forward = run.next_position();
    return run.op(changed ? "aten::cudnn_batch_norm" : "aten::native_batch_norm")
        .in(x)
        .out(labelled(result));
  });
  const bool other = changed && backward_too;
  run.backward(true);
  Tensor g;
  run.node(other ? "CudnnBatchNormBackward0" : "NativeBatchNormBackward0", forward, [&] {
    g = run.op(other ? "aten::cudnn_batch_norm_backward" : "aten::native_batch_norm_backward")
            .in(y)
            .in(x)
            .out(labelled("gradient of " + result));
  });
  if (changed && extra) g = run.op("aten::mul").in(g).out(labelled("more"));
  run.backward(false);
  run.op("aten::neg").in(g).out(labelled("step by " + run.content_words(g)));
}

[[nodiscard]] std::size_t sequences(const Report& report) {
  return static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(),
                    [](const Finding& finding) { return finding.kind == FindingKind::sequence; }));
}

/// A parameter with three losses, of which the candidate adds the last to nothing. The engine sums
/// what the losses pass to the parameter, the last one first.
[[nodiscard]] Report report_of_losses() {
  return report_of([&](RunBuilder& run, bool changed) {
    run.step(0).phase(Phase::forward);
    const Tensor w = run.parameter("w", labelled("w"));
    std::vector<std::uint64_t> losses;
    Tensor total = run.data(labelled("none"));
    std::vector<std::uint64_t> sums;
    std::vector<Tensor> values;
    for (const std::string each : {"a", "b", "c"}) {
      losses.push_back(run.next_position());
      values.push_back(run.op("aten::exp").in(w).out(labelled(each)));
    }
    const std::size_t added = changed ? 2 : 3;
    for (std::size_t k = 0; k < added; ++k) {
      sums.push_back(run.next_position());
      total = run.op("aten::add")
                  .in(total)
                  .in(values[k])
                  .out(labelled("total of " + std::to_string(k)));
    }
    run.backward(true);
    const Tensor one = run.op("aten::ones_like").out(labelled("one"));
    for (std::size_t k = added; k-- > 0;)
      run.node(
          "AddBackward0", sums[k], [] {}, {}, one);
    std::optional<Tensor> sum;
    std::string of;
    for (std::size_t k = added; k-- > 0;) {
      Tensor passed;
      run.node(
          "ExpBackward0", losses[k],
          [&] {
            passed =
                run.op("aten::mul").in(one).in(values[k]).out(labelled("g" + std::to_string(k)));
          },
          {}, one);
      of += std::to_string(k);
      if (!sum)
        sum = passed;
      else if (of.size() == 2)
        sum = run.op("aten::add").in(*sum).in(passed).out(labelled("sum" + of));
      else
        run.op("aten::add_").in(*sum).in(passed).writes(*sum, labelled("sum" + of));
    }
    run.scope(EventKind::gradient, "torch::autograd::AccumulateGrad",
              [&] { run.op("aten::detach").in(*sum).returns_view(*sum); });
    run.backward(false).phase(Phase::optimizer);
    run.op("aten::add_").in(*sum).writes(w, labelled("w less " + of));
  });
}

}  // namespace

TEST_SUITE("backward") {
  TEST_CASE("backward in a thread of the device is aligned with backward in the main thread") {
    for (const bool reference : {false, true}) {
      const Report report = report_of([&](RunBuilder& run) { train(run, reference, "g"); },
                                      [&](RunBuilder& run) { train(run, !reference, "g"); });
      CHECK(report.verdict == Verdict::identical);
      CHECK(report.findings.empty());
      CHECK(report.coverage.only_reference == 0);
      CHECK(report.coverage.only_candidate == 0);
      CHECK(report.coverage.unseen.empty());
    }
  }

  TEST_CASE("across threads, too, what backward does otherwise is where the runs diverge") {
    const Report report = report_of([](RunBuilder& run) { train(run, false, "g"); },
                                    [](RunBuilder& run) { train(run, true, "h"); });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::origin);
    CHECK(report.findings[0].op == "aten::mul");
    CHECK(report.findings[0].lane == "autograd");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("what follows the update of a step follows its backward in a thread of the device") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const std::set<std::string> other{"gradient of a"};
      run.step(0).phase(Phase::forward);
      pass_on_device(run, "a", changed ? other : std::set<std::string>{});
      run.phase(Phase::optimizer);
      run.op("aten::neg").in(run.data(labelled("data"))).out(labelled("b"));
      run.phase(Phase::data);
      run.op("aten::sin").in(run.data(labelled("data"))).out(labelled(changed ? "c'" : "c"));
    });
    CHECK(places(report) == std::vector<std::string>{"autograd aten::mul", "main aten::sin"});
  }

  TEST_CASE("a forward between two backward passes in a thread of the device is between them") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const std::set<std::string> other{"gradient of a", "b", "gradient of b"};
      run.step(0).phase(Phase::forward);
      for (const char* name : {"a", "b"})
        pass_on_device(run, name, changed ? other : std::set<std::string>{});
    });
    CHECK(places(report) ==
          std::vector<std::string>{"autograd aten::mul", "main aten::exp", "autograd aten::mul"});
  }

  TEST_CASE("a thread of the program's own that trains is no thread of the device") {
    const auto in_thread = [](RunBuilder& run) {
      run.lane(LaneRole::trainer, 0, "trainer");
      run.step(0).phase(Phase::forward);
      run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
    };
    const Report report = report_of([&](RunBuilder& run) { train(run, false, "g"); },
                                    [&](RunBuilder& run) {
                                      train(run, false, "g");
                                      in_thread(run);
                                    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(report.coverage.aligned == 5);
  }

  TEST_CASE("another library's node for the same op does the same to what differs already") {
    const Report report =
        report_of([](RunBuilder& run, bool changed) { normalise(run, changed, true, false); });
    CHECK(diverging(report) == 1);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::origin);
    CHECK(report.first()->op == "aten::batch_norm");
  }

  TEST_CASE("a copy that one run makes of what differs already is no finding") {
    const auto copied = [](const char* op) {
      return report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const std::string result = changed ? "y'" : "y";
        Tensor y = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled(result));
        if (changed) y = run.op(op).in(y).out(labelled(result));
        run.op("aten::neg").in(y).out(labelled("minus " + result));
      });
    };
    CHECK(sequences(copied("aten::contiguous")) == 0);
    CHECK(sequences(copied("aten::abs")) == 1);
  }

  TEST_CASE("what a kernel keeps aside for backward may have another dtype, or be nothing") {
    const auto normalised = [](bool keeps, bool noise) {
      return report_of([=](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const std::string result = noise && changed ? "y'" : "y";
        const Tensor x = run.data(labelled("x"));
        std::uint64_t forward = 0;
        Tensor kept;
        const Tensor y = run.composite("aten::layer_norm", [&](EventBuilder& outer) {
          outer.in(x);
          forward = run.next_position();
          EventBuilder inner = run.op("aten::native_layer_norm");
          const Tensor inside = inner.in(x).out(labelled(result));
          kept = inner.out(!changed ? labelled("kept")
                           : keeps  ? labelled("kept").as(Dtype::float64)
                                    : Values(std::vector<double>{}));
          return inside;
        });
        run.backward(true);
        run.node("NativeLayerNormBackward0", forward, [&] {
          run.op("aten::native_layer_norm_backward").in(x).in(kept).out(labelled("g of " + result));
        });
      });
    };
    for (const bool keeps : {false, true}) {
      CHECK(normalised(keeps, false).verdict == Verdict::identical);
      const Report report = normalised(keeps, true);
      CHECK(diverging(report) == 1);
      REQUIRE(report.first() != nullptr);
      CHECK(report.first()->kind == FindingKind::origin);
    }
  }

  TEST_CASE("what one run's hook does to a gradient is a finding, whatever nodes are around it") {
    for (const bool other_node : {false, true})
      CHECK(sequences(report_of([&](RunBuilder& run, bool changed) {
              normalise(run, changed, other_node, true);
            })) == 1);
  }

  TEST_CASE(
      "where backward has a lane of its own, what it does otherwise comes before the update") {
    for (const bool reference : {false, true}) {
      const auto two_faults = [](RunBuilder& run, bool on_device, bool changed) {
        train(run, on_device, changed ? "h" : "g");
        run.op("aten::exp").in(run.data(labelled("m"))).out(labelled(changed ? "n" : "o"));
      };
      const Report report = report_of([&](RunBuilder& run) { two_faults(run, reference, false); },
                                      [&](RunBuilder& run) { two_faults(run, !reference, true); });
      REQUIRE(report.findings.size() == 2);
      CHECK(report.findings[0].op == "aten::mul");
    }
  }

  TEST_CASE("a loss that one run adds passes its gradient to what both runs have") {
    const Report report = report_of_losses();
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].op == "aten::add");
    CHECK(report.findings[0].phase == Phase::forward);
    CHECK(report.findings[0].diverges);
  }

  TEST_CASE("what one run does in a node of both does not follow from a node that passes on") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const std::uint64_t forward = run.next_position();
      const Tensor y = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
      const std::uint64_t sum = run.next_position();
      if (!changed) run.op("aten::add").in(y).out(labelled("y and nothing"));
      run.backward(true);
      const Tensor one = run.op("aten::ones_like").out(labelled("one"));
      if (!changed)
        run.node(
            "AddBackward0", sum, [] {}, {}, one);
      run.node(
          "ExpBackward0", forward,
          [&] {
            Tensor g = run.op("aten::mul").in(one).in(y).out(labelled("g"));
            if (!changed) g = run.op("aten::neg").in(one).out(labelled("h"));
            run.op("aten::sin").in(g).out(labelled("sin of " + run.content_words(g)));
          },
          {}, one);
    });
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].op == "aten::neg");
  }

  TEST_CASE("a node that computes from a gradient does not pass it on to others that read it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const std::uint64_t exp = run.next_position();
      run.op("aten::exp").in(x).out(labelled("y"));
      const std::uint64_t sin = run.next_position();
      if (!changed) run.op("aten::sin").in(x).out(labelled("z"));
      run.backward(true);
      const Tensor one = run.op("aten::ones_like").out(labelled("one"));
      const auto backward = [&](const std::string& node, std::uint64_t forward,
                                std::string_view op) {
        if (!changed)
          run.node(
              node, forward, [&] { run.op(op).in(one).out(labelled(op)); }, {}, one);
      };
      backward("SinBackward0", sin, "aten::mul");
      run.op("aten::cos").in(one).out(labelled("cos"));
      backward("ExpBackward0", exp, "aten::sqrt");
    });
    CHECK(std::any_of(report.findings.begin(), report.findings.end(),
                      [](const Finding& finding) { return finding.op == "aten::sqrt"; }));
  }

  TEST_CASE("that the other run sums fewer gradients follows") {
    CHECK(diverging(report_of_losses()) == 1);
  }

  TEST_CASE(
      "the gradient of a parameter that one run alone computes follows from the forward op that it "
      "has alone") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor w = run.parameter("w", labelled("w"));
      const std::uint64_t forward = run.next_position();
      if (!changed) run.op("aten::mv").in(x).in(w).out(labelled("penalty"));
      run.op("aten::exp").in(x).out(labelled("y"));
      run.backward(true);
      if (!changed) {
        Tensor g;
        run.node("MvBackward0", forward,
                 [&] { g = run.op("aten::outer").in(x).out(labelled("g")); });
        run.name_storage(g, "w.grad", slot_flag::gradient);
        {
          EventBuilder taken = run.event(EventKind::gradient, "torch::autograd::AccumulateGrad");
          taken.calls([&] { run.op("aten::detach").in(g).returns_view(g); });
          taken.returns(g);
        }
        run.backward(false).phase(Phase::optimizer);
        run.op("aten::add_").in(g).writes(w, labelled("trained"));
      }
      run.backward(false).phase(Phase::forward);
      run.op("aten::sin").in(w).out(labelled(changed ? "sin" : "sin of trained"));
    });
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].op == "aten::mv");
    CHECK(report.findings[0].diverges);
  }
}
