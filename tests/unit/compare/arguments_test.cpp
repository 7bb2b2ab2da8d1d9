#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

TEST_SUITE("arguments") {
  TEST_CASE("another argument is named with both values") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.composite("aten::layer_norm", [&](EventBuilder& outer) {
        outer.in(x, "input").arg("eps", changed ? 1e-6 : 1e-5);
        return run.op("aten::native_layer_norm")
            .in(x, "input")
            .arg("eps", changed ? 1e-6 : 1e-5)
            .out(labelled(changed ? "b" : "a"));
      });
    });
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.kind == FindingKind::arguments);
    CHECK(finding.op == "aten::layer_norm");
    REQUIRE(finding.arguments.size() == 1);
    CHECK(finding.arguments[0].name == "eps");
    CHECK(finding.arguments[0].reference == "1e-05");
    CHECK(finding.arguments[0].candidate == "1e-06");
    CHECK(cause_ids(report) == "argument");
  }

  TEST_CASE("running statistics that an inner op writes belong to the outer op") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor mean = run.buffer("bn1.running_mean", labelled("m"));
      run.composite("aten::batch_norm", [&](EventBuilder& outer) {
        outer.in(x, "input").in(mean, "running_mean").arg("momentum", changed ? 0.2 : 0.1);
        EventBuilder inner = run.op("aten::native_batch_norm");
        inner.in(x).in(mean).arg("momentum", changed ? 0.2 : 0.1);
        const Tensor y = inner.out(labelled("y"));
        inner.writes(mean, labelled(changed ? "m2" : "m1"));
        return y;
      });
      run.phase(Phase::eval);
      run.op("aten::batch_norm").in(x).in(mean).out(labelled(changed ? "e2" : "e1"));
    });
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.kind == FindingKind::arguments);
    CHECK(finding.op == "aten::batch_norm");
    CHECK(finding.tensors.back().name == "bn1.running_mean");
    CHECK(finding.tensors.back().role == Role::mutated);
    CHECK_FALSE(finding.tensors.back().equal);
    CHECK(cause_ids(report) == "argument, buffer-update");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("an argument diverges even where the results are equal") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::clamp").in(x).arg("max", changed ? 9.0 : 8.0).out(labelled("y"));
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.findings.at(0).kind == FindingKind::arguments);
  }

  TEST_CASE("one setting of a program that averages its parameters is one finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      for (const std::string name : {"a", "b", "c"}) {
        const Tensor average = run.data(labelled(name));
        run.op("aten::mul_")
            .in(average, "self")
            .arg("other", changed ? 0.95 : 0.99)
            .writes(average, labelled(name + (changed ? "2" : "1")));
      }
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(has(notes_of(report.findings[0]), "the same at 2 more ops in this step"));
  }

  TEST_CASE("what backward is given of its forward op is no setting of its own") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const double limit = changed ? 1e-6 : 1e-12;
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const std::uint64_t forward = run.next_position();
      run.op("aten::clamp_min").in(x).arg("min", limit).out(labelled("clamped"));
      run.backward(true);
      run.node("ClampMinBackward0", forward,
               [&] { run.op("aten::ge").in(x).arg("other", limit).out(labelled("mask")); });
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].op == "aten::clamp_min");
  }

  TEST_CASE("a number written as an integer is the same where the results are") {
    const auto report_with = [](const char* result) {
      return report_of([result](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        EventBuilder op = run.op("aten::norm");
        op.in(run.data(labelled("x")));
        if (changed)
          op.arg("p", 2);
        else
          op.arg("p", 2.0);
        (void)op.out(labelled(changed ? result : "y"));
      });
    };
    CHECK(report_with("y").findings.empty());
    CHECK(report_with("z").findings.at(0).kind == FindingKind::arguments);
  }

  TEST_CASE("training mode that differs is a mode") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::dropout")
          .in(x)
          .arg("p", 0.5)
          .arg("train", !changed)
          .out(labelled(changed ? "b" : "a"));
    });
    CHECK(cause_ids(report) == "mode, argument");
  }

  TEST_CASE("a number that travels as a tensor is an argument") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::mul")
          .in(x, "self")
          .in_number(changed ? 0.5 : 0.25)
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    REQUIRE(report.findings[0].arguments.size() == 1);
    CHECK(report.findings[0].arguments[0].name == "other");
    CHECK(report.findings[0].arguments[0].reference == "0.25");
    CHECK(report.findings[0].arguments[0].candidate == "0.5");
  }

  TEST_CASE("a whole number in one run and a fraction in the other one are different arguments") {
    const auto divided_by = [](double other) {
      return report_of([other](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        EventBuilder div = run.op("aten::div");
        div.in(x, "self");
        if (changed)
          div.in_number(other);
        else
          div.in_number(2, Dtype::int64);
        const bool same = other == 2;
        div.out(labelled(changed && !same ? "b" : "a"));
      });
    };
    const Report report = divided_by(2.5);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    REQUIRE(report.findings[0].arguments.size() == 1);
    CHECK(report.findings[0].arguments[0].reference == "2");
    CHECK(report.findings[0].arguments[0].candidate == "2.5");
    CHECK(report.causes[0].id == "argument");
    CHECK(divided_by(2).findings.empty());
  }

  TEST_CASE("a different setting is a finding even where the op's inputs differ already") {
    const auto program = [](std::string_view name, double one, double other) {
      return [=](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        const Tensor y = run.op("aten::mm").in(x).out(labelled(changed ? "b" : "a"));
        run.op("aten::layer_norm")
            .in(y)
            .arg(name, changed ? other : one)
            .out(labelled(changed ? "d" : "c"));
      };
    };
    const Report written = report_of(program("eps", 1e-5, 1e-6));
    REQUIRE(diverging(written) == 2);
    CHECK(written.findings[1].kind == FindingKind::arguments);
    CHECK(written.findings[1].arguments.front().reference == "1e-05");
    CHECK(diverging(report_of(program("ord", 2, 1))) == 2);
    CHECK(diverging(report_of(program("other", 2, 3))) == 2);
    CHECK(diverging(report_of(program("count", 12, 13))) == 1);
  }

  TEST_CASE("a number computed apart is told where what the op reads differs already") {
    const auto findings = [](double read, double reference, double candidate) {
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const std::string noise = changed ? " and noise" : "";
        const Tensor x = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y" + noise));
        run.op("aten::item").in(x).result(changed ? read : 0.25);
        run.op("aten::div")
            .in(x)
            .arg("other", changed ? candidate : reference)
            .out(labelled("z" + noise));
      });
      return diverging(report);
    };
    CHECK(findings(0.25, 0.1, 0.18999999999999995) == 2);
    CHECK(findings(0.25, 0.18999999999999995, 0.19000000000000003) == 1);  // rounding
    // It may follow from a number that was read.
    CHECK(findings(0.25000003, 0.2711111111111111, 0.18999999999999995) == 1);
  }

  TEST_CASE("a number that travels as a tensor is told where what the op reads differs already") {
    const auto program = [](double other) {
      return [other](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        const std::string noise = changed ? " and noise" : "";
        const Tensor x = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y" + noise));
        run.op("aten::mul")
            .in(x, "self")
            .in_number(changed ? other : 0.25)
            .out(labelled("z" + noise));
      };
    };
    CHECK(diverging(report_of(program(0.25))) == 1);
    const Report report = report_of(program(0.5));
    REQUIRE(diverging(report) == 2);
    CHECK(report.findings[1].kind == FindingKind::arguments);
    CHECK(report.findings[1].arguments.at(0).candidate == "0.5");
  }

  TEST_CASE("a setting that the optimizer applies to every parameter is one finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor g = run.data(labelled("g"));
      run.op("aten::exp").in(g).out(labelled("e"));
      run.backward(false);
      for (int k = 0; k < 3; ++k) {
        const std::string n = std::to_string(k);
        const Tensor w = run.parameter("p" + n, labelled("w" + n));
        run.op("aten::add_")
            .in(w)
            .in(g)
            .arg("alpha", changed ? -0.11 : -0.1)
            .writes(w, labelled((changed ? "b" : "a") + n));
      }
    });
    CHECK(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
  }

  TEST_CASE("what is read through a view of other elements follows from the view's argument") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor all = run.data(labelled("samples", 8));
      const Tensor one = run.view(all, {4}, {1}, changed ? 4 : 0);
      run.op("aten::select")
          .given(all, slot_flag::metadata_only)
          .arg("index", changed ? 1 : 0)
          .returns_view(one);
      run.op("aten::mm").in(one).out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::select");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE(
      "so does what is read through it after the whole has been read, and through its views") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      const Tensor all = run.op("aten::rand").out(labelled("samples", 12));
      std::vector<Tensor> rows;
      for (const int row : {changed ? 2 : 0, 1, changed ? 0 : 2}) {
        const Tensor one = run.view(all, {4}, {1}, 4 * row);
        run.op("aten::select").in(all).arg("index", row).returns_view(one);
        rows.push_back(run.view(all, {1, 4}, {4, 1}, 4 * row));
        run.op("aten::unsqueeze").given(one, slot_flag::metadata_only).returns_view(rows.back());
      }
      EventBuilder cat = run.op("aten::cat");
      for (const Tensor& row : rows) cat.in(row);
      cat.out(labelled(changed ? "c b a" : "a b c", 12));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::select");
  }

  TEST_CASE("a constant that differs in several modules is one finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      for (const std::string name : {"norm1", "norm2"})
        run.module(name, [&] {
          run.op("aten::layer_norm")
              .in(run.data(labelled("x " + name)))
              .arg("eps", changed ? 1e-6 : 1e-5)
              .out(labelled(name + (changed ? " b" : " a")));
        });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(has(notes_of(report.findings[0]), "the same at 1 more op in this step"));
  }

  TEST_CASE("a module's mode is one finding, with the batches that it counts") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor counted = run.buffer("bn.num_batches_tracked", labelled("0"));
      const Tensor x = run.data(labelled("x"));
      run.module("bn", [&] {
        if (!changed) run.op("aten::add_").in(counted).writes(counted, labelled("1"));
        run.op("aten::batch_norm")
            .in(x)
            .arg("training", changed ? 0 : 1)
            .out(labelled(changed ? "b" : "a"));
      });
    });
    CHECK(report.findings.size() == 1);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::batch_norm");
  }

  TEST_CASE("what backward does for an op with other arguments follows from those") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const std::uint64_t loss = run.next_position();
      const Tensor y = run.op("aten::mse_loss")
                           .in(x)
                           .arg("reduction", changed ? 2 : 1)
                           .out(labelled(changed ? "b" : "a"));
      run.backward(true);
      run.node("MseLossBackward0", loss, [&] {
        run.op("aten::sub").in(x).out(labelled("d"));
        if (!changed) run.op("aten::div").in(run.data(labelled("g"))).out(labelled("q"));
      });
      run.op("aten::mm").in(y).out(labelled(changed ? "d" : "c"));
    });
    CHECK(diverging(report) == 1);
    CHECK(report.findings.size() == 1);
  }

  TEST_CASE("code that prepares data says the same thing once") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      for (int k = 0; k < 4; ++k)
        run.op("aten::scalar_tensor")
            .arg("s", changed ? 10 + k : k)
            .out(labelled((changed ? "b" : "a") + std::to_string(k)));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(has(notes_of(report.findings[0]), "the same at 3 more ops in this step"));
  }

  TEST_CASE("a number that was read from a differing tensor is propagated") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor n = run.op("aten::linalg_norm").in(x).out(labelled(changed ? "n2" : "n1"));
      run.op("aten::item").in(n).result(changed ? 0.5 : 0.25);
      const Tensor g = run.data(labelled("g"));
      run.op("aten::mul")
          .in(g)
          .arg("other", changed ? 0.5 : 0.25)
          .out(labelled(changed ? "b" : "a"));
      run.op("aten::div")
          .in(g)
          .arg("other", changed ? 0.6180339887498949 : 0.7320508075688772)
          .out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::linalg_norm");
    CHECK(report.propagated.events == 3);
  }

  TEST_CASE("a setting in short decimals is its own finding after numbers differ") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor n = run.op("aten::linalg_norm").in(x).out(labelled(changed ? "n2" : "n1"));
      run.op("aten::item").in(n).result(changed ? 0.5 : 0.25);
      const Tensor g = run.data(labelled("g"));
      run.op("aten::add")
          .in(g)
          .arg("alpha", changed ? 0.02 : 0.01)
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[1].kind == FindingKind::arguments);
    REQUIRE(find_cause(report, "argument") != nullptr);
    CHECK(find_cause(report, "argument")->confidence == Confidence::certain);
  }

  TEST_CASE("a count that differs after numbers differ may follow from them") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor n = run.op("aten::linalg_norm").in(x).out(labelled(changed ? "n2" : "n1"));
      run.op("aten::item").in(n).result(changed ? 0.5 : 0.25);
      run.op("aten::roll")
          .in(run.data(labelled("g")))
          .arg("shifts", changed ? 7 : 10)
          .out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[1].kind == FindingKind::arguments);
    REQUIRE(find_cause(report, "argument") != nullptr);
    CHECK(find_cause(report, "argument")->confidence == Confidence::possible);
    CHECK_FALSE(find_cause(report, "argument")->against.empty());
  }

  TEST_CASE("an optional tensor that one run lacks is an argument") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor b = run.parameter("fc.bias", labelled("b"));
      EventBuilder linear = run.op("aten::linear");
      linear.in(x, "input");
      if (changed)
        linear.in_none("bias");
      else
        linear.in(b, "bias");
      linear.out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].arguments.at(0).candidate == "None");
  }

  TEST_CASE("another device alone never diverges") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      run.op("aten::ones").device_arg("device", changed ? 1 : 0).out(labelled("y"));
    });
    CHECK(report.verdict == Verdict::identical);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::metadata);
    CHECK_FALSE(report.findings[0].diverges);
  }

  TEST_CASE("a module that is called again in a step has its setting still") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      for (const std::string name : {"a", "b", "c"})
        run.module("norm", [&] {
          run.op("aten::layer_norm")
              .in(run.data(labelled(name)))
              .arg("eps", changed ? 1e-6 : 1e-5)
              .out(labelled(name + (changed ? "2" : "1")));
        });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(has(notes_of(report.findings[0]), "the same at 2 more ops in this step"));
  }

  TEST_CASE("a setting of an update that a program makes itself is one finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.without_optimizer().step(0).phase(Phase::optimizer);
      for (const std::string name : {"a", "b"})
        run.op("aten::div")
            .in(run.data(labelled(name)))
            .arg("other", changed ? 1.0 : 0.5)
            .out(labelled(name + (changed ? "2" : "1")));
    });
    CHECK(report.findings.size() == 1);
  }

  TEST_CASE("the mode of all modules is told once, also where what they read differs already") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      Tensor x = run.op("aten::exp").out(labelled(changed ? "b" : "a"));
      for (const std::string module : {"drop1", "drop2", "drop3"})
        run.module(module, [&] {
          x = run.op("aten::dropout")
                  .in(x, "input")
                  .arg("train", changed)
                  .out(labelled(module + (changed ? "2" : "1")));
        });
    });
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[1].kind == FindingKind::arguments);
    CHECK(find_cause(report, "mode") != nullptr);
  }

  TEST_CASE("sizes that differ already explain what is made of these sizes, and no other") {
    const auto program = [](std::int64_t size) {
      return [size](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const std::int64_t rows = changed ? 9 : 8;
        const auto count = static_cast<std::size_t>(rows);
        run.op("aten::exp")
            .in(run.data(labelled(changed ? "y" : "x", count)))
            .out(labelled(changed ? "b" : "a", count));
        run.op("aten::zeros")
            .arg("size", std::vector<std::int64_t>{changed ? size : 8, 4})
            .out(labelled(changed ? "d" : "c", 4));
      };
    };
    const Report same = report_of(program(9));
    REQUIRE(same.findings.size() == 1);
    CHECK(same.findings[0].kind == FindingKind::metadata);
    CHECK(diverging(report_of(program(12))) == 2);
  }

  TEST_CASE("a dimension that is counted from the end is no other one") {
    const auto verdict = [](int reference, int candidate) {
      return report_of([&](RunBuilder& run, bool changed) {
               run.step(0).phase(Phase::forward);
               const Tensor x = run.data({{2, 2}, {1, 2, 3, 4}});
               run.op("aten::softmax")
                   .in(x)
                   .arg("dim", changed ? candidate : reference)
                   .out({{2, 2}, {5, 6, 7, 8}});
             })
          .verdict;
    };
    CHECK(verdict(1, -1) == Verdict::identical);
    CHECK(verdict(-2, 0) == Verdict::identical);
    CHECK(verdict(0, -1) == Verdict::diverged);
    CHECK(verdict(-1, -2) == Verdict::diverged);
  }

  TEST_CASE("a dimension that is counted from the end is no reason for other results") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data({{2, 2}, {1, 2, 3, 4}});
      run.op("aten::sum").in(x).arg("dim", changed ? -1 : 1).out(labelled(changed ? "b" : "a", 2));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::origin);
  }

  TEST_CASE("a dimension that an op adds is counted from the end of what it gives") {
    const auto verdict = [](int candidate) {
      return report_of([&](RunBuilder& run, bool changed) {
               run.step(0).phase(Phase::forward);
               const Tensor x = run.data({{1, 1}, {1}});
               run.op("aten::stack")
                   .in(x)
                   .arg("dim", changed ? candidate : 2)
                   .out({{1, 1, 1}, {1}});
             })
          .verdict;
    };
    CHECK(verdict(-1) == Verdict::identical);
    CHECK(verdict(0) == Verdict::diverged);
  }

  TEST_CASE("the same number is another one where it counts no dimensions") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data({{2, 2}, {1, 2, 3, 4}});
      run.op("aten::triu").in(x).arg("diagonal", changed ? -1 : 1).out({{2, 2}, {0, 0, 0, 0}});
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("dimensions are counted in the longest shape, those of backward in what it returns") {
    const auto verdict = [](std::string_view op, std::string_view name, int reference,
                            int candidate, const Values& other, const Values& made) {
      return report_of([&](RunBuilder& run, bool changed) {
               run.step(0).phase(Phase::forward);
               const Tensor x = run.data({{1}, {1}});
               run.op(op)
                   .in(x)
                   .in(run.data(other))
                   .arg(name, changed ? candidate : reference)
                   .out(made);
             })
          .verdict;
    };
    const Values longer({1, 1, 1}, {2});
    const Values shorter({1, 1}, {3});
    CHECK(verdict("aten::cosine_similarity", "dim", 2, -1, longer, shorter) == Verdict::identical);
    CHECK(verdict("aten::cosine_similarity", "dim", 1, -1, longer, shorter) == Verdict::diverged);
    CHECK(verdict("aten::unfold_backward", "dim", 1, -1, longer, shorter) == Verdict::identical);
    CHECK(verdict("aten::unfold_backward", "dim", 2, -1, longer, shorter) == Verdict::diverged);
    CHECK(verdict("aten::diag_embed", "dim2", 2, -1, shorter, longer) == Verdict::identical);
  }

  TEST_CASE("a generator of one overload's own matters, whatever is drawn") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      EventBuilder rand = run.op("aten::rand");
      if (changed) rand.overload("generator").arg("generator", 1);
      rand.out(labelled("drawn"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].arguments.at(0).name == "generator");
  }

  TEST_CASE("a position that is counted from the end, or lies beyond it, is no other one") {
    const auto verdict = [](const std::string& name, int reference, int candidate, int end_dim) {
      return report_of([&](RunBuilder& run, bool changed) {
               run.step(0).phase(Phase::forward);
               const Tensor gradient = run.data({{2, 1}, {1, 2}});
               run.op("aten::slice_backward")
                   .in(gradient)
                   .arg("dim", changed ? end_dim : 1)
                   .arg(name, changed ? candidate : reference)
                   .out({{2, 4}, {0, 1, 0, 0, 0, 2, 0, 0}});
             })
          .verdict;
    };
    CHECK(verdict("end", -2, 2, 1) == Verdict::identical);
    CHECK(verdict("end", 4, 9, -1) == Verdict::identical);
    CHECK(verdict("start", 0, -9, 1) == Verdict::identical);
    CHECK(verdict("index", 1, -3, 1) == Verdict::identical);
    CHECK(verdict("end", 2, 3, 1) == Verdict::diverged);
    CHECK(verdict("step", -2, 2, 1) == Verdict::diverged);
  }

  TEST_CASE("a size that is inferred is no other one") {
    const auto verdict = [](std::vector<std::int64_t> candidate) {
      return report_of([&](RunBuilder& run, bool changed) {
               run.step(0).phase(Phase::forward);
               const Tensor x = run.data({{4}, {1, 2, 3, 4}});
               run.op("aten::reshape")
                   .in(x)
                   .arg("shape", changed ? candidate : std::vector<std::int64_t>{2, 2})
                   .out({{2, 2}, {1, 2, 3, 4}});
             })
          .verdict;
    };
    CHECK(verdict({-1, 2}) == Verdict::identical);
    CHECK(verdict({2, -1}) == Verdict::identical);
    CHECK(verdict({4}) == Verdict::diverged);
  }

  TEST_CASE("whatever leads to the same view is no other argument") {
    const auto findings = [](std::int64_t offset, int stride) {
      return report_of([&](RunBuilder& run, bool changed) {
               run.step(0).phase(Phase::forward);
               const Tensor x = run.data({{2, 2}, {1, 1, 1, 1}});
               const Tensor row = run.view(x, {2}, {changed ? stride : 1}, changed ? offset : 2);
               EventBuilder flatten = run.op("aten::flatten");
               flatten.in(x).arg("start", changed ? 7 : 3);
               flatten.calls(
                   [&] { run.op("aten::view").flag(event_flag::view).in(x).returns_view(row); });
               flatten.returns(row, slot_flag::view);
               run.op("aten::exp").in(row).out(labelled("y"));
             })
          .findings.size();
    };
    CHECK(findings(2, 1) == 0);
    CHECK(findings(0, 1) == 1);
    CHECK(findings(2, -1) == 1);
  }

  TEST_CASE("an op that returns no tensor leads to no view") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.op("aten::allclose").in(x).arg("rtol", changed ? 0.5 : 0.25).result(1);
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("arguments of two overloads are compared by name") {
    const auto found = [](std::string_view dtype, std::string_view made) {
      return report_of([&](RunBuilder& run, bool changed) {
               run.step(0).phase(Phase::forward);
               const Tensor x = run.data(labelled("x"));
               EventBuilder to = run.op("aten::to");
               to.in(x).overload(changed ? "dtype_layout" : "dtype");
               if (changed) to.arg("layout", "strided");
               to.arg("dtype", changed ? dtype : "float32");
               if (!changed) to.arg("copy", false);
               to.out(labelled(changed ? made : "made"));
             })
          .findings;
    };
    CHECK(found("float32", "made").empty());
    REQUIRE(found("float64", "made").size() == 1);
    CHECK(found("float64", "made")[0].arguments.size() == 1);
    REQUIRE(found("float32", "otherwise").size() == 1);
    CHECK(found("float32", "otherwise")[0].arguments.size() == 2);
  }
}
