#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/run_builder.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// One update of a parameter; what comes after it is up to `end`.
Report ending(const std::function<void(RunBuilder&, const Tensor& weight, bool changed)>& end) {
  return report_of([&](RunBuilder& run, bool changed) {
    const Tensor weight = run.parameter("fc.weight", labelled("w"));
    run.step(0).phase(Phase::forward);
    const Tensor x = run.data(labelled("x"));
    run.op("aten::mm").in(x).in(weight).out(labelled("y"));
    run.phase(Phase::optimizer);
    run.op("aten::add_").in(weight).in(x).writes(weight, labelled("w1"));
    end(run, weight, changed);
  });
}

/// A backward pass over the weight that leaves its gradient.
Tensor accumulate(RunBuilder& run, const Tensor& weight, const std::string& content = "gradient") {
  run.backward(true);
  const Tensor gradient = run.op("aten::mm").in(weight).out(labelled(content));
  run.name_storage(gradient, "fc.weight.grad", slot_flag::gradient);
  EventBuilder taken = run.event(EventKind::gradient, "torch::autograd::AccumulateGrad");
  taken.in(gradient).calls(
      [&] { run.op("aten::detach").flag(event_flag::view).in(gradient).returns_view(gradient); });
  taken.returns(gradient);
  run.backward(false);
  return gradient;
}

/// Steps of an optimizer that leave the same in both runs, each with a hyperparameter.
Report stepping(const std::string& name, const std::vector<double>& reference,
                const std::vector<double>& candidate) {
  return ending([&](RunBuilder& run, const Tensor& weight, bool changed) {
    for (const double value : changed ? candidate : reference)
      run.event(EventKind::optimizer, "SGD::step").arg(name, value).calls([&] {
        run.op("aten::add_")
            .flag(event_flag::in_optimizer)
            .in(weight)
            .writes(weight, labelled("w2"));
      });
    run.leaves({weight});
  });
}

bool says(const Report& report, std::string_view words) {
  return report.summary.find(words) != std::string::npos;
}

}  // namespace

TEST_SUITE("outcomes") {
  TEST_CASE("an update that nobody reads any more diverges by what it leaves") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) run.op("aten::clamp_").in(weight).writes(weight, labelled("clamped"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::sequence);
    CHECK(report.first()->op == "aten::clamp_");
  }

  TEST_CASE("an update that leaves the same is a harmless rewrite") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) run.op("aten::mul_").in(weight).writes(weight, labelled("w1"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.outcomes == 1);
    REQUIRE(report.causes.size() == 1);
    CHECK(report.causes[0].id == "harmless-rewrite");
  }

  TEST_CASE("without what the runs left, ops of one run alone are not called harmless") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) run.op("aten::mul_").in(weight).writes(weight, labelled("w1"));
      run.without_outcomes();
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "was not recorded"));
    CHECK_FALSE(report.coverage.outcomes_recorded);
  }

  TEST_CASE("a write after the last op is a finding of its own") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) run.overwrite(weight, labelled("by hand"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::write);
    CHECK(report.first()->tensors.at(0).name == "fc.weight");
  }

  TEST_CASE("a write after the last op may be one of both runs where one frees the memory unseen") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor held = run.op("aten::relu").in(weight).out(labelled("held"));
      run.op("aten::mul").in(weight).out(labelled("made"));
      if (changed) {
        run.op("aten::sum").in(held).out(labelled("sum"));
        return run.leaves({weight}, {held});
      }
      run.overwrite(held, labelled("by hand"));
      run.leaves({weight, held});
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(diverging(report) == 0);
  }

  TEST_CASE("tensors that begin alike may end with each other's content, if no op reads that") {
    for (const bool read : {false, true}) {
      const Report report = ending([&](RunBuilder& run, const Tensor& weight, bool changed) {
        std::vector<Tensor> kept;
        for (int k = 0; k < 2; ++k)
          kept.push_back(run.op("aten::zeros").flag(event_flag::factory).out(labelled("0")));
        for (const std::size_t k : {0U, 1U}) {
          const Values content = labelled(k == 0 ? "one" : "two");
          const Tensor made = run.op(k == 0 ? "aten::relu" : "aten::exp").in(weight).out(content);
          const Tensor& target = kept[changed ? 1 - k : k];
          run.op("aten::copy_").in(made).writes(target, content);
          if (read) run.op("aten::neg").in(target).out(labelled("neg " + std::to_string(k)));
        }
        run.leaves({weight, kept[0], kept[1]});
      });
      CAPTURE(report.summary);
      CHECK(report.verdict == (read ? Verdict::identical : Verdict::inconclusive));
      CHECK(says(report, "2 tensors that began alike") == !read);
    }
  }

  TEST_CASE("a tensor that takes another one's place is left in its stead") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor held = run.op("aten::relu").in(weight).out(labelled("held"));
      const Tensor other = changed ? run.op("aten::mul").in(held).out(labelled("scaled")) : held;
      run.leaves({weight, other});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::mul");
  }

  TEST_CASE("a tensor more that no op has read is an outcome that the other run lacks") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      if (changed) left.push_back(run.op("aten::relu").in(weight).out(labelled("more")));
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::relu");
  }

  TEST_CASE("what one run has more of at its end diverges where that happens first") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      for (const int step : {1, 2}) {
        run.step(step).phase(Phase::backward);
        const std::string at = std::to_string(step);
        if (changed) left.assign({weight, run.op("aten::relu").in(weight).out(labelled("g" + at))});
        run.op("aten::neg").in(weight).out(labelled("n" + at));
      }
      run.leaves(left);
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::relu");
    CHECK(report.first()->step == 1);
  }

  TEST_CASE("what the last op made and the program let go of may have been used or not") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> freed;
      if (changed) freed.push_back(run.op("aten::relu").in(weight).out(labelled("more")));
      run.leaves({weight}, freed);
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "leaves 1 tensor"));
  }

  TEST_CASE("data that a tensor was given last counts, though the check before it has read it") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> freed;
      if (changed) {
        freed.push_back(run.op("aten::mul").in(weight).out(labelled("more")));
        run.op("aten::_has_compatible_shallow_copy_type").in(weight).in(freed.back());
      }
      run.leaves({weight}, freed);
    });
    CHECK(report.verdict ==
          Verdict::diverged);  // an op came after it: it was not let go of at once
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::mul");
  }

  TEST_CASE("what one run wrote past ops into memory that its own op made is an outcome") {
    const auto program = [](bool writes) {
      return ending([writes](RunBuilder& run, const Tensor& weight, bool changed) {
        const Tensor held =
            run.op(changed ? "aten::abs" : "aten::relu").in(weight).out(labelled("h"));
        run.op("aten::neg").in(held).out(labelled("-h"));
        if (changed && writes) run.overwrite(held, labelled("z"));
        run.leaves({weight, held});
      });
    };
    CHECK(program(true).verdict != Verdict::identical);
    CHECK(program(false).verdict == Verdict::identical);
  }

  TEST_CASE("a copy of what the other run leaves is no other outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      if (changed) left.push_back(run.op("aten::clone").in(weight).out(labelled("w1")));
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a copy of what the other run leaves, in memory that no op made, is no other outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      if (changed) {
        const Tensor memory = run.data(labelled("memory"));
        run.op("aten::copy_").in(weight).writes(memory, labelled("w1"));
        left.push_back(memory);
      }
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a copy that takes another tensor's place is another outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor held = run.data(labelled("held"));
      run.op("aten::neg").in(held).out(labelled("read"));
      if (changed) run.op("aten::copy_").in(weight).writes(held, labelled("w1"));
      run.leaves({weight, held});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::copy_");
  }

  TEST_CASE("a tensor that is overwritten while its backup is kept is another outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor average = run.op("aten::neg").in(weight).out(labelled("average"));
      const Tensor held = run.op("aten::relu").in(weight).out(labelled("held"));
      std::vector<Tensor> left{weight, average, held};
      if (changed) {
        left.push_back(run.op("aten::clone").in(held).out(labelled("held")));
        run.op("aten::copy_").in(average).writes(held, labelled("average"));
      }
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a copy of what was there before the end is a tensor more") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      if (changed) left.push_back(run.op("aten::clone").in(weight).out(labelled("w1")));
      run.op("aten::add_").in(weight).writes(weight, labelled("w2"));
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "leaves 1 tensor"));
  }

  TEST_CASE("copies that both keep, of what was there at other times, are two outcomes") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      if (!changed) left.push_back(run.op("aten::clone").in(weight).out(labelled("w1")));
      run.op("aten::add_").in(weight).writes(weight, labelled("w2"));
      if (changed) left.push_back(run.op("aten::clone").in(weight).out(labelled("w2")));
      run.op("aten::add_").in(weight).writes(weight, labelled("w3"));
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::clone");
  }

  TEST_CASE("a number negated twice is a copy of what the other run leaves") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      if (changed) {
        const Tensor negative = run.op("aten::neg").in(weight).out(labelled("-w1"));
        left.push_back(run.op("aten::neg").in(negative).out(labelled("w1")));
      }
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a tensor more is an outcome, though something else that is left is equal to it") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      const Tensor log = run.op("aten::log1p").in(weight).out(labelled("log"));
      left.push_back(log);
      run.op("aten::sum").in(log).out(labelled("sum"));
      if (changed) left.push_back(run.op("aten::log1p").in(weight).out(labelled("log")));
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::log1p");
  }

  TEST_CASE("a metric that one run alone computes and reads is no outcome of both") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) {
        const Tensor norm = run.op("aten::norm").in(weight).out(labelled("norm"));
        run.op("aten::item").in(norm).result(1.0);
      }
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a number that one run reads in place of another is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor low = run.op("aten::relu").in(weight).out(labelled("low"));
      if (!changed) run.op("aten::item").in(low).result(1.0);
      const Tensor high = run.op("aten::exp").in(low).out(labelled("high"));
      if (changed) run.op("aten::item").in(high).result(2.0);
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "reads 1 number"));
  }

  TEST_CASE("a number that one run reads once more in place of another is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor low = run.op("aten::relu").in(weight).out(labelled("low"));
      run.op("aten::item").in(low).result(1.0);
      const Tensor high = run.op("aten::exp").in(low).out(labelled("high"));
      if (!changed) run.op("aten::item").in(low).result(1.0);
      run.op("aten::sin").in(high).out(labelled("sin"));
      if (changed) run.op("aten::item").in(high).result(2.0);
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "reads 1 number"));
  }

  TEST_CASE("a generator that ends in another state is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.op("aten::rand").draws(2).out(labelled("drawn"));
      if (changed) run.draw_unseen(1);
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::rng);
  }

  TEST_CASE("a tensor more is an outcome, however often its op wrote it") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      if (changed)
        left.push_back(run.composite("aten::addmm", [&](EventBuilder& addmm) {
          addmm.in(weight);
          const Tensor result = run.data(labelled("left over"));
          run.op("aten::copy_").in(weight).writes(result, labelled("bias"));
          run.op("aten::add_").in(result).writes(result, labelled("sum"));
          return result;
        }));
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a tensor more that is changed in place is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      if (changed) {
        left.push_back(run.op("aten::relu").in(weight).out(labelled("more")));
        run.op("aten::mul_").in(left.back()).writes(left.back(), labelled("most"));
      }
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a draw that nobody uses leaves the generator elsewhere") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) run.op("aten::rand").draws(3).out(labelled("unused"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::rand");
  }

  TEST_CASE("a draw that nobody uses leaves the generator elsewhere, though the seeds differ") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.seed(changed ? 735 : 736);
      if (changed) run.op("aten::rand").draws(3).out(labelled("unused"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::rand");
  }

  TEST_CASE(
      "a generator of Python that ends in another state than it did in both runs is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("note.rng.numpy", "seeded");
      run.environment("note.rng.numpy", changed ? "drawn twice" : "drawn");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(says(report, "the generator numpy differs at the end"));
    REQUIRE(report.causes.size() == 1);
    CHECK(report.causes[0].id == "rng-shift");
  }

  TEST_CASE(
      "a generator of Python that ends further in the stream that both runs draw from is an "
      "outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("note.rng.numpy", changed ? "c0ffee at 12" : "c0ffee at 10");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE(
      "a generator that both runs begin with in one state is an outcome of the one that draws") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("begin.rng.python", "c0ffee at 10");
      if (changed) run.environment("note.rng.python", "beef at 2");
      run.environment("end.rng.python", changed ? "beef at 2" : "c0ffee at 10");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.environment.size() == 1);
  }

  TEST_CASE("a generator that is in another state from the beginning is no difference") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("begin.rng.python", changed ? "one at 4" : "two at 4");
      run.environment("end.rng.python", changed ? "three at 1" : "two at 4");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.environment.empty());
  }

  TEST_CASE("nothing is said of a generator that was not looked at when the run ended") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("begin.rng.numpy", "c0ffee at 10");
      run.environment("note.rng.numpy", changed ? "c0ffee at 20" : "c0ffee at 30");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a generator that both runs hold and leave at other places is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.rng.numpy.Generator.c0ffee", changed ? "c0ffee at a" : "c0ffee at b");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a number that one run saves otherwise is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("saved.keys.k", "model.weight: float32 [4]\nepoch: int");
      run.environment("saved.file.0", "k");
      run.environment("saved.file.0.numbers", changed ? "epoch=4" : "epoch=3");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(has(report.summary, "epoch of torch.save is 3 and 4"));
  }

  TEST_CASE("what a file of its own step holds otherwise is named where it is saved") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.step(1);
      run.environment("saved.keys.k", "model.weight: float32 [4]\nepoch: int");
      run.environment("saved.file.0", "k");
      run.environment("saved.file.0.numbers", changed ? "epoch=4" : "epoch=3");
      run.op(kSave).in(weight);
      run.step(2).op("aten::neg").in(weight).out(labelled("later"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == kSave);
    CHECK(report.first()->step == 1);
  }

  TEST_CASE("a key under which one run alone saves is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const std::string keys = changed ? "other" : "keys";
      run.environment("saved.keys." + keys, changed ? "a: float32 [4]\nc: float32 [4]"
                                                    : "a: float32 [4]\nb: float32 [4]");
      run.environment("saved.file.0", keys);
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    REQUIRE(report.first()->arguments.size() == 1);
    CHECK(report.first()->arguments[0].reference == "b: float32 [4]");
    CHECK(report.first()->arguments[0].candidate == "c: float32 [4]");
  }

  TEST_CASE("a tensor that one run alone saves is an outcome") {
    const auto saving = [](bool same) {
      return [same](RunBuilder& run, const Tensor& weight, bool changed) {
        const Tensor other = run.op("aten::neg").in(weight).out(labelled("other"));
        run.op(kSave).in(weight);
        if (changed) run.op(kSave).in(same ? weight : other);
        run.leaves({weight, other});
      };
    };
    const Report report = ending(saving(false));
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "the candidate saves 1 tensor"));
    CHECK(ending(saving(true)).verdict == Verdict::identical);
  }

  TEST_CASE("a tensor that one run alone saves under a key that both have is in another's place") {
    for (const bool same_keys : {true, false}) {
      CAPTURE(same_keys);
      const Report report = ending([&](RunBuilder& run, const Tensor& weight, bool changed) {
        const std::string keys = same_keys || !changed ? "keys" : "more";
        run.environment("saved.keys.keys", "model: float32 [4]\nema: float32 [4]");
        run.environment("saved.keys.more", "model: float32 [4]\nema: float32 [4]\nt: float32 [4]");
        run.environment("saved.file.0", keys);
        const Tensor other = run.op("aten::neg").in(weight).out(labelled("other"));
        run.op(kSave).in(weight);
        if (changed) run.op(kSave).in(other);
        run.leaves({weight, other});
      });
      CHECK(report.verdict == Verdict::diverged);
      REQUIRE(report.first() != nullptr);
      CHECK(report.first()->kind == (same_keys ? FindingKind::sequence : FindingKind::arguments));
    }
  }

  TEST_CASE("a hyperparameter that one run changes after the last step is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.optimizer.0", "SGD");
      if (changed) run.environment("end.optimizer.0.lr", "0.1 -> 0.05");
      run.environment("end.optimizer.0.momentum", "0.9 -> 0.8");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(says(report, "lr of SGD is 0.1 and 0.05"));
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->arguments.size() == 1);
  }

  TEST_CASE("hyperparameters that are changed differently after the last step are an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.optimizer.0", "SGD");
      run.environment("end.optimizer.0.lr", changed ? "0.1 -> 0.2" : "0.1 -> 0.05");
      run.leaves({weight});
    });
    CHECK(says(report, "lr of SGD is 0.05 and 0.2"));
  }

  TEST_CASE("a hyperparameter that is as it was in the last step is no difference") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.optimizer.0", "SGD");
      run.environment("end.optimizer.0.lr", changed ? "0.1 -> 0.2" : "0.1 -> 0.4");
      run.environment("end.optimizer.0.lr", "");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a hyperparameter of the last step is an outcome, though no value shows it") {
    const Report report = stepping("dampening", {0}, {0.5});
    CHECK(report.verdict == Verdict::diverged);
    CHECK(says(report, "dampening of SGD is 0"));
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::arguments);
    CHECK(report.findings.size() == 1);
  }

  TEST_CASE("a hyperparameter that no value shows is no outcome once it is equal again") {
    CHECK(stepping("dampening", {0, 0.5}, {0.5, 0.5}).verdict == Verdict::identical);
  }

  TEST_CASE("how an optimizer computes its update is no outcome") {
    CHECK(stepping("foreach", {0}, {1}).verdict == Verdict::identical);
  }

  TEST_CASE("a hyperparameter that float32 does not tell apart is no outcome") {
    CHECK(stepping("lr", {0.0343}, {0.03429999999999999}).verdict == Verdict::identical);
  }

  TEST_CASE("what a program keeps in its groups itself is no hyperparameter") {
    CHECK(stepping("time", {1}, {2}).verdict == Verdict::identical);
  }

  TEST_CASE("one of Python's optimizers is left where it stands at the end or was saved") {
    const auto left_as = [](const std::string& key) {
      return ending([&](RunBuilder& run, const Tensor& weight, bool changed) {
               run.environment("python.version", "3.11");
               if (!key.empty()) run.environment(key, "SGD");
               run.event(EventKind::zero_grad, "SGD::zero_grad").of_object(4);
               EventBuilder step = run.event(EventKind::optimizer, "SGD::step");
               step.of_object(7).arg("dampening", changed ? 0.5 : 0.0).calls([&] {
                 run.op("aten::add_")
                     .flag(event_flag::in_optimizer)
                     .in(weight)
                     .writes(weight, labelled("w2"));
               });
               run.leaves({weight});
             })
          .verdict;
    };
    CHECK(left_as("end.optimizer.1") == Verdict::diverged);
    CHECK(left_as("saved.optimizer.1") == Verdict::diverged);
    CHECK(left_as("end.optimizer.0") == Verdict::identical);
    CHECK(left_as("") == Verdict::identical);
  }

  TEST_CASE("a hyperparameter that one run's version of an optimizer does not have is no outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      EventBuilder step = run.event(EventKind::optimizer, "SGD::step");
      step.arg("lr", 0.1);
      if (changed) step.arg("decoupled_weight_decay", 0);
      step.calls([&] {
        run.op("aten::add_")
            .flag(event_flag::in_optimizer)
            .in(weight)
            .writes(weight, labelled("w2"));
      });
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("an optimizer that only one run still has at its end is compared as both saved it") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("saved.optimizer.0", "SGD");
      run.environment("saved.optimizer.0.lr", "0.2 -> 0.1");
      if (changed) {
        run.environment("end.optimizer.0", "SGD");
        run.environment("end.optimizer.0.lr", "0.1 -> 0.05");
      }
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("what runs save of an optimizer that is gone in the end is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("saved.optimizer.0", "SGD");
      if (changed) run.environment("saved.optimizer.0.lr", "0.2 -> 0.1");
      run.leaves({weight});
    });
    CHECK(says(report, "lr of SGD is 0.2 and 0.1"));
    CHECK(report.environment.empty());
  }

  TEST_CASE("what runs save of an optimizer is said of the first save from which on it differs") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor weight = run.parameter("fc.weight", labelled("weight"));
      run.environment("saved.optimizer.0", "SGD");
      for (int step = 0; step < 4; ++step) {
        run.step(step).phase(Phase::forward);
        run.op("aten::mm").in(run.data(labelled("x"))).in(weight).out(labelled("y"));
        run.phase(Phase::eval);
        if (step == 0)
          run.environment("saved.optimizer.0.lr", changed ? "0.4 -> 0.3" : "0.4 -> 0.2");
        if (step == 1) run.environment("saved.optimizer.0.lr", "0.4 -> 0.2");
        if (step > 1) run.environment("saved.optimizer.0.lr", changed ? "0.2 -> 0.1" : "");
        run.op(kSave).in(weight).stack("train.py:7 main\ttorch.save(state)\t.");
      }
      run.leaves({weight});
    });
    REQUIRE(report.first() != nullptr);
    CHECK(says(report, "lr of SGD is 0.2 and 0.1"));
    CHECK(report.first()->step == 2);
    CHECK(report.first()->where == "train.py:7");
    CHECK_FALSE(report.first()->module.has_value());
  }

  TEST_CASE("a tensor that one run alone makes stands though the op that reads it gives the same") {
    const auto compared = [](bool stands) {
      return report_of([stands](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("exp"));
        std::vector<Tensor> left{x};
        if (changed) left.push_back(run.op("aten::gelu").in(x).out(labelled("gelu")));
        left.push_back(run.op("aten::softmax").in(left.back()).out(labelled("ones")));
        run.op("aten::sum").in(left.back()).out(labelled("sum"));
        if (changed && !stands) left.erase(left.begin() + 1);
        run.leaves(left);
      });
    };
    CHECK(compared(false).verdict == Verdict::identical);
    const Report report = compared(true);
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::gelu");
  }

  TEST_CASE("a tensor that one run alone makes stands though what it was read after is absorbed") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      Tensor negative = x;
      Tensor stands = x;
      if (changed) {
        negative = run.op("aten::neg").in(x).out(labelled("-x"));
        stands = run.op("aten::gelu").in(x).out(labelled("gelu"));
      }
      const Tensor differs = run.op("aten::exp").in(negative).out(labelled(changed ? "a" : "b"));
      run.op("aten::softmax").in(stands).out(labelled("ones"));
      run.op("aten::relu").in(differs).out(labelled("0"));
      run.leaves({stands});
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a copy of memory that no recorded op has filled is no tensor more") {
    const auto compared = [](std::string_view made) {
      return report_of([made](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor inherited =
            run.op("aten::empty").out_uninitialised(labelled("of the parent process"));
        std::vector<Tensor> left{inherited};
        if (changed) left.push_back(run.op("aten::mul").in(inherited).out(labelled(made)));
        run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("y"));
        run.leaves(left);
      });
    };
    CHECK(compared("of the parent process").verdict == Verdict::identical);
    CHECK(compared("of its own").verdict == Verdict::diverged);
  }

  TEST_CASE("a write that an op of one run alone has seen is an outcome") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.op("aten::exp").in(run.data(labelled("x"))).out(labelled("exp"));
      if (changed) {
        run.overwrite(x, labelled("by hand"));
        run.op("aten::reshape").in(x).flag(event_flag::view).returns_view(x);
      }
      run.leaves({x});
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("optimizers of threads are compared as a set") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      for (const char* const key : {"saved.optimizer.t0", "saved.optimizer.t1"})
        run.environment(key, "SGD");
      run.environment("saved.optimizer.t0.lr", changed ? "0.2 -> 0.1" : "0.4 -> 0.3");
      run.environment("saved.optimizer.t1.lr", changed ? "0.4 -> 0.3" : "0.2 -> 0.1");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a hyperparameter that one run changes after the last step of a thread is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      for (const char* const key : {"saved.optimizer.t0", "saved.optimizer.t1"})
        run.environment(key, "SGD");
      run.environment("saved.optimizer.t0.lr", changed ? "0.2 -> 0.1" : "0.4 -> 0.3");
      run.environment("saved.optimizer.t1.lr", changed ? "0.4 -> 0.6" : "0.2 -> 0.1");
      run.leaves({weight});
    });
    CHECK(says(report, "lr of SGD is 0.3 and 0.6"));
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->arguments.size() == 1);
  }

  TEST_CASE("sets of optimizers of threads are not compared where one run has noted fewer") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.optimizer.t0", "SGD");
      run.environment("end.optimizer.t0.lr", "0.2 -> 0.1");
      if (changed) run.environment("end.optimizer.t1", "SGD");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("optimizers of so many threads that not all are noted are not compared") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.optimizer.t0", "SGD");
      run.environment("end.optimizer.t", "SGD");
      run.environment("end.optimizer.t0.lr", changed ? "0.2 -> 0.1" : "0.3 -> 0.1");
      run.environment("end.optimizer.t0.eps", changed ? "0.2 -> 0.1" : "0.1 -> 0.2");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("an optimizer that only one run has is no difference") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) {
        run.environment("end.optimizer.1", "Adam");
        run.environment("end.optimizer.1.lr", "0.1 -> 0.2");
      }
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a generator that was seeded last and not drawn from leaves nothing") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("begin.rng.python", "c0ffee at 10");
      run.environment("end.rng.python", changed ? "one at 0" : "two at 0");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a generator that threads may have drawn from last is not known to differ") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("begin.rng.numpy", "c0ffee at 10");
      run.environment("end.threads", "1");
      run.environment("end.rng.numpy", changed ? "c0ffee at 20" : "c0ffee at 30");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "the generator numpy ends in different states"));
  }

  TEST_CASE("a generator of the program that one run seeds after its last draw is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.generators", "2");
      if (changed) run.environment("end.generator.2", "seed 4, state c0ffee -> seed 77");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(says(report, "the state of generator 2 of the program differs at the end"));
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::rng);
    REQUIRE(report.first()->arguments.size() == 1);
    CHECK(report.first()->arguments[0].reference == "seed 4, state c0ffee");
    CHECK(report.first()->arguments[0].candidate == "seed 77");
    REQUIRE(report.causes.size() == 1);
    CHECK(report.causes[0].id == "rng-shift");
    CHECK(report.environment.empty());
  }

  TEST_CASE("a generator of the program that both runs leave in one state is no difference") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.generators", "2");
      run.environment("end.generator.1", "seed 4, state c0ffee -> seed 77");
      if (changed) run.environment("end.generator.2", "seed 4, state beef -> seed 5");
      if (changed) run.environment("end.generator.2", "");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a generator of the program that runs seed differently at last is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.generators", "1");
      run.environment("end.generator.1",
                      changed ? "seed 4, state beef -> seed 77" : "seed 4, state beef -> seed 78");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a seed of the operating system that nothing is drawn with is no outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.generators", "1");
      run.environment("end.generator.1", changed
                                             ? "seed 4, state beef -> seed 8888225386503164190"
                                             : "seed 4, state beef -> seed 15375931544138659241");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("nothing is said of a generator of the program whose last state is not known") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.generators", "1");
      run.environment("end.generator.1", changed ? "seed 4, state beef -> seed 77" : "not known");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("generators of the program are not compared where one run has numbered more") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("end.generators", changed ? "2" : "1");
      if (changed) run.environment("end.generator.1", "seed 4, state beef -> seed 77");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("runs that end with different exit codes are not said to be identical") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.exit_code(changed ? 3 : 0).leaves({weight});
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "the reference ended with exit code 0 and the candidate with exit code 3"));
    REQUIRE(report.environment.size() == 1);
    CHECK(report.environment[0].key == "program.exit_code");
    CHECK(report.environment[0].reference == "0");
    CHECK(report.environment[0].candidate == "3");
    CHECK_FALSE(report.environment[0].can_change_bits);
  }

  TEST_CASE("of a run that fails before the end of the other one the exit code is said") {
    const auto train = [](RunBuilder& run, int steps) {
      const Tensor weight = run.parameter("fc.weight", labelled("w"));
      for (int step = 0; step < steps; ++step)
        run.step(step)
            .phase(Phase::forward)
            .op("aten::mm")
            .in(weight)
            .out(labelled("y" + std::to_string(step)));
      run.exit_code(steps == 3 ? 0 : 1);
    };
    const Report report =
        report_of([&](RunBuilder& run) { train(run, 3); }, [&](RunBuilder& run) { train(run, 2); });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "the reference has 1 more, and the candidate has ended with exit code 1"));
  }

  TEST_CASE("runs that fail with the same exit code are identical") {
    const Report report = ending(
        [](RunBuilder& run, const Tensor& weight, bool) { run.exit_code(3).leaves({weight}); });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.environment.empty());
  }

  TEST_CASE("nothing is said of an exit code that is not known") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) run.exit_code(3);
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.environment.empty());
  }

  TEST_CASE("a generator of Python that nobody has seeded is no outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.environment("note.rng.python", changed ? "one" : "two");
      run.environment("note.rng.python", changed ? "three" : "four");
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a generator that nobody draws from is no outcome, though the seeds differ") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.seed(changed ? 735 : 736);
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a tensor more that stands is an outcome, though ops of its own run have read it") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      if (changed) {
        left.push_back(run.op("aten::relu").in(weight).out(labelled("more")));
        const Tensor sum = run.op("aten::sum").in(left.back()).out(labelled("sum"));
        run.op("aten::item").in(sum).result(1.0);
      }
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a view of a tensor more does not read it") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> freed;
      if (changed) {
        freed.push_back(run.op("aten::relu").in(weight).out(labelled("more")));
        run.op("aten::t").flag(event_flag::view).in(freed.back()).returns_view(freed.back());
      }
      run.leaves({weight}, freed);
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("optimizer state of one run alone is an outcome, though it is a copy that was read") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      const Tensor gradient = run.op("aten::relu").in(weight).out(labelled("gradient"));
      Tensor used = gradient;
      if (changed) {
        used = run.op("aten::clone").in(gradient).out(labelled("gradient"));
        run.name_storage(used, "", slot_flag::optimizer_state);
        left.push_back(used);
      }
      run.op("aten::sub_").in(weight).in(used).writes(weight, labelled("w2"));
      left.push_back(gradient);
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "leaves 1 tensor"));
  }

  TEST_CASE("what became of memory that one run alone changed is not known when it is gone") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor gone = run.op("aten::relu").in(weight).out(labelled("gone"));
      if (changed) run.op("aten::clamp_").in(gone).writes(gone, labelled("clamped"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "what 1 tensor held"));
  }

  TEST_CASE("memory that one run alone changed is as good as what the other run made instead") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      Tensor sum = run.op("aten::mm").in(weight).out(Values({2, 2}, {1, 2, 3, 4}));
      const Values biased({2, 2}, {2, 3, 4, 5});
      if (changed)
        sum = run.op("aten::add").in(sum).out(biased);
      else
        run.op("aten::add_").in(sum).writes(sum, biased);
      run.op("aten::relu").in(run.view(sum, {2}, {2})).out(labelled("column"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("memory that one run alone changed back is as it was") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor gone = run.op("aten::relu").in(weight).out(labelled("gone"));
      if (changed)
        for (const char* content : {"negated", "gone"})
          run.op("aten::neg_").in(gone).writes(gone, labelled(content));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE(
      "a write past the ops to memory that is freed while the run goes on may matter or not") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor gradient = run.op("aten::relu").in(weight).out(labelled("g"));
      if (changed) {
        run.overwrite(gradient, labelled("by hand"));
        run.event(EventKind::parameters, kFreedParameters).in(gradient);
      }
      run.op("aten::neg").in(weight).out(labelled("after"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("the tensor that one run alone changed is the one that differs of several equal ones") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> left{weight};
      for (int k = 0; k < 3; ++k) {
        left.push_back(run.op("aten::relu").in(weight).out(labelled("plain")));
        if (k > 0 || changed)
          run.op("aten::add_").in(left.back()).writes(left.back(), labelled("shifted"));
      }
      run.leaves(left);
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::add_");
  }

  TEST_CASE("the program's own memory that differs at the end may matter or not") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor foreign = run.data(labelled(changed ? "b" : "a"));
      run.name_storage(foreign, "", slot_flag::unproduced);
      run.leaves({weight, foreign});
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  /// Steps from 1 on are those of a resumed run, from 0 on. Each holds memory of its own of these
  /// sizes, none if it is 0, which it has had since setup if it was `loaded` there.
  Report resumed(bool loaded, const std::array<std::size_t, 2>& sizes) {
    const auto program = [&](RunBuilder& run, std::size_t size, const std::string& content,
                             std::int64_t first) {
      std::vector<Tensor> held;
      if (size > 0) {
        held.push_back(run.data(labelled(content, size)));
        run.name_storage(held.front(), "", slot_flag::unproduced);
        if (loaded) run.op("aten::set_").in(held.front()).out(labelled("set"));
      }
      for (std::int64_t step = first; step < 2; ++step) {
        run.step(step - first).phase(Phase::forward);
        run.op("aten::mm").in(run.data(labelled("x" + std::to_string(step)))).out(labelled("y"));
      }
      run.leaves(held);
    };
    return report_of([&](RunBuilder& run) { program(run, sizes[0], "a", 0); },
                     [&](RunBuilder& run) { program(run, sizes[1], "b", 1); }, step_offset(-1));
  }

  TEST_CASE("what one run alone still holds of its setup is no outcome of steps that are shifted") {
    CHECK(resumed(/*loaded=*/true, {0, 3}).verdict == Verdict::identical);
    CHECK(resumed(/*loaded=*/true, {4, 3}).verdict == Verdict::identical);
    CHECK(resumed(/*loaded=*/false, {0, 3}).verdict == Verdict::inconclusive);
    CHECK(resumed(/*loaded=*/true, {3, 3}).verdict == Verdict::inconclusive);
  }

  TEST_CASE("a draw more is an outcome, though another thread's generator has the same seed") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const auto draw = [&] { run.op("aten::rand").draws_from_own(1).out(labelled("drawn")); };
      for (const std::uint32_t trainer : {0, 1}) {
        run.lane(LaneRole::trainer, trainer).step(0).seed(7);
        run.op("aten::full").out(labelled("trainer " + std::to_string(trainer)));
        draw();
        if (changed && trainer == 0) draw();
      }
      run.lane(LaneRole::main, 0).seed(42).leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a draw more is an outcome, though another generator with the same seed is in step") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      run.seed(7);
      const auto draw = [&](std::uint64_t generator) {
        run.op("aten::rand").draws_from_own(1, generator).out(labelled("drawn"));
      };
      draw(1);
      if (changed) draw(1);
      draw(2);
      run.seed(42).leaves({weight});
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a gradient that one run alone has reset is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor gradient = run.op("aten::relu").in(weight).out(labelled("gradient"));
      run.name_storage(gradient, "fc.weight.grad", slot_flag::gradient);
      if (changed)
        run.leaves({weight}, {gradient});
      else
        run.leaves({weight, gradient});
    });
    INFO(report.summary);
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "the reference leaves 1 tensor"));
  }

  TEST_CASE("a gradient that one run alone accumulates and leaves diverges where that happens") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      std::vector<Tensor> freed;
      if (changed) freed.push_back(accumulate(run, weight));
      run.op("aten::relu").in(weight).out(labelled("z"));
      run.leaves({weight}, freed);
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->op == "aten::mm");
  }

  TEST_CASE("a gradient that one run alone accumulates and no op reads may be an outcome") {
    const auto accumulating = [](auto then) {
      return ending([then](RunBuilder& run, const Tensor& weight, bool changed) {
        if (changed) accumulate(run, weight);
        then(run);
        run.op("aten::relu").in(weight).out(labelled("z"));
        run.leaves({weight});
      });
    };
    const Report report = accumulating([](RunBuilder&) {});
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(says(report, "the candidate makes 1 tensor that the reference does not make"));
    const Report reset = accumulating(
        [](RunBuilder& run) { run.phase(Phase::data).event(EventKind::zero_grad, "zero_grad"); });
    INFO(reset.summary);
    CHECK(reset.verdict == Verdict::identical);
  }

  TEST_CASE("a gradient that one run alone accumulates and sets to zero is none") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) {
        const Tensor gradient = accumulate(run, weight);
        run.op("aten::zero_").in(gradient).writes(gradient, labelled("0"));
      }
      run.op("aten::relu").in(weight).out(labelled("z"));
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a gradient that one run alone accumulates is none when it begins anew in both") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      if (changed) accumulate(run, weight, "gradient of a warm-up");
      run.op("aten::relu").in(weight).out(labelled("z"));
      accumulate(run, weight);
      run.leaves({weight});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a gradient of a leaf without a name that one run alone has reset is an outcome") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor gradient = run.op("aten::relu").in(weight).out(labelled("gradient"));
      run.name_storage(gradient, "", slot_flag::gradient);
      if (changed)
        run.leaves({weight});
      else
        run.leaves({weight, gradient});
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("bytes at the end that no op is known to have left may be a write past the ops") {
    const Report report = ending([](RunBuilder& run, const Tensor& weight, bool changed) {
      const Tensor held = run.op("aten::relu").in(weight).out(labelled("held"));
      if (changed) run.overwrite(held, labelled("by hand"), true);
      run.without_verification().leaves({weight, held});
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("what the program may read itself in place of what both runs make is not harmless") {
    const auto program = [](bool is_read, bool changed) {
      return [=](RunBuilder& run) {
        run.step(0).phase(Phase::forward);
        const Tensor y = run.op("aten::mm").in(run.data(labelled("x"))).out(labelled("y"));
        if (changed) run.op("aten::mul").in(y).out(labelled("twice y"));
        if (is_read) run.op("aten::sum").in(y).out(labelled("sum"));
        run.op("aten::ones").out(labelled("1"));
        run.leaves({});
      };
    };
    const Report unread = report_of(program(false, false), program(false, true));
    CHECK(unread.verdict == Verdict::inconclusive);
    CHECK(has(unread.summary, "the candidate makes 1 tensor that the reference does not make"));
    CHECK(report_of(program(true, false), program(true, true)).verdict == Verdict::identical);
  }

  TEST_CASE("what is made of numbers that nothing else reads is in no result's place") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor drawn = run.op("aten::rand").draws(1).out(labelled("drawn"));
      if (changed) run.op("aten::mul").in(drawn).out(labelled("twice"));
      run.op("aten::ones").out(labelled("1"));
      run.leaves({});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("what the other run makes elsewhere is not missing there") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor y = run.op("aten::mm").in(run.data(labelled("x"))).out(labelled("y"));
      run.op(changed ? "aten::exp" : "aten::sqrt").in(y).out(labelled("z"));
      run.op("aten::ones").out(labelled("1"));
      run.leaves({});
    });
    CHECK(report.verdict == Verdict::identical);
  }
}
