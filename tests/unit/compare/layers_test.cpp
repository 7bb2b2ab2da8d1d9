#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// What the candidate computes differently: words separated by spaces.
struct Change {
  std::string_view at;

  [[nodiscard]] bool has(std::string_view what) const {
    for (std::string_view rest = at; !rest.empty();) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      if (rest.substr(0, space) == what) return true;
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
    return false;
  }
};

/// Two layers in a block, trained for `steps` steps, as a recording of layers only shows it. Each
/// part of `change` is something that gives different values from there on: "data", "fc1",
/// "between" (the ops from fc1 to fc2), "fc2", "loss", "fc2.weight.grad", "fc1.input", "optimizer",
/// "buffer".
void train(RunBuilder& run, const Change& change, int steps = 2, int first_change = 0) {
  const Tensor w1 = run.parameter("block.fc1.weight", labelled("w1"));
  const Tensor w2 = run.parameter("block.fc2.weight", labelled("w2"));
  const Tensor mean = run.buffer("block.fc2.running_mean", labelled("m"));
  bool apart = change.has("start");
  if (apart) run.overwrite(w1, labelled("other w1"));
  run.parameters({w1, w2, mean});
  for (int step = 0; step < steps; ++step) {
    run.step(step).phase(Phase::forward);
    const auto value = [&](const std::string& name, std::string_view where) {
      apart = apart || (step >= first_change && change.has(where));
      return labelled(name + std::to_string(step) + (apart ? " apart" : ""));
    };
    const Tensor x = run.data(value("x", "data"));
    Tensor h, g, y;
    std::uint64_t fc1 = 0;
    std::uint64_t fc2 = 0;
    const auto block = run.call(
        "block",
        [&](EventBuilder& of_block) {
          of_block.in(x);
          fc1 = run.call("block.fc1", [&](EventBuilder& call) {
            call.in(x);
            h = call.out(value("h", "fc1"));
          });
          g = run.data(value("g", "between"));
          fc2 = run.call("block.fc2", [&](EventBuilder& call) {
            call.in(g);
            y = call.out(value("y", "fc2"));
          });
        },
        "Block");
    run.of_module(EventKind::module_output, "block", block, "Block").returns(y);
    const bool writes_other = step >= first_change && change.has("buffer");
    const Values written =
        labelled("m" + std::to_string(step) + (apart || writes_other ? " apart" : ""));
    run.backward(true);
    const Tensor dy = run.data(value("dy", "loss"));
    run.of_module(EventKind::module_gradient, "block.fc2", fc2).in(dy);
    run.of_module(EventKind::module_gradient, "block", block, "Block").in(dy);
    const bool before = apart;
    run.gradient("block.fc2.weight.grad", value("dw2", "fc2.weight.grad"), "block.fc2");
    apart = before;  // nothing but the parameter reads it
    const bool weight_differs = step >= first_change && change.has("fc2.weight.grad");
    const Tensor dg = run.data(value("dg", "fc2.input"));
    run.of_module(EventKind::module_gradient, "block.fc2", fc2).returns(dg);
    const Tensor dh = run.data(value("dh", "relu"));
    run.of_module(EventKind::module_gradient, "block.fc1", fc1).in(dh);
    run.gradient("block.fc1.weight.grad", value("dw1", "fc1.weight.grad"), "block.fc1");
    const bool gradients_apart = apart;
    const Tensor dx = run.data(value("dx", "fc1.input"));
    run.of_module(EventKind::module_gradient, "block", block, "Block").returns(dx);
    run.of_module(EventKind::module_gradient, "block.fc1", fc1).returns(dx);
    run.backward(false);
    run.scope(EventKind::optimizer, "SGD::step", [&] {
      apart = gradients_apart || weight_differs;
      run.overwrite(w1, value("w1", "optimizer"));
      run.overwrite(w2, value("w2", "optimizer"));
      run.overwrite(mean, written);
      run.parameters({w1, w2, mean});
    });
  }
}

[[nodiscard]] Report report_of_change(std::string_view what, int first_change = 0) {
  return report_of([&](RunBuilder& run, bool changed) {
    train(run, {changed ? what : std::string_view()}, 2, first_change);
  });
}

}  // namespace

TEST_SUITE("layers only") {
  TEST_CASE("equal runs are identical and each event is counted once") {
    const Report report = report_of_change("");
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    CHECK(report.coverage.aligned == report.reference.events);
  }

  TEST_CASE(
      "results of a call that a program reads in another order are told apart by their shapes") {
    const Report report = report_of([&](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("heads.weight", labelled("w"));
      run.parameters({w});
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const auto call = run.call(
          "heads", [&](EventBuilder& of_call) { of_call.in(x); }, "Heads");
      std::vector<Tensor> read{run.data(labelled("first")), run.data(labelled("second", 8))};
      if (changed) std::swap(read[0], read[1]);
      for (std::uint16_t k = 0; k < read.size(); ++k)
        run.of_module(EventKind::module_output, "heads", call, "Heads")
            .numbered(k)
            .returns(read[k]);
      run.parameters({w});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("inputs of a call are told apart by value and shape, and views of them are none") {
    CompareOptions options;
    options.by_layers = true;
    const Report report = report_of(
        [](RunBuilder& run, bool rewritten) {
          run.step(0).phase(Phase::forward);
          const Tensor index = run.data(labelled("index"));
          const Tensor user = run.data(labelled("user", 3));
          run.call("graph", [&](EventBuilder& call) {
            call.in(index);
            if (rewritten) call.in(run.view(index, {4, 1}, {1, 1}));
            call.in(user);
            (void)call.out(labelled("y"));
          });
        },
        options);
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }

  TEST_CASE("what a layer is given comes before what it hands to layers inside") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("layer.first.weight", labelled("w"));
      run.parameters({w});
      run.step(0).phase(Phase::forward);
      const Tensor nodes = run.data(labelled("nodes"));
      const Tensor edges = run.data(labelled(changed ? "other edges" : "edges"));
      run.call("layer", [&](EventBuilder& layer) {
        layer.in(nodes).in(edges);
        run.call("layer.first", [&](EventBuilder& call) {
          call.in(nodes);
          (void)call.out(labelled("first"));
        });
        const Tensor summed = run.data(labelled(changed ? "s2" : "s1"));
        run.call("layer.second", [&](EventBuilder& call) {
          call.in(summed);
          (void)call.out(labelled(changed ? "y2" : "y1"));
        });
      });
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(report.findings[0].module == "layer");
  }

  TEST_CASE("an input that is no longer equal to another one differs") {
    CompareOptions options;
    options.by_layers = true;
    const Report report = report_of(
        [](RunBuilder& run, bool changed) {
          run.step(0).phase(Phase::forward);
          const Tensor hidden = run.data(labelled("zeros"));
          const Tensor cell = run.data(labelled(changed ? "other" : "zeros"));
          run.call("lstm", [&](EventBuilder& call) {
            call.in(hidden).in(cell);
            (void)call.out(labelled(changed ? "y2" : "y1"));
          });
        },
        options);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
  }

  TEST_CASE("a batch that a model reads behind its first layer is data of the model") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("position.weight", labelled("w"));
      run.parameters({w});
      run.step(0).phase(Phase::forward);
      const Tensor place = run.data(labelled("place"));
      const Tensor batch = run.data(labelled(changed ? "other" : "batch"));
      run.call(
          "",
          [&](EventBuilder& model) {
            run.call("position", [&](EventBuilder& call) {
              call.in(place);
              (void)call.out(labelled("p"));
            });
            run.call("token", [&](EventBuilder& call) {
              call.in(batch);
              (void)call.out(labelled(changed ? "t2" : "t1"));
            });
            model.in(batch);
            (void)model.out(labelled(changed ? "y2" : "y1"));
          },
          "Model");
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(report.findings[0].op == "Model::forward");
  }

  TEST_CASE("one cause is one finding, and all that follows is propagated") {
    struct Known {
      std::string_view change;
      FindingKind kind;
      std::string_view op;
      std::string_view module;
      Phase phase;
    };
    for (const Known& known : {
             Known{"start", FindingKind::parameter, "parameters", "", Phase::setup},
             Known{"data", FindingKind::data, "Block::forward", "block", Phase::forward},
             Known{"fc1", FindingKind::origin, "Linear::forward", "block.fc1", Phase::forward},
             Known{"between", FindingKind::origin, "Block::forward", "block", Phase::forward},
             Known{"fc2", FindingKind::origin, "Linear::forward", "block.fc2", Phase::forward},
             Known{"fc2.weight.grad", FindingKind::origin, "torch::autograd::AccumulateGrad",
                   "block.fc2", Phase::backward},
             Known{"fc1.input", FindingKind::origin, "Linear::gradient", "block.fc1",
                   Phase::backward},
             Known{"buffer", FindingKind::origin, "Linear::forward", "block.fc2", Phase::forward},
         }) {
      for (const int step : {0, 1}) {
        CAPTURE(known.change);
        CAPTURE(step);
        if (known.change == "start" && step == 1) continue;
        const Report report = report_of_change(known.change, step);
        REQUIRE(report.verdict == Verdict::diverged);
        REQUIRE(report.findings.size() == 1);
        const Finding& finding = report.findings[0];
        CHECK(finding.kind == known.kind);
        CHECK(finding.op == known.op);
        CHECK(finding.module == known.module);
        CHECK(finding.phase == known.phase);
        if (known.phase != Phase::setup) CHECK(finding.step == step);
      }
    }
  }

  TEST_CASE("a gradient that differs after an equal forward comes from the loss") {
    const Report report = report_of_change("loss");
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.kind == FindingKind::origin);
    CHECK(finding.phase == Phase::backward);
    CHECK(finding.lane == "autograd");
    CHECK_FALSE(finding.module.has_value());
    REQUIRE(finding.between.has_value());
    CHECK(finding.between->reference == "block");
    CHECK(finding.between->candidate == "block.fc2");
    CHECK(finding.op.empty());
    CHECK(has(report.summary, "what runs outside of modules produces different bits"));
  }

  TEST_CASE("parameters that part after equal gradients are the optimizer's") {
    const Report report = report_of_change("optimizer");
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.kind == FindingKind::origin);
    CHECK(finding.op == "SGD::step");
    CHECK(finding.phase == Phase::optimizer);
    REQUIRE(finding.tensors.size() == 2);
    CHECK(finding.tensors[0].role == Role::mutated);
    CHECK(finding.tensors[0].name == "block.fc1.weight");
  }

  TEST_CASE("what parts in a layer's backward is told once, with every gradient that shows it") {
    const Report report = report_of_change("fc1.weight.grad fc1.input");
    REQUIRE(report.findings.size() == 1);
    REQUIRE(report.findings[0].tensors.size() == 2);
    CHECK(report.findings[0].tensors[0].name == "block.fc1.weight.grad");
    CHECK(report.findings[0].tensors[1].role == Role::output);
  }

  TEST_CASE("two layers that part on their own are two findings") {
    const Report report = report_of_change("fc2.weight.grad fc1.weight.grad");
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[0].module == "block.fc2");
    CHECK(report.findings[1].module == "block.fc1");
  }

  TEST_CASE("a gradient that a residual connection may have changed is no second finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const auto call = [&](const char* path) {
        return run.call(path, [&](EventBuilder& module) { module.in(x).out(labelled(path)); });
      };
      const auto side = call("side");
      const auto head = call("head");
      run.backward(true);
      const auto value = [&](const char* name) {
        return run.data(labelled(name + std::string(changed ? " apart" : "")));
      };
      run.of_module(EventKind::module_gradient, "side", side).in(run.data(labelled("aux")));
      run.of_module(EventKind::module_gradient, "head", head).in(value("loss"));
      run.of_module(EventKind::module_gradient, "side", side).returns(value("sum"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK_FALSE(report.findings[0].module.has_value());
  }

  TEST_CASE("a parameter that a call reads otherwise than it was told is that parameter") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("table", labelled("w"));
      run.parameters({w});
      run.step(0).phase(Phase::forward);
      if (changed) run.overwrite(w, labelled("other"));
      run.call(
          "",
          [&](EventBuilder& model) {
            run.call("layer", [&](EventBuilder& call) {
              call.in(w);
              (void)call.out(labelled(changed ? "b" : "a"));
            });
            model.in(run.data(labelled("x")));
          },
          "Model");
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::parameter);
    CHECK(report.findings[0].module == "layer");
    CHECK(report.findings[0].tensors.at(0).name == "table");
  }

  TEST_CASE("what is not seen of a layer's parameters is said") {
    const Report report = report_of_change("fc2");
    REQUIRE(report.findings.size() == 1);
    CHECK(has(notes_of(report.findings[0]), "its parameters were equal when they were last"));
  }

  TEST_CASE("after gradients that differ, an update that nobody sees explains the next step") {
    const auto program = [](bool told) {
      return [told](RunBuilder& run, bool changed) {
        const Tensor w1 = run.parameter("fc1.weight", labelled("w1"));
        const Tensor w2 = run.parameter("fc2.weight", labelled("w2"));
        run.parameters({w1, w2});
        for (int step = 0; step < 2; ++step) {
          const std::string n = std::to_string(step);
          const std::string apart = changed ? " apart" : "";
          run.step(step).phase(Phase::forward);
          const Tensor x = run.data(labelled("x" + n));
          Tensor h, y;
          run.call("fc1", [&](EventBuilder& call) {
            call.in(x);
            h = call.out(labelled("h" + n + (step > 0 ? apart : "")));
          });
          const auto fc2 = run.call("fc2", [&](EventBuilder& call) {
            call.in(h);
            y = call.out(labelled("y" + n + apart));
          });
          run.backward(true);
          run.of_module(EventKind::module_gradient, "fc2", fc2)
              .in(run.data(labelled("dy" + n + apart)));
          run.gradient("fc1.weight.grad", labelled("dw1" + n + apart), "fc1");
          run.gradient("fc2.weight.grad", labelled("dw2" + n + apart), "fc2");
          run.backward(false);
          if (told) run.parameters({w1, w2});
        }
      };
    };
    const Report untold = report_of(program(false));
    REQUIRE(diverging(untold) == 1);
    CHECK(untold.findings[0].module == "fc2");
    CHECK(diverging(report_of(program(true))) == 2);
  }

  TEST_CASE("a call that only one run makes is told where a difference follows") {
    for (const bool changes : {false, true}) {
      CAPTURE(changes);
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        Tensor h;
        const Tensor x = run.data(labelled("x"));
        run.call("fc1", [&](EventBuilder& call) { h = call.in(x).out(labelled("h")); });
        if (changed)
          run.call(
              "dropout",
              [&](EventBuilder& call) { h = call.in(h).out(labelled(changes ? "d" : "h")); },
              "Dropout");
        run.call("fc2", [&](EventBuilder& call) {
          call.in(h).out(labelled(changed && changes ? "z" : "y"));
        });
      });
      CHECK(report.coverage.only_candidate == 1);
      if (!changes) {
        CHECK(report.verdict == Verdict::identical);
        CHECK(report.findings.empty());
        continue;
      }
      REQUIRE(report.findings.size() == 1);
      CHECK(report.findings[0].kind == FindingKind::sequence);
      CHECK(report.findings[0].op == "Dropout::forward");
      CHECK(report.findings[0].diverges);
    }
  }

  TEST_CASE("parameters that a program fills before it uses them are no finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("weight", labelled(changed ? "b" : "a"));
      run.parameters({w});
      run.overwrite(w, labelled("initial"));
      run.parameters({w});
      run.step(0).phase(Phase::forward);
      run.call("", [&](EventBuilder& call) { call.in(run.data(labelled("x"))); });
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }

  TEST_CASE("calls that repeat are aligned by their values") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      for (const char* batch : {"first", "second", "third"}) {
        if (changed && std::string_view(batch) == "first") continue;
        run.call("fc", [&](EventBuilder& call) {
          call.in(run.data(labelled(batch))).out(labelled(std::string("y") + batch));
        });
      }
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.aligned == 2);
    CHECK(report.coverage.only_reference == 1);
  }

  TEST_CASE("recordings with ops are compared by layers where that is asked for") {
    CompareOptions options;
    options.by_layers = true;
    const Report report = report_of(
        [](RunBuilder& run, bool rewritten) {
          run.step(0).phase(Phase::forward);
          const Tensor x = run.data(labelled("x"));
          run.call("fc", [&](EventBuilder& call) {
            call.in(x);
            if (rewritten) run.op("aten::mm").in(x).out(labelled("product"));
            const Tensor y =
                run.op(rewritten ? "aten::add" : "aten::addmm").in(x).out(labelled("y"));
            call.returns(y);
          });
        },
        options);
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    CHECK(report.coverage.aligned == 1);
  }

  TEST_CASE("of a module that differs the op inside of it is named, with its arguments") {
    CompareOptions options;
    options.by_layers = true;
    const Report report = report_of(
        [](RunBuilder& run, bool changed) {
          run.step(0).phase(Phase::forward);
          const Tensor x = run.data(labelled("x"));
          run.call("norm", [&](EventBuilder& call) {
            call.in(x);
            const Tensor y = run.op("aten::layer_norm")
                                 .arg("eps", changed ? 1e-06 : 1e-05)
                                 .in(x)
                                 .out(labelled(changed ? "z" : "y"));
            call.returns(y);
          });
        },
        options);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "Linear::forward");
    CHECK(report.findings[0].meaning == "aten::layer_norm has eps 1e-05 and 1e-06");
    REQUIRE(report.findings[0].arguments.size() == 1);
    CHECK(report.findings[0].arguments[0].candidate == "1e-06");
    REQUIRE_FALSE(report.causes.empty());
    CHECK(report.causes[0].id == "argument");
  }

  TEST_CASE("against a recording with ops both are compared by layers") {
    const auto program = [](bool ops, bool changed) {
      return [ops, changed](RunBuilder& run) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        Tensor y;
        run.call("fc", [&](EventBuilder& call) {
          call.in(x);
          if (ops) {
            run.op("aten::addmm").in(x).out(labelled("unrelated"));
            run.scope(EventKind::scope, "range",
                      [&] { run.call("fc.inner", [&](EventBuilder& inner) { inner.in(x); }); });
          } else {
            run.call("fc.inner", [&](EventBuilder& inner) { inner.in(x); });
          }
          y = call.out(labelled(changed ? "b" : "a"));
        });
      };
    };
    const Report equal = report_of(program(true, false), program(false, false));
    CHECK(equal.verdict == Verdict::identical);
    CHECK(equal.coverage.aligned == 2);
    CHECK(equal.coverage.only_reference == 0);
    REQUIRE(equal.coverage.unseen.size() == 2);
    CHECK(equal.coverage.unseen[1] == "only the reference has ops: they are not compared");
    const Report other = report_of(program(true, false), program(false, true));
    REQUIRE(other.findings.size() == 1);
    CHECK(other.findings[0].op == "Linear::forward");
    CHECK(other.findings[0].module == "fc");
  }
}
