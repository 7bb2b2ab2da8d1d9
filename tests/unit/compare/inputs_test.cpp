#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

struct Copied {
  Tensor original;
  Tensor copy;
};

/// A tensor and its copy; the changed program has the original in place of the copy.
Copied with_copy(RunBuilder& run, bool changed) {
  const Tensor original = run.op("aten::rand").out(labelled("x"));
  return {original, changed ? original : run.op("aten::clone").in(original).out(labelled("x"))};
}

}  // namespace

TEST_SUITE("inputs") {
  TEST_CASE("a batch that no op produced is data") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      for (int step = 0; step < 3; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled((changed ? "b" : "a") + std::to_string(step)));
        run.op("aten::mm")
            .in(x, "self")
            .out(labelled((changed ? "d" : "c") + std::to_string(step)));
      }
    });
    REQUIRE(report.verdict == Verdict::diverged);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(report.findings[0].op == "aten::mm");
    CHECK(cause_ids(report) == "data-content, data-order");
    CHECK(has(notes_of(report.findings[0]), "again in steps 1 - 2"));
  }

  TEST_CASE("what differs for another reason does not come from outside") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x =
          run.op("aten::exp").in(run.data(labelled("x"))).out(labelled(changed ? "b" : "a"));
      const Tensor index = run.data(labelled(changed ? "j" : "i"));
      run.op("aten::index_select")
          .in(x, "self")
          .in(index, "index")
          .out(labelled(changed ? "d" : "c"));
    });
    const Cause* cause = find_cause(report, "data-content");
    REQUIRE(cause != nullptr);
    CHECK(cause->evidence.at(0) ==
          "index comes from outside of recorded ops and has different contents");
    const auto data =
        std::find_if(report.findings.begin(), report.findings.end(),
                     [](const Finding& finding) { return finding.kind == FindingKind::data; });
    REQUIRE(data != report.findings.end());
    CHECK(data->tensors.at(0).name == "index");
    CHECK(data->tensors.at(1).name == "self");
  }

  TEST_CASE("the same batches in another order are told by their digests") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      for (int step = 0; step < 4; ++step) {
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled("batch" + std::to_string(changed ? 3 - step : step)));
        run.op("aten::mm").in(x).out(labelled((changed ? "d" : "c") + std::to_string(step)));
      }
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(cause_ids(report) == "data-order");
    CHECK(find_cause(report, "data-order")->confidence == Confidence::certain);
  }

  TEST_CASE("batches that the program fills itself are the same ones in another order") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      for (int step = 0; step < 4; ++step) {
        run.step(step).phase(Phase::data);
        const int batch = changed ? 3 - step : step;
        const Tensor x =
            run.op("aten::empty").out_uninitialised(labelled("batch" + std::to_string(batch)));
        run.phase(Phase::forward);
        run.op("aten::embedding")
            .in(x, "indices")
            .out(labelled((changed ? "d" : "c") + std::to_string(step)));
      }
    });
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(first_cause(report) == "data-order");
  }

  TEST_CASE("rows in another order are told by their bytes") {
    const auto program = [](const Values& other) {
      return [other](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::forward);
        const Values rows({3, 2}, {1, 2, 3, 4, 5, 6});
        const Tensor x = run.data(changed ? other : rows);
        run.op("aten::mm").in(x).out(labelled(changed ? "d" : "c"));
      };
    };
    CHECK(first_cause(report_of(program(Values({3, 2}, {5, 6, 1, 2, 3, 4})))) == "data-order");
    CHECK(cause_ids(report_of(program(Values({3, 2}, {6, 5, 1, 2, 3, 4})))) == "data-content");
  }

  TEST_CASE("a parameter that differs at its first use") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor w = run.parameter("fc.weight", labelled(changed ? "w2" : "w1"));
      const Tensor x = run.data(labelled("x"));
      run.op("aten::mm").in(x, "self").in(w, "mat2").out(labelled(changed ? "y2" : "y1"));
      run.op("aten::mm").in(x, "self").in(w, "mat2").out(labelled(changed ? "z2" : "z1"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::parameter);
    CHECK(report.findings[0].tensors[1].name == "fc.weight");
    CHECK(cause_ids(report) == "init");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("a gradient that differs is no parameter") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor gradient = run.data(labelled(changed ? "b" : "a"));
      run.name_storage(gradient, "weight.grad", slot_flag::gradient);
      run.step(0).phase(Phase::optimizer);
      run.op("aten::norm").in(gradient).out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(find_cause(report, "init") == nullptr);
  }

  TEST_CASE("a matrix that is imported transposed is no other data") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content().step(kSetup).phase(Phase::setup);
      const Values imported = changed ? Values({2, 2}, {1, 3, 2, 4}) : Values({2, 2}, {1, 2, 3, 4});
      run.op("aten::copy_").in(run.data(imported)).out(imported);
    });
    CHECK(first_cause(report) == "weights");
  }

  TEST_CASE("transposed weights are the same numbers in another order") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.keep_content().step(0).phase(Phase::forward);
      const Tensor w = run.parameter(
          "fc.weight", changed ? Values({2, 2}, {1, 3, 2, 4}) : Values({2, 2}, {1, 2, 3, 4}));
      run.op("aten::mm").in(w).out(labelled(changed ? "y2" : "y1"));
    });
    CHECK(cause_ids(report) == "weights");
  }

  TEST_CASE("a value that changed behind the recorder in one run only is a write") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(2).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor y = run.op("aten::gelu").in(x).out(labelled("y"));
      if (changed) run.overwrite(y, labelled("other"));
      run.op("aten::mm").in(y, "self").out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.kind == FindingKind::write);
    CHECK(finding.op == "aten::mm");
    CHECK(has(notes_of(finding), "self changed in the candidate"));
    CHECK(has(notes_of(finding), "last written by aten::gelu at event 0 (step 2)"));
    CHECK(cause_ids(report) == "external-write");
  }

  TEST_CASE("a change is found through another view by the digest of the last write") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor w = run.op("aten::uniform_").out(Values({2, 2}, {1, 2, 3, 4}));
      if (changed) run.overwrite(w, Values({2, 2}, {1, 2, 3, 5}), /*unnoticed=*/true);
      const Tensor transposed = run.view(w, {2, 2}, {1, 2});
      run.op("aten::addmm").in(transposed, "mat2").out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::write);
    CHECK(has(notes_of(report.findings[0]), "mat2 changed in the candidate"));
    CHECK(first_cause(report) == "external-write");
  }

  TEST_CASE("a buffer refilled behind the recorder in both runs is data") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor batch = run.op("aten::clone").in(x).out(labelled("y"));
      run.overwrite(batch, labelled(changed ? "n2" : "n1"));
      run.op("aten::mm").in(batch).out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(first_cause(report) == "data-content");
  }

  TEST_CASE("what equally started runs write differently past the recorder may be a race") {
    const auto writes = [](const std::string& other_command) {
      return report_of([&](RunBuilder& run, bool changed) {
        run.command({changed ? other_command : "./train"});
        run.step(0).phase(Phase::forward);
        const Tensor sums = run.op("aten::zeros").out(labelled("0"));
        run.overwrite(sums, labelled(changed ? "n2" : "n1"));
        run.op("aten::mm").in(sums).out(labelled(changed ? "b" : "a"));
      });
    };
    const Report report = writes("./train");
    REQUIRE(find_cause(report, "race") != nullptr);
    CHECK(find_cause(report, "race")->confidence == Confidence::possible);
    CHECK(find_cause(writes("./other"), "race") == nullptr);
  }

  TEST_CASE("a changed value that is equal in both runs is no finding") {
    const Report report = report_of([](RunBuilder& run, bool) {
      run.step(0).phase(Phase::forward);
      const Tensor batch = run.op("aten::ones").out(labelled("y"));
      run.overwrite(batch, labelled("n"));
      run.op("aten::mm").in(batch).out(labelled("a"));
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("writing through another view than is read points at an alias") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.op("aten::ones").out(labelled("x", 8));
      const Tensor half = run.view(x, {4}, {1}, 4);
      run.op("aten::add_").in(half).writes(half, labelled("h", 4));
      if (changed) run.overwrite(x, labelled("other", 8));
      run.op("aten::mm").in(x).out(labelled(changed ? "b" : "a"));
    });
    CHECK(cause_ids(report) == "external-write, alias");
  }

  TEST_CASE("memory that nothing wrote is blamed on its reader, naming the op that handed it out") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor buffer =
          run.op("aten::empty").out_uninitialised(labelled(changed ? "garbage 2" : "garbage 1", 8));
      const Tensor half = run.view(buffer, {4}, {1}, 0);
      run.op("aten::fill_").given(half).writes(half, labelled("f", 4), false);
      run.op("aten::addmm").in(buffer, "mat1").out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(report.findings[0].op == "aten::addmm");
    CHECK(has(notes_of(report.findings[0]), "handed out by aten::empty at event 0"));
    CHECK(cause_ids(report) == "uninitialised, data-content");
    CHECK(report.coverage.not_compared.uninitialised == 1);
  }

  TEST_CASE("memory handed out where data is prepared may have been filled by the program") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      const Tensor batch = run.op("aten::empty")
                               .flag(event_flag::factory)
                               .out_uninitialised(labelled(changed ? "b" : "a"));
      run.phase(Phase::forward);
      run.op("aten::mm").in(batch, "self").out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(cause_ids(report) == "data-content, uninitialised, data-order");
  }

  TEST_CASE("memory that torch::tensor() hands out and reads at once is filled by the program") {
    const auto program = [](bool at_once) {
      return [at_once](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor table = run.op("aten::empty")
                                 .flag(event_flag::factory)
                                 .out_uninitialised(labelled(changed ? "b" : "a"));
        if (!at_once) run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
        run.op("aten::to").in(table, "self").out(labelled(changed ? "d" : "c"));
      };
    };
    CHECK(first_cause(report_of(program(true))) == "data-content");
    CHECK(first_cause(report_of(program(false))) == "uninitialised");
  }

  TEST_CASE("memory that nothing wrote means nothing where it is only handed back, as by numpy()") {
    const auto program = [](bool computed, bool filled) {
      return [computed, filled](RunBuilder& run, bool changed) {
        run.phase(Phase::setup);
        const Tensor stage = run.op("aten::empty")
                                 .flag(event_flag::factory)
                                 .out_uninitialised(labelled(changed ? "b" : "a"));
        run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
        if (computed)
          run.op("aten::exp").in(stage).out(labelled(changed ? "d" : "c"));
        else
          run.op("aten::resolve_conj").in(stage).returns_view(stage);
        if (!filled) return;
        run.overwrite(stage, labelled("batch"), /*unnoticed=*/true);
        run.op("aten::neg").in(stage).out(labelled("z"));
      };
    };
    const Report handed_back = report_of(program(false, true));
    CHECK(handed_back.verdict == Verdict::identical);
    CHECK(handed_back.coverage.not_compared.uninitialised == 2);
    CHECK(report_of(program(true, false)).verdict == Verdict::diverged);
    CAPTURE("the program may have filled it before, and shown it");
    CHECK(report_of(program(false, false)).verdict == Verdict::inconclusive);
  }

  TEST_CASE("a list of the same tensors in a different order is data in a different order") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.phase(Phase::setup);
      std::vector<Tensor> samples;
      for (const std::string name : {"a", "b", "c"})
        samples.push_back(
            run.op("aten::tanh").in(run.data(labelled(name))).out(labelled("t" + name)));
      if (changed) std::swap(samples[0], samples[1]);
      run.step(0).phase(Phase::data);
      run.op("aten::stack").in_list(samples, "tensors").out(labelled(changed ? "bac" : "abc"));
      run.op("aten::neg").in(run.data(labelled(changed ? "v" : "u"))).out(labelled("w"));
    });
    CHECK(first_cause(report) == "data-order");
    CHECK(report.causes.front().confidence == Confidence::certain);
  }

  TEST_CASE("memory that ops have written in part, and equally, was written past them") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.phase(Phase::setup);
      const Tensor ring = run.op("aten::zeros").out(labelled("zeros", 8));
      const Tensor slot = run.view(ring, {4}, {1});
      run.step(0).phase(Phase::forward);
      run.op("aten::fill_").given(slot).writes(slot, labelled("row", 4));
      if (changed) run.overwrite(ring, labelled("other", 8), /*unnoticed=*/true);
      run.op("aten::exp").in(ring, "self").out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(first_cause(report) == "external-write");
  }

  TEST_CASE("a buffer of a module that nothing wrote is no data") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.phase(Phase::setup);
      const Tensor buffer = run.op("aten::empty")
                                .flag(event_flag::factory)
                                .out_uninitialised(labelled(changed ? "b" : "a"));
      run.name_storage(buffer, "bias", slot_flag::buffer);
      run.step(0).phase(Phase::forward);
      run.op("aten::add").in(buffer, "other").out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(cause_ids(report) == "uninitialised");
  }

  TEST_CASE("uninitialised memory that is written before it is read is no finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor buffer =
          run.op("aten::empty_like").out_uninitialised(labelled(changed ? "g2" : "g1"));
      run.op("aten::copy_").given(buffer).in(x).writes(buffer, labelled("x"));
      run.op("aten::mm").in(buffer).out(labelled("y"));
    });
    CHECK(report.verdict == Verdict::identical);
  }

  /// An object or a number is made of memory that nothing has written, and a result after it.
  Report placeholder(bool as_object, const std::string& other_result) {
    return report_of([&](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor weight =
          run.op("aten::_empty_affine_quantized").out_uninitialised(labelled(changed ? "b" : "a"));
      if (as_object)
        run.op("quantized::conv2d_prepack").in(weight, "weight").returns_object();
      else
        run.op("aten::item").in(weight, "self").result(1.0);
      run.op("quantized::conv2d")
          .in(run.data(labelled("x")))
          .out(labelled(changed ? other_result : "y"));
    });
  }

  TEST_CASE("an object that is made of uninitialised memory does not diverge") {
    CHECK(placeholder(/*as_object=*/true, "y").verdict == Verdict::identical);
    CHECK(placeholder(/*as_object=*/false, "y").verdict == Verdict::diverged);
  }

  TEST_CASE("an object that is made of uninitialised memory diverges where it is used") {
    const Report report = placeholder(/*as_object=*/true, "z");
    REQUIRE(report.verdict == Verdict::diverged);
    CHECK(report.findings.front().op == "quantized::conv2d");
  }

  TEST_CASE("what an inner op is handed before it writes it is no input") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.composite("aten::mm", [&](EventBuilder& mm) {
        mm.in(x);
        const Tensor y = run.op("aten::empty").out_uninitialised(labelled(changed ? "g2" : "g1"));
        run.op("aten::resolve_conj").in(y).returns_view(y);
        run.op("aten::addmm_").in(y).writes(y, labelled(changed ? "b" : "a"));
        return y;
      });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::origin);
    CHECK(report.findings[0].op == "aten::addmm_");
  }

  /// Gives out the contents of a checkpoint in the order in which its archive holds them.
  void resume(RunBuilder & run, const std::vector<std::string>& order, const std::string& kept) {
    run.step(2).phase(Phase::data);
    std::map<std::string, Tensor> state;
    for (const std::string& name : order) {
      const Tensor empty = run.op("aten::empty").out_uninitialised(Values({0}, {}));
      state[name] = run.data(labelled(name == "kept" ? kept : name, name.size()));
      run.op("aten::set_")
          .in(empty, "self", slot_flag::metadata_only)
          .arg("size", std::vector{static_cast<std::int64_t>(name.size())})
          .returns(state[name], slot_flag::view);
    }
    run.phase(Phase::optimizer);
    for (const std::string name : {"kept", "sum", "average"})
      run.op("aten::sqrt")
          .in(state[name], "self")
          .out(labelled(name == "kept" ? "root of " + kept : "root of " + name, name.size()));
  }

  TEST_CASE("an archive may hold the same tensors in another order in every run") {
    const Report report = report_of(
        [](RunBuilder& run) {
          resume(run, {"kept", "sum", "average"}, "kept");
        },
        [](RunBuilder& run) {
          resume(run, {"average", "kept", "sum"}, "kept");
        });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }

  TEST_CASE("what a checkpoint holds is told by those who read it") {
    const Report report = report_of(
        [](RunBuilder& run) {
          resume(run, {"kept", "sum", "average"}, "kept");
        },
        [](RunBuilder& run) {
          resume(run, {"sum", "average", "kept"}, "changed");
        });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(report.findings[0].op == "aten::sqrt");
  }

  TEST_CASE("what a checkpoint brings back differs for the reason that it differed for before") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Values updated = labelled(changed ? "w2" : "w1");
      run.step(0).phase(Phase::optimizer);
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      run.op("aten::add_").in(w).arg("alpha", changed ? 0.2 : 0.1).writes(w, updated);
      run.step(1).phase(Phase::forward).root("Net#2");
      const Tensor loaded = run.parameter("fc.weight", updated);
      run.op("aten::sqrt").in(loaded, "self").out(labelled(changed ? "r2" : "r1"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::add_");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("what a checkpoint brings back into a model that no op uses follows, too") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Values updated = labelled(changed ? "w2" : "w1");
      run.step(0).phase(Phase::optimizer);
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      run.op("aten::add_").in(w).arg("alpha", changed ? 0.2 : 0.1).writes(w, updated);
      run.step(1).phase(Phase::forward);
      run.op("aten::sqrt").in(run.data(labelled("x"))).out(labelled("y"));
      run.root("Net#2").parameters({run.parameter("fc.weight", updated)});
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::add_");
  }

  TEST_CASE("what reads a part of what an op has left was not written past the ops") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      const Tensor all = run.op("aten::exp").in(run.data(labelled("x", 8))).out(labelled("all", 8));
      const Tensor held = run.op("aten::exp").in(run.data(labelled("h"))).out(labelled("held"));
      const Tensor part = run.view(all, {4}, {1}, 2);
      run.phase(Phase::forward);
      run.op("aten::sqrt").in(changed ? part : held, "self").out(labelled(changed ? "r2" : "r1"));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::sqrt");
    CHECK(std::none_of(report.causes.begin(), report.causes.end(),
                       [](const Cause& cause) { return cause.id == "external-write"; }));
  }

  TEST_CASE("equal numbers that are written to another place differ for the place's reason") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      const Tensor all = run.data(labelled("all", 8));
      const Tensor kept = run.data(labelled("kept", 2));
      const Tensor part = run.view(all, {2}, {1}, changed ? 1 : 4);
      run.op("aten::narrow")
          .given(all, slot_flag::metadata_only)
          .arg("start", std::vector<std::int64_t>{changed ? 1 : 4})
          .returns_view(part);
      run.op("aten::copy_")
          .given(part)
          .in(kept, "src")
          .writes(part, labelled("kept", 2))
          .returns(part);
      run.phase(Phase::forward);
      run.op("aten::sqrt").in(all, "self").out(labelled(changed ? "r2" : "r1"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].op == "aten::narrow");
    CHECK(report.findings[0].diverges);
  }

  TEST_CASE("differences travel through memory written in place") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor sum = run.op("aten::zeros").out(labelled("s"));
      run.op("aten::add_").in(sum).in(x).writes(sum, labelled(changed ? "t2" : "t1"));
      run.op("aten::exp").in(sum).out(labelled(changed ? "u2" : "u1"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::add_");
    CHECK(report.findings[0].tensors.back().role == Role::mutated);
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE(
      "memory that is overwritten before it is read again differs because of the missing copy") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor queue = run.op("aten::rand").out(labelled("old"));
      const Tensor read = changed ? queue : run.op("aten::clone").in(queue).out(labelled("old"));
      run.op("aten::mm").in(read).out(labelled("product"));
      run.op("aten::copy_").in(run.data(labelled("new"))).writes(queue, labelled("new"));
      run.backward(true);
      run.op("aten::mm").in(read).out(labelled(changed ? "b" : "a"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::clone");
    CHECK(find_cause(report, "alias") != nullptr);
  }

  TEST_CASE("what is done to a copy is done to the original in the run that makes none") {
    const auto program = [](bool reads_again) {
      return report_of([reads_again](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::setup);
        const auto [content, target] = with_copy(run, changed);
        run.phase(Phase::forward);
        run.op("aten::mm").in(target).out(labelled("product"));
        run.phase(Phase::optimizer);
        run.op("aten::add_").in(target).writes(target, labelled("y"));
        run.op("aten::neg").in(target).out(labelled("-y"));
        if (!reads_again) return;
        for (const std::string op : {"exp", "sin"})
          run.op("aten::" + op).in(content).out(labelled(op + (changed ? " y" : " x")));
      });
    };
    const Report report = program(true);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::clone");
    REQUIRE(find_cause(report, "alias") != nullptr);
    CHECK(find_cause(report, "alias")->evidence.at(0) ==
          "in the candidate aten::exp reads what aten::add_, event 2, has overwritten; in the "
          "reference that writes the copy");
    CHECK(program(false).verdict == Verdict::identical);
  }

  TEST_CASE("an original differs by a copy only once both have been written") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const auto [content, target] = with_copy(run, changed);
      run.op("aten::mm").in(target).out(labelled("product"));
      run.overwrite(content, labelled(changed ? "z" : "x"));
      run.op("aten::exp").in(content).out(labelled(changed ? "exp z" : "exp x"));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::exp");
    CHECK(find_cause(report, "alias") == nullptr);
  }

  TEST_CASE("what the program writes past ops into the original is no missing copy") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const auto [content, target] = with_copy(run, changed);
      run.op("aten::mm").in(target).out(labelled("product"));
      run.op("aten::add_").in(target).writes(target, labelled("y"));
      if (changed) run.overwrite(content, labelled("z"));
      run.op("aten::exp").in(content).out(labelled(changed ? "exp z" : "exp x"));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::exp");
    CHECK(report.first()->kind == FindingKind::write);
  }

  TEST_CASE("what one run computes alone is no copy of what it happens to equal") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor content = run.op("aten::rand").out(labelled("x"));
      const Tensor target =
          changed ? content : run.op("aten::mul").in(run.data(labelled("p"))).out(labelled("x"));
      run.op("aten::mm").in(target).out(labelled("product"));
      run.op("aten::add_").in(target).writes(target, labelled("y"));
      run.op("aten::exp").in(content).out(labelled(changed ? "exp y" : "exp x"));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::exp");
  }

  TEST_CASE("an original needs a gradient where the copy does in the other run") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Copied made = with_copy(run, changed);
      run.name_storage(made.copy, "", slot_flag::requires_grad);
      for (const Tensor& one : {made.copy, made.original})
        run.op("aten::convolution").in(one).out(labelled("product"));
      run.backward(true);
      run.node("ConvolutionBackward0", 2 + (changed ? 0 : 1), [&] {
        run.op("aten::convolution_backward")
            .in(made.original)
            .arg("output_mask", std::string_view(changed ? "[True, True]" : "[False, True]"))
            .out(labelled(changed ? "gradients" : "gradient"));
      });
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::clone");
    CHECK(report.findings.size() == 1);
  }

  TEST_CASE("an equal rewrite ends what was different in that memory") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const Tensor t = run.op("aten::exp").in(x).out(labelled(changed ? "b" : "a"));
      run.op("aten::zero_").given(t).writes(t, labelled("zero"));
      run.op("aten::sin").in(t).out(labelled("s"));
      if (changed) run.overwrite(t, labelled("other"));
      run.op("aten::cos").in(t).out(labelled(changed ? "d" : "c"));
    });
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[0].kind == FindingKind::origin);
    CHECK(report.findings[1].kind == FindingKind::write);
    CHECK(report.findings[1].op == "aten::cos");
  }

  TEST_CASE("a difference in one half of a storage leaves the other half clean") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor base = run.op("aten::zeros").out(labelled("base", 8));
      const Tensor left = run.view(base, {4}, {1}, 0);
      const Tensor right = run.view(base, {4}, {1}, 4);
      run.op("aten::exp_").in(left).writes(left, labelled(changed ? "b" : "a"));
      if (changed) run.overwrite(right, labelled("other"));
      run.op("aten::sin").in(right).out(labelled(changed ? "d" : "c"));
      run.op("aten::cos").in(left).out(labelled(changed ? "f" : "e"));
    });
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[0].op == "aten::exp_");
    CHECK(report.findings[1].kind == FindingKind::write);
    CHECK(report.findings[1].op == "aten::sin");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("a parameter that an optimizer step left different is propagated to the next step") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor w = run.parameter("fc.weight", labelled("w"));
      for (int step = 0; step < 3; ++step) {
        const std::string tag = (changed ? "b" : "a") + std::to_string(step);
        run.step(step).phase(Phase::forward);
        const Tensor x = run.data(labelled("x" + std::to_string(step)));
        run.op("aten::mm").in(x).in(w).out(step == 0 ? labelled("y") : labelled("y" + tag));
        run.backward(true);
        const Tensor g = run.op("aten::mm").in(x).out(labelled("g" + tag));
        run.backward(false);
        run.op("aten::add_").in(w).in(g).writes(w, labelled("w" + tag));
      }
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].phase == Phase::backward);
    CHECK(report.findings[0].step == 0);
    CHECK(report.propagated.steps == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 2}});
    CHECK(has(notes_of(report.findings[0]), "again in steps 1 - 2"));
  }

  TEST_CASE("what the program itself reads between the calls of a model is told once in a step") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      for (const std::string name : {"a", "b", "c"})
        run.op("aten::clone")
            .in(run.data(labelled(name + (changed ? "2" : "1"))), "self")
            .out(labelled("copy of " + name + (changed ? "2" : "1")));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::data);
    CHECK(has(notes_of(report.findings[0]), "the same at 2 more ops in this step"));
  }

  TEST_CASE("numbers that the program has read, and collects, follow from where it read them") {
    const auto program = [](double collected) {
      return [collected](RunBuilder& run, bool changed) {
        run.keep_content().step(0).phase(Phase::eval);
        const Tensor loss =
            run.op("aten::mse_loss").in(run.data({1, 2})).out({changed ? 0.75 : 0.5});
        run.op("aten::item").in(loss).result(changed ? 0.75 : 0.5);
        const Tensor losses = run.op("aten::zeros").out({0});
        const Tensor number = run.data({changed ? collected : 0.5});
        run.op("aten::copy_").in(number).given(losses).writes(losses, {changed ? collected : 0.5});
      };
    };
    CHECK(report_of(program(0.75)).findings.size() == 1);
    const Report other = report_of(program(0.625));
    REQUIRE(other.findings.size() == 2);
    CHECK(other.findings[1].kind == FindingKind::data);
    CHECK(other.findings[1].op == "aten::copy_");
  }

  TEST_CASE("memory that nothing has filled means nothing to an op that fills a part of it") {
    const auto program = [](const char* left, const char* other_left, bool gives_other = false) {
      return report_of([=](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor buffer =
            run.op("aten::empty")
                .out_uninitialised(changed ? labelled("garbage") : labelled("rubbish"));
        const Tensor given = run.data(labelled(changed && gives_other ? "other" : "given"));
        run.op("aten::index_put_")
            .in(buffer)
            .in(given)
            .fills_part(buffer, labelled(changed ? other_left : left));
        run.op("aten::relu").in(buffer).out(labelled(changed ? other_left : left));
      });
    };
    CHECK(program("all", "all").verdict == Verdict::identical);
    const Report half = program("half and rubbish", "half and garbage");
    REQUIRE(half.first() != nullptr);
    CHECK(half.first()->op == "aten::relu");
    CHECK(first_cause(half) == "uninitialised");
    const Report other = program("all", "other", true);
    REQUIRE(other.findings.size() == 1);
    CHECK(other.first()->op == "aten::index_put_");
  }
}
