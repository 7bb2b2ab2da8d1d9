#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// Two layers and the op that joins their results.
void two_branches(RunBuilder& run, const std::function<void(const Tensor&, const Tensor&)>& join) {
  run.step(0).phase(Phase::forward);
  const Tensor x = run.data(labelled("x"));
  Tensor left;
  Tensor right;
  run.module("left", [&] { left = run.op("aten::exp").in(x).out(labelled("l")); });
  run.module("right", [&] { right = run.op("aten::sin").in(x).out(labelled("r")); });
  join(left, right);
}

/// Two normalizations by the layers that are named, whose weights hold the same, and their
/// backward: what is read twice gets the sum of two gradients.
void normalise_twice(RunBuilder& run, const std::array<std::string, 2>& layers,
                     bool scaled = false) {
  std::map<std::string, Tensor> weights;
  for (const std::string layer : {"first", "second"})
    weights[layer] = run.parameter(layer + ".weight", labelled("ones"));
  run.parameters({weights.at("first"), weights.at("second")});
  run.step(0).phase(Phase::forward);
  Tensor x = run.data(labelled("x"));
  for (const std::string& layer : layers)
    run.module("", [&] {
      x = run.op("aten::layer_norm")
              .in(x, "input")
              .in(weights.at(layer), "weight")
              .out(labelled(run.content_words(x)));
    });
  run.backward(true);
  std::map<std::string, std::vector<Tensor>> gradients;
  for (std::size_t k = 2; k-- > 0;)
    gradients[layers[k]].push_back(
        run.op("aten::native_layer_norm_backward").in(x).out(labelled("g" + std::to_string(k))));
  for (auto& [layer, parts] : gradients) {
    if (parts.size() == 1) continue;
    parts = {run.op("aten::add_").in(parts[0]).in(parts[1]).out(labelled("sum"))};
  }
  Tensor last = gradients.at(layers[0]).back();
  if (scaled) last = run.op("aten::mul").in(last).out(labelled("scaled"));
  run.backward(false);
  run.op("aten::norm").in(last).out(labelled("norm of " + run.content_words(last)));
}

/// Two layers whose results differ between the runs, as between a CPU and a GPU, in the order
/// given, and the op that joins them.
void noisy_branches(RunBuilder& run, bool changed, const std::vector<std::string>& order,
                    const std::function<void(const Tensor&, const Tensor&)>& join) {
  run.step(0).phase(Phase::forward);
  const std::string noise = changed ? " and noise" : "";
  const Tensor x = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y" + noise));
  std::map<std::string, Tensor> results;
  for (const std::string& branch : order)
    results[branch] = run.op("aten::relu").in(x).out(labelled(branch + noise));
  join(results.at("left"), results.at("right"));
}

/// Findings that diverge besides the op whose result is the first that differs.
[[nodiscard]] std::vector<Finding> beside_noise(const Report& report) {
  std::vector<Finding> others;
  for (const Finding& finding : report.findings)
    if (finding.diverges && finding.op != "aten::exp") others.push_back(finding);
  return others;
}

const std::vector<std::string> kLeftFirst{"left", "right"};

}  // namespace

TEST_SUITE("exchanged among values that differ already") {
  TEST_CASE("operands of an op that does not give the same for them are told by who wrote them") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      noisy_branches(run, changed, kLeftFirst, [&](const Tensor& left, const Tensor& right) {
        run.op("aten::scaled_dot_product_attention")
            .in(changed ? right : left, "query")
            .in(changed ? left : right, "key")
            .out(labelled(changed ? "b" : "a"));
      });
    });
    const std::vector<Finding> others = beside_noise(report);
    REQUIRE(others.size() == 1);
    CHECK(others[0].kind == FindingKind::arguments);
    CHECK(others[0].op == "aten::scaled_dot_product_attention");
    REQUIRE(others[0].arguments.size() == 2);
    CHECK(others[0].arguments[0].name == "query");
    CHECK(others[0].arguments[0].reference == "result of aten::relu, event 1");
    CHECK(others[0].arguments[0].candidate == "result of aten::relu, event 2");
    const Cause* const cause = find_cause(report, "argument");
    REQUIRE(cause != nullptr);
    CHECK(has(cause->evidence.back(), "in a different order"));
  }

  TEST_CASE("what stands at the same place is told by the op that does the same") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      noisy_branches(run, changed, kLeftFirst, [&](const Tensor& left, const Tensor& right) {
        const auto root = [&](const Tensor& of) {
          return run.op("aten::sqrt").in(of, "self").out(labelled("root " + run.content_words(of)));
        };
        const Tensor one = root(changed ? right : left);
        const Tensor two = root(changed ? left : right);
        run.op("aten::sub").in(one, "self").in(two, "other").out(labelled(changed ? "b" : "a"));
      });
    });
    const std::vector<Finding> others = beside_noise(report);
    REQUIRE(others.size() == 1);
    CHECK(others[0].op == "aten::sub");
    REQUIRE(others[0].arguments.size() == 2);
    CHECK(others[0].arguments[0].reference == "result of aten::sqrt, event 3");
    CHECK(others[0].arguments[0].candidate == "result of aten::sqrt, event 4 of the reference");
  }

  TEST_CASE("what is laid out too differently to be compared is told by who wrote it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x", 4));
      const Tensor key = run.op("aten::exp").in(x, "self").out(Values({2, 2}, {1, 2, 3, 4}));
      const Tensor value = run.op("aten::sin").in(x, "self").out(Values({2}, {5, 6}));
      const Tensor heads = run.view(value, {2, 2}, {0, 1});
      run.op("aten::expand").given(value, slot_flag::metadata_only).returns_view(heads);
      run.op("aten::scaled_dot_product_attention")
          .in(changed ? key : heads, "value")
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->kind == FindingKind::arguments);
    CHECK(report.first()->arguments.at(0).candidate == "result of aten::exp, event 0");
  }

  TEST_CASE("one result in the place of another one") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      noisy_branches(run, changed, kLeftFirst, [&](const Tensor& left, const Tensor& right) {
        run.op("aten::mul").in(left).in(changed ? left : right).out(labelled(changed ? "b" : "a"));
      });
    });
    const std::vector<Finding> others = beside_noise(report);
    REQUIRE(others.size() == 1);
    CHECK(others[0].op == "aten::mul");
    CHECK(others[0].arguments.size() == 1);
  }

  TEST_CASE("parts of one result") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const std::string noise = changed ? " and noise" : "";
      const Tensor both =
          run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y" + noise, 8));
      const Tensor left = run.view(both, {4}, {1});
      const Tensor right = run.view(both, {4}, {1}, 4);
      run.op("aten::sub")
          .in(changed ? right : left, "self")
          .in(changed ? left : right, "other")
          .out(labelled("z" + noise));
    });
    const std::vector<Finding> others = beside_noise(report);
    REQUIRE(others.size() == 1);
    REQUIRE(others[0].arguments.size() == 2);
    CHECK(others[0].arguments[0].reference == "result of aten::exp, event 0");
    CHECK(others[0].arguments[0].candidate == "result of aten::exp, event 0, from element 4");
  }

  TEST_CASE("what two layers are given") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("w", labelled("w"));
      const Tensor v = run.parameter("v", labelled("v"));
      noisy_branches(run, changed, kLeftFirst, [&](const Tensor& left, const Tensor& right) {
        const std::string noise = changed ? " and noise" : "";
        run.op("aten::mm").in(changed ? right : left, "self").in(w).out(labelled("a" + noise));
        run.op("aten::mm").in(changed ? left : right, "self").in(v).out(labelled("b" + noise));
      });
    });
    const std::vector<Finding> others = beside_noise(report);
    REQUIRE_FALSE(others.empty());
    CHECK(others[0].op == "aten::mm");
    CHECK(others[0].kind == FindingKind::arguments);
  }

  TEST_CASE("views between are looked through") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      noisy_branches(run, changed, kLeftFirst, [&](const Tensor& left, const Tensor& right) {
        const auto turned = [&](const Tensor& of) {
          const Tensor view = run.view(of, {4, 1}, {1, 1});
          run.op("aten::view").given(of, slot_flag::no_digest).returns_view(view);
          return view;
        };
        const Tensor a = turned(changed ? right : left);
        const Tensor b = turned(changed ? left : right);
        run.op("aten::cat").in_list({a, b}, "tensors").out(labelled(changed ? "b" : "a"));
      });
    });
    const std::vector<Finding> others = beside_noise(report);
    REQUIRE(others.size() == 1);
    CHECK(others[0].op == "aten::cat");
  }

  TEST_CASE("the two sides of a sum may be exchanged") {
    for (const double alpha : {1.0, 2.0}) {
      const Report report = report_of([alpha](RunBuilder& run, bool changed) {
        noisy_branches(run, changed, kLeftFirst, [&](const Tensor& left, const Tensor& right) {
          run.op("aten::add")
              .in(changed ? right : left)
              .in(changed ? left : right)
              .arg("alpha", alpha)
              .out(labelled(changed ? "b" : "a"));
        });
      });
      CHECK(beside_noise(report).size() == (alpha == 1.0 ? 0 : 1));
    }
  }

  TEST_CASE("the same ops in another order exchange nothing") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const std::vector<std::string> right_first{"right", "left"};
      run.step(0).phase(Phase::forward);
      const std::string noise = changed ? " and noise" : "";
      const Tensor x = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y" + noise));
      std::map<std::string, Tensor> first;
      first["left"] = run.op("aten::sin").in(x).out(labelled("l" + noise));
      first["right"] = run.op("aten::cos").in(x).out(labelled("r" + noise));
      std::map<std::string, Tensor> results;
      for (const std::string& branch : changed ? right_first : kLeftFirst)
        results[branch] = run.op("aten::relu").in(first.at(branch)).out(labelled(branch + noise));
      run.op("aten::cat")
          .in_list({results.at("left"), results.at("right")}, "tensors")
          .out(labelled("both" + noise));
    });
    CHECK(beside_noise(report).empty());
  }

  TEST_CASE("a copy that one run makes is not another tensor") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      noisy_branches(run, changed, kLeftFirst, [&](const Tensor& left, const Tensor& right) {
        Tensor copy = left;
        if (changed)
          copy = run.op("aten::contiguous").in(left).out(labelled("left and noise"));
        else
          run.op("aten::contiguous").in(left).returns(left);
        run.op("aten::cat").in_list({copy, right}, "tensors").out(labelled(changed ? "b" : "a"));
      });
    });
    CHECK(beside_noise(report).empty());
  }
}

TEST_SUITE("another tensor") {
  TEST_CASE("an op that is given the result of another op has another argument") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      two_branches(run, [&](const Tensor& left, const Tensor& right) {
        const Tensor& read = changed ? right : left;
        const Tensor y = run.op("aten::mul").in(read, "self").out(labelled(changed ? "y2" : "y1"));
        run.op("aten::tanh").in(y).out(labelled(changed ? "z2" : "z1"));
      });
    });
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.kind == FindingKind::arguments);
    CHECK(finding.op == "aten::mul");
    REQUIRE(finding.arguments.size() == 1);
    CHECK(finding.arguments[0].name == "self");
    CHECK(finding.arguments[0].reference == "result of aten::exp, left, event 1");
    CHECK(finding.arguments[0].candidate == "result of aten::sin, right, event 3");
    CHECK(cause_ids(report) == "argument");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("what an earlier step has made, in place of what the last one has") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      std::vector<Tensor> hidden{run.op("aten::zeros").out(labelled("h", 4))};
      for (int step = 0; step < 4; ++step) {
        run.step(step).phase(Phase::forward);
        const bool stale = changed && step == 3;
        const std::string made = "h" + std::to_string(step) + (stale ? " stale" : "");
        hidden.push_back(
            run.op("aten::gru").in(stale ? hidden[1] : hidden.back(), "hx").out(labelled(made, 4)));
      }
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].step == 3);
    CHECK(report.findings[0].arguments.at(0).reference == "result of aten::gru, event 3");
    CHECK(report.findings[0].arguments.at(0).candidate == "result of aten::gru, event 1");
    CHECK(cause_ids(report) == "argument");
  }

  TEST_CASE("a parameter of another model under the same name") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      std::vector<Tensor> weights;
      for (const std::string root : {"Net", "Net#2"}) {
        run.root(root);
        weights.push_back(run.parameter("fc.weight", labelled("w of " + root, 4)));
        run.step(0).phase(Phase::forward);
        run.parameters({weights.back()});
        run.op("aten::exp").in(weights.back(), "self").out(labelled("y of " + root, 4));
      }
      run.step(1).phase(Phase::eval);
      run.op("aten::lerp_").in(weights[changed ? 1 : 0], "end").out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].arguments.at(0).reference == "fc.weight of Net");
    CHECK(report.findings[0].arguments.at(0).candidate == "fc.weight of Net#2");
  }

  TEST_CASE("what backward is given is not chosen by the program") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor a = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("a", 4));
      const Tensor b = run.op("aten::sin").in(run.data(labelled("y"))).out(labelled("b", 4));
      run.step(1).phase(Phase::backward).backward(true);
      run.op("aten::mul").in(changed ? b : a, "self").out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
  }

  TEST_CASE("another tensor that is laid out too differently to be compared") {
    const auto skipping = [](bool same_result) {
      return report_of([same_result](RunBuilder& run, bool changed) {
        const Tensor x = run.data(labelled("x", 4));
        run.step(0).phase(Phase::forward);
        const Tensor wide = run.op("aten::exp").in(x).out(Values({2, 2}, {1, 2, 3, 4}));
        const Tensor narrow = run.op("aten::sin").in(x).out(Values({2}, {5, 6}));
        run.step(1).phase(Phase::forward);
        const Tensor skip = run.view(narrow, {2, 2}, {0, 1});
        if (changed)
          run.op("aten::expand").given(narrow, slot_flag::metadata_only).returns_view(skip);
        run.op("aten::cat")
            .in(changed ? skip : wide, "tensors")
            .out(labelled(changed && !same_result ? "b" : "a"));
      });
    };
    const Report report = skipping(false);
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->kind == FindingKind::arguments);
    CHECK(report.first()->arguments.at(0).reference == "result of aten::exp, event 0");
    CHECK(report.first()->arguments.at(0).candidate == "result of aten::sin, event 1");
    for (const Finding& finding : skipping(true).findings)
      CHECK(finding.kind != FindingKind::arguments);
  }

  TEST_CASE("the same tensors in another order") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      two_branches(run, [&](const Tensor& left, const Tensor& right) {
        auto cat = run.op("aten::cat");
        if (changed)
          cat.in_list({right, left}, "tensors");
        else
          cat.in_list({left, right}, "tensors");
        (void)cat.out(labelled(changed ? "rl" : "lr"));
      });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].arguments.size() == 2);
    REQUIRE(cause_ids(report) == "argument");
    CHECK(has(report.causes[0].evidence.back(), "in a different order"));
  }

  TEST_CASE("tensors in another order that give the same are no difference") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      two_branches(run, [&](const Tensor& left, const Tensor& right) {
        auto add = run.op("aten::add");
        add.in(changed ? right : left, "self").in(changed ? left : right, "other");
        (void)add.out(labelled("sum"));
      });
    });
    CHECK(report.verdict == Verdict::identical);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK_FALSE(report.findings[0].diverges);
  }

  TEST_CASE(
      "where they give the same and what the op keeps aside is read, they are the difference") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      two_branches(run, [&](const Tensor& left, const Tensor& right) {
        Tensor kept;
        auto similarity = run.op("aten::cosine_similarity");
        similarity.in(changed ? right : left, "x1").in(changed ? left : right, "x2");
        (void)similarity
            .calls([&] {
              kept = run.op("aten::linalg_vector_norm")
                         .in(changed ? right : left)
                         .out(labelled(changed ? "norm of right" : "norm of left"));
            })
            .out(labelled("similarity"));
        run.leaves({run.op("aten::div").in(kept).out(labelled(changed ? "b" : "a"))});
      });
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::cosine_similarity");
    CHECK(report.first()->kind == FindingKind::arguments);
    CHECK(cause_ids(report) == "argument");
    CHECK(diverging(report) == 1);
  }

  TEST_CASE("a list that lacks what one run alone made has no other tensors behind it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      std::vector<Tensor> norms;
      for (const std::string name : {"a", "b", "c", "d"}) {
        if (changed && name == "b") continue;
        norms.push_back(
            run.op("aten::norm").in(run.data(labelled(name))).out(labelled("|" + name)));
      }
      run.op("aten::stack").in_list(norms, "tensors").out(labelled("all", changed ? 3 : 4));
    });
    CHECK(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::sequence);
    CHECK(report.findings[0].op == "aten::norm");
  }

  TEST_CASE("what inner ops computed goes by the op that the program called") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor a = run.composite("aten::linear", [&](EventBuilder& linear) {
        linear.in(x);
        return run.op("aten::addmm").in(x).out(labelled("a"));
      });
      const Tensor b = run.op("aten::sin").in(x).out(labelled("b"));
      run.op("aten::mul").in(changed ? b : a, "self").out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    REQUIRE(report.findings[0].arguments.size() == 1);
    CHECK(report.findings[0].arguments[0].reference == "result of aten::linear, event 0");
  }

  TEST_CASE("another parameter is no parameter that differs") {
    const auto program = [](const char* of_candidate) {
      return [of_candidate](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        const Tensor a = run.parameter("a.weight", labelled("a"));
        const Tensor b = run.parameter("b.weight", labelled(changed ? of_candidate : "b"));
        run.op("aten::mm").in(x, "self").in(a, "mat2").out(labelled("y"));
        run.op("aten::mm")
            .in(x, "self")
            .in(changed ? b : a, "mat2")
            .out(labelled(changed ? "z2" : "y"));
      };
    };
    const Report report = report_of(program("b"));
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].arguments[0].reference == "a.weight");
    CHECK(report.findings[0].arguments[0].candidate == "b.weight");
  }

  TEST_CASE("the other half of a result is another tensor") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor both = run.op("aten::exp").in(x).out(labelled("both", 8));
      const Tensor first = run.view(both, {4}, {1}, 0);
      const Tensor second = run.view(both, {4}, {1}, 4);
      run.op("aten::sin").in(first, "self").out(labelled("s"));
      run.op("aten::cos").in(second, "self").out(labelled("c"));
      run.op("aten::tanh").in(changed ? second : first, "self").out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    REQUIRE(report.findings[0].arguments.size() == 1);
    CHECK(report.findings[0].arguments[0].reference ==
          "result of aten::exp, event 0, from element 0");
    CHECK(report.findings[0].arguments[0].candidate ==
          "result of aten::exp, event 0, from element 4");
  }

  TEST_CASE("a part of a result that nothing has read before") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.phase(Phase::setup);
      if (changed) run.op("aten::ones").out(labelled("unused"));
      run.step(0).phase(Phase::data);
      const Tensor batch =
          run.op("aten::stack").in(run.data(labelled("x"))).out(labelled("batch", 8));
      run.phase(Phase::forward);
      run.op("aten::embedding")
          .in(run.view(batch, {4}, {1}, changed ? 3 : 2), "indices")
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    REQUIRE(report.findings[0].arguments.size() == 1);
    CHECK(report.findings[0].arguments[0].candidate ==
          "result of aten::stack, event 1, from element 3");
  }

  TEST_CASE("tensors made before the first step that the model has read") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.phase(Phase::setup);
      const auto cloned = [&](const char* name) {
        return run.composite("aten::clone", [&](EventBuilder&) {
          return run.op("aten::copy_").in(run.data(labelled(name))).out(labelled(name));
        });
      };
      const Tensor from = cloned("f");
      const Tensor to = cloned("t");
      run.step(0).phase(Phase::forward);
      run.op("aten::index_select").in(from, "index").out(labelled("messages"));
      run.op("aten::index_add").in(to, "index").out(labelled("sums"));
      run.op("aten::index_select")
          .in(changed ? to : from, "index")
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    REQUIRE(report.findings[0].arguments.size() == 1);
    CHECK(report.findings[0].arguments[0].reference == "result of aten::clone, event 0");
    CHECK(report.findings[0].arguments[0].candidate == "result of aten::clone, event 2");
  }

  TEST_CASE("tensors that the program fills itself, once the model has read both") {
    const auto program = [](bool both_read) {
      return [both_read](RunBuilder& run, bool changed) {
        run.phase(Phase::setup);
        const Tensor from = run.op("aten::empty").out_uninitialised(labelled("from"));
        const Tensor to = run.op("aten::empty").out_uninitialised(labelled("to"));
        run.step(0).phase(Phase::forward);
        run.op("aten::index_select").in(from, "index").out(labelled("messages"));
        if (both_read) run.op("aten::index_add").in(to, "index").out(labelled("sums"));
        run.op("aten::gather").in(changed ? to : from, "index").out(labelled(changed ? "b" : "a"));
      };
    };
    const Report report = report_of(program(true));
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    REQUIRE(report.findings[0].arguments.size() == 1);
    CHECK(report.findings[0].arguments[0].reference == "index of aten::index_select, event 2");
    CHECK(report.findings[0].arguments[0].candidate == "index of aten::index_add, event 3");

    const Report batch = report_of(program(false));
    REQUIRE(batch.findings.size() == 1);
    CHECK(batch.findings[0].kind == FindingKind::data);
    CHECK(batch.findings[0].notes.at(0) ==
          "index is the reference's index of aten::index_select, event 2 once more");
  }

  TEST_CASE("what an op makes of a batch is not the batch, where the model has read that before") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.phase(Phase::setup);
      const Tensor labels = run.data(labelled("labels"));
      const Tensor mixed = run.op("aten::roll").in(labels, "self").out(labelled("mixed"));
      run.step(0).phase(Phase::forward);
      run.op("aten::cross_entropy_loss").in(labels, "target").out(labelled("loss"));
      run.op("aten::cross_entropy_loss")
          .in(changed ? labels : mixed, "target")
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].arguments.at(0).reference == "result of aten::roll, event 0");
    CHECK(report.findings[0].arguments.at(0).candidate ==
          "target of aten::cross_entropy_loss, event 1");
  }

  TEST_CASE("batches that ops prepared are data") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      std::vector<Tensor> batches;
      for (int k = 0; k < 4; ++k)
        batches.push_back(run.op("aten::arange").out(labelled("batch" + std::to_string(k))));
      for (int step = 0; step < 4; ++step) {
        run.step(step).phase(Phase::forward);
        run.op("aten::exp")
            .in(batches[static_cast<std::size_t>(changed ? 3 - step : step)])
            .out(labelled((changed ? "d" : "c") + std::to_string(step)));
      }
    });
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(first_cause(report) == "data-order");
  }

  TEST_CASE("a parameter in another one's place is found though both hold the same") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      normalise_twice(run, {"first", changed ? "first" : "second"});
    });
    REQUIRE(diverging(report) == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.kind == FindingKind::arguments);
    CHECK(finding.op == "aten::layer_norm");
    REQUIRE(finding.arguments.size() == 1);
    CHECK(finding.arguments[0].reference == "second.weight");
    CHECK(finding.arguments[0].candidate == "first.weight");
    CHECK(first_cause(report) == "argument");
  }

  TEST_CASE("parameters that only exchanged their names differ in nothing") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      if (changed)
        normalise_twice(run, {"second", "first"});
      else
        normalise_twice(run, {"first", "second"});
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }

  TEST_CASE("exchanged names are no reason for an op that one backward has more") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      if (changed)
        normalise_twice(run, {"second", "first"}, /*scaled=*/true);
      else
        normalise_twice(run, {"first", "second"});
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::sequence);
    CHECK(report.findings[0].op == "aten::mul");
  }

  TEST_CASE("a tensor that both runs have prepared for this step is another one, no batch") {
    const auto program = [](bool computed_with) {
      return [computed_with](RunBuilder& run, bool changed) {
        run.phase(Phase::setup);
        const Tensor sample = run.op("aten::clone").in(run.data(labelled("s"))).out(labelled("s"));
        const Tensor noise =
            run.op(computed_with ? "aten::normal_" : "aten::clone").out(labelled("noise"));
        Tensor mixed = run.data(labelled("mixed"));
        if (computed_with) mixed = run.op("aten::add").in(sample).in(noise).out(labelled("mixed"));
        run.step(0).phase(Phase::forward);
        const Tensor y = run.op("aten::mm").in(mixed).out(labelled("y"));
        run.op("aten::mse_loss")
            .in(y, "self")
            .in(changed ? sample : noise, "target")
            .out(labelled(changed ? "b" : "a"));
      };
    };
    const Report report = report_of(program(true));
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].arguments.at(0).name == "target");
    CHECK(has(*report.findings[0].arguments[0].candidate, "result of aten::clone"));
    CHECK(report_of(program(false)).findings.at(0).kind == FindingKind::data);
  }

  TEST_CASE("what a model gives and what data preparation made are exchanged, no samples") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor x = run.data(labelled("x"));
      run.step(0).phase(Phase::data);
      const Tensor noise = run.op("aten::randn").out(labelled("noise"));
      run.phase(Phase::forward);
      const Tensor predicted = run.op("aten::mm").in(x).out(labelled("predicted"));
      run.op("aten::smooth_l1_loss")
          .in(changed ? predicted : noise, "self")
          .in(changed ? noise : predicted, "target")
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(first_cause(report) == "argument");
  }

  TEST_CASE("another model of the same kind is given, not another parameter found") {
    for (const std::string noise : {"", " and noise"}) {
      CAPTURE(noise);
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        const std::string moved = changed ? noise : "";
        const Tensor own = run.parameter("fc.weight", labelled("trained" + moved));
        const Tensor average = run.parameter("fc.weight", labelled("averaged" + moved));
        run.root("Net").parameters({own});
        run.root("Net#2").parameters({average});
        run.step(0).phase(Phase::eval);
        run.root(changed ? "Net" : "Net#2");
        Tensor x = run.data(labelled("x"));
        for (const std::string layer : {"fc", "fc2"})
          run.module(layer, [&] {
            x = run.op("aten::mm")
                    .in(x, "self")
                    .in(changed ? own : average, "mat2")
                    .out(labelled(layer + (changed ? "b" : "a")));
          });
      });
      const auto found = std::find_if(
          report.findings.begin(), report.findings.end(),
          [](const Finding& finding) { return finding.kind == FindingKind::arguments; });
      REQUIRE(found != report.findings.end());
      CHECK(found->arguments.at(0).reference == "fc.weight of Net#2");
      CHECK(found->arguments.at(0).candidate == "fc.weight of Net");
      CHECK(report.findings.size() == (noise.empty() ? 1 : 3));
      CHECK(report.coverage.roots == 2);
    }
  }

  TEST_CASE("a parameter that both runs have is another one also where the step has not met it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor first = run.parameter("experts.0.weight", labelled("first"));
      const Tensor second = run.parameter("experts.1.weight", labelled("second"));
      run.parameters({first, second});
      run.step(0).phase(Phase::forward);
      run.module("experts", [&] {
        run.op("aten::mm")
            .in(run.data(labelled("x")), "self")
            .in(changed ? second : first, "mat2")
            .out(labelled(changed ? "b" : "a"));
      });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].arguments.at(0).candidate == "experts.1.weight");
  }

  TEST_CASE(
      "what setup made in a different order of operands is no difference if the result is not") {
    const auto compared = [](std::string_view result) {
      return report_of([result](RunBuilder& run, bool changed) {
        run.phase(Phase::setup);
        const Tensor a = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("a"));
        const Tensor b = run.op("aten::sin").in(run.data(labelled("x"))).out(labelled("b"));
        run.step(0).phase(Phase::data);
        run.op("aten::mul")
            .in(changed ? b : a)
            .in(changed ? a : b)
            .out(labelled(changed ? result : "a b"));
        run.leaves({a, b});
      });
    };
    CHECK(compared("a b").verdict == Verdict::identical);
    CHECK(compared("b a").verdict == Verdict::diverged);
  }
}
