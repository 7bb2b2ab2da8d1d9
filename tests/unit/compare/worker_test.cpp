#include <algorithm>
#include <string>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

struct Loading {
  std::vector<int> thread_of_batch;  ///< which worker makes which batch
  std::vector<int> draw_order;       ///< the order in which the batches draw
  int ahead = 0;                     ///< step at which all work is done: 0, or a step later
  std::string augment;               ///< changes what the workers make
};

/// Two workers make four batches from files, with a random shift each; main reads them in order.
void load(RunBuilder& run, const Loading& how) {
  std::vector<Tensor> batches(4);
  for (const int batch : how.draw_order) {
    const std::string n = std::to_string(batch);
    run.lane(LaneRole::worker,
             static_cast<std::uint32_t>(how.thread_of_batch[static_cast<std::size_t>(batch)]));
    run.step(batch > 1 ? how.ahead : 0).phase(Phase::data);
    const Tensor image = run.data(labelled("image" + n));
    const std::string position = std::to_string(run.drawn());
    const Tensor shift = run.op("aten::rand").draws(1).out(labelled("shift" + position));
    batches[static_cast<std::size_t>(batch)] =
        run.op("aten::add")
            .in(image)
            .in(shift)
            .out(labelled("batch" + n + "/" + position + how.augment));
  }
  run.lane(LaneRole::main, 0).phase(Phase::forward);
  for (int step = 0; step < 4; ++step) {
    run.step(step);
    const Tensor& batch = batches[static_cast<std::size_t>(step)];
    run.op("aten::mm").in(batch).out(labelled("y" + run.content_words(batch)));
  }
}

/// Three steps with a batch each, which main stacks itself or a thread does, as many as `made`.
void load_one_by_one(RunBuilder& run, bool by_thread, int made, const std::string& augment) {
  for (int batch = 0; batch < made; ++batch) {
    const std::string n = std::to_string(batch);
    run.lane(by_thread ? LaneRole::worker : LaneRole::main, 0);
    run.step(std::min(batch, 2)).phase(Phase::data);
    const Tensor image = run.data(labelled("image" + n));
    const Tensor stacked = run.op("aten::stack").in(image).out(labelled("batch" + n + augment));
    if (batch > 2) continue;
    run.lane(LaneRole::main, 0).step(batch).phase(Phase::forward);
    run.op("aten::mm").in(stacked).out(labelled("y" + run.content_words(stacked)));
  }
}

/// The main thread and one beside it take tasks from a common store: true where main takes one. A
/// task goes on with values that are the same in each.
void share_tasks(RunBuilder& run, const std::vector<bool>& by_main, int changed = -1) {
  for (std::size_t task = 0; task < by_main.size(); ++task) {
    run.lane(by_main[task] ? LaneRole::main : LaneRole::thread, 0).step(0).phase(Phase::forward);
    const std::string n = std::to_string(task);
    const Tensor begun =
        run.op("aten::full").arg("fill_value", static_cast<int>(task)).out(labelled(n));
    const std::string other = static_cast<int>(task) == changed ? " otherwise" : "";
    Tensor made = run.op("aten::exp").in(begun).out(labelled("exp " + n + other));
    made = run.op("aten::tanh").in(made).out(labelled("one" + other));
    static_cast<void>(run.op("aten::tanh").in(made).out(labelled("tanh of one" + other)));
  }
}

}  // namespace

TEST_SUITE("workers") {
  TEST_CASE("which thread makes a batch, and when, is no difference") {
    const Report report = report_of(
        [](RunBuilder& run) {
          load(run, {{0, 1, 0, 1}, {0, 1, 2, 3}, 0, {}});
        },
        [](RunBuilder& run) {
          load(run, {{1, 1, 0, 0}, {0, 1, 2, 3}, 1, {}});
        });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    CHECK(report.coverage.aligned == 12);
  }

  TEST_CASE("whether threads make the batches, or the program itself, is no difference") {
    const auto by_itself = [](RunBuilder& run) { load_one_by_one(run, false, 3, ""); };
    const auto by_thread = [](RunBuilder& run) { load_one_by_one(run, true, 5, ""); };
    const Report more = report_of(by_itself, by_thread);
    CHECK(more.verdict == Verdict::identical);
    CHECK(std::none_of(more.findings.begin(), more.findings.end(), [](const Finding& finding) {
      return finding.event.candidate && !finding.event.reference;
    }));
    CHECK(report_of(by_thread, by_itself).verdict == Verdict::identical);
  }

  TEST_CASE("a thread that makes other batches than the program itself is found") {
    const Report report =
        report_of([](RunBuilder& run) { load_one_by_one(run, false, 3, ""); },
                  [](RunBuilder& run) { load_one_by_one(run, true, 5, " flipped"); });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("threads that draw from one generator in another order are named") {
    const Report report = report_of(
        [](RunBuilder& run) {
          load(run, {{0, 1, 0, 1}, {0, 1, 2, 3}, 0, {}});
        },
        [](RunBuilder& run) {
          load(run, {{0, 1, 0, 1}, {1, 0, 2, 3}, 0, {}});
        });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].kind == FindingKind::rng);
    CHECK(report.findings[0].op == "aten::rand");
    CHECK(report.findings[0].lane == "worker 0");
    CHECK(first_cause(report) == "thread-rng");
    CHECK(diverging(report) == 1);
    CHECK(report.propagated.events >= 4);
  }

  TEST_CASE("a thread that draws beside the program from its generator is named") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      for (int step = 0; step < 3; ++step) {
        const auto load = [&] {
          run.lane(LaneRole::worker, 0).step(step).phase(Phase::data);
          return run.op("aten::rand").draws(1).out(labelled("b" + std::to_string(run.drawn())));
        };
        const auto drop = [&](const Tensor& batch) {
          run.lane(LaneRole::main, 0).step(step).phase(Phase::forward);
          const std::string drawn = std::to_string(run.drawn());
          const Tensor mask = run.op("aten::bernoulli").draws(1).out(labelled("m" + drawn));
          run.op("aten::mul")
              .in(batch)
              .in(mask)
              .out(labelled("y" + run.content_words(batch) + drawn));
        };
        if (changed && step == 1) {
          run.lane(LaneRole::main, 0).step(step).phase(Phase::forward);
          drop(run.data(labelled("early")));
          static_cast<void>(load());
        } else {
          drop(load());
        }
      }
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(find_cause(report, "thread-rng") != nullptr);
  }

  TEST_CASE("what a worker makes otherwise is found where it is made") {
    const Report report = report_of(
        [](RunBuilder& run) {
          load(run, {{0, 1, 0, 1}, {0, 1, 2, 3}, 0, {}});
        },
        [](RunBuilder& run) {
          load(run, {{1, 0, 1, 0}, {0, 1, 2, 3}, 0, "flipped"});
        });
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].kind == FindingKind::origin);
    CHECK(report.findings[0].op == "aten::add");
    CHECK(has(report.findings[0].lane, "worker"));
  }

  TEST_CASE("a batch made ahead that nothing reads is no difference") {
    const auto program = [](RunBuilder& run, bool changed) {
      load(run, {{0, 1, 0, 1}, {0, 1, 2, 3}, 0, {}});
      run.lane(LaneRole::worker, changed ? 1 : 0).phase(Phase::data);
      run.op("aten::add").in(run.data(labelled(changed ? "image5" : "image4"))).out(labelled("b"));
    };
    const Report report = report_of(program);
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    REQUIRE_FALSE(report.coverage.unseen.empty());
    CHECK(has(report.coverage.unseen.back(), "2 ops of worker threads"));
  }

  TEST_CASE("a batch that two steps share is no difference") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const auto label = [&](int which) {
        return run.op("aten::scalar_tensor").arg("s", which).out(labelled(std::to_string(which)));
      };
      std::vector<Tensor> batches;
      const auto stack = [&](const Tensor& a, const Tensor& b, const std::string& words) {
        batches.push_back(run.op("aten::stack").in(a).in(b).out(labelled(words)));
      };
      run.lane(LaneRole::main, 0).step(0).phase(Phase::forward);
      run.op("aten::ones").out(labelled("one"));
      run.lane(LaneRole::worker, 0).phase(Phase::data).step(changed ? 1 : 0);
      const Tensor first = label(0);
      run.step(1);
      stack(first, label(1), "batch 0");
      run.lane(LaneRole::worker, 1).phase(Phase::data).step(changed ? 0 : 1);
      const Tensor second = label(0);
      run.step(1);
      stack(second, label(0), "batch 1");
      run.lane(LaneRole::main, 0).step(1).phase(Phase::forward);
      for (const Tensor& batch : batches)
        run.op("aten::mm").in(batch).out(labelled("y" + run.content_words(batch)));
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    CHECK(report.coverage.aligned == 9);
  }

  TEST_CASE("a sample begun ahead when the program ends is no partner of another") {
    const auto program = [](RunBuilder& run, bool changed) {
      load(run, {{0, 1, 0, 1}, {0, 1, 2, 3}, 0, {}});
      run.lane(LaneRole::worker, 0).phase(Phase::data);
      run.op("aten::scalar_tensor").arg("s", changed ? 1 : 0).out(labelled(changed ? "1" : "0"));
    };
    const Report report = report_of(program);
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }

  TEST_CASE("a sample made ahead is nobody's result, in whatever memory it is left") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      load(run, {{0, 1, 0, 1}, {0, 1, 2, 3}, 0, {}});
      if (!changed) return;
      run.lane(LaneRole::worker, 0).phase(Phase::data);
      const Tensor shift = run.op("aten::rand").draws_from_own(1).out(labelled("shift ahead"));
      const Tensor ahead = run.op("aten::add").in(shift).out(labelled("ahead"));
      run.leaves({ahead});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a sample made ahead from the default generator leaves that elsewhere") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      load(run, {{0, 1, 0, 1}, {0, 1, 2, 3}, 0, {}});
      run.lane(LaneRole::worker, 0).phase(Phase::data);
      if (changed) run.op("aten::rand").draws(1).out(labelled("shift ahead"));
      run.leaves({});
    });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "draws 1 time"));
  }

  TEST_CASE("what a thread that loads makes beside its samples is a result") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      load(run, {{0, 1, 0, 1}, {0, 1, 2, 3}, 0, {}});
      run.lane(LaneRole::worker, 0).phase(Phase::data);
      Tensor kept = run.op("aten::full").arg("fill_value", 1).out(labelled("kept"));
      if (changed) kept = run.op("aten::clamp").in(kept).out(labelled("clamped"));
      run.leaves({kept});
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("what a thread that loads writes in place in what the program holds is no sample") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.lane(LaneRole::main, 0).step(0).phase(Phase::forward);
      const Tensor image = run.op("aten::zeros").out(labelled("image"));
      const Tensor held = run.op("aten::ones").out(labelled("held"));
      run.lane(LaneRole::worker, 0).phase(Phase::data);
      run.op("aten::mul_").in(image).writes(image, labelled("scaled image"));
      run.lane(LaneRole::main, 0).phase(Phase::forward);
      run.op("aten::mm").in(image).out(labelled("y"));
      run.lane(LaneRole::worker, 0).phase(Phase::data);
      if (changed) run.op("aten::mul_").in(held).writes(held, labelled("scaled"));
      run.leaves({held});
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("a draw that a thread makes beside its samples leaves its generator elsewhere") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      load(run, {{0, 1, 0, 1}, {0, 1, 2, 3}, 0, {}});
      run.lane(LaneRole::worker, 0).phase(Phase::data);
      if (changed) run.op("aten::randn").draws_from_own(1).out(labelled("unused"));
      run.leaves({});
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("what a thread draws before work that both runs have is nothing made ahead") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.lane(LaneRole::worker, 0).phase(Phase::data);
      run.seed(9);
      if (changed) run.op("aten::rand").draws_from_own(1).out(labelled("unused"));
      run.seed(1);
      load(run, {{0, 0, 0, 0}, {0, 1, 2, 3}, 0, {}});
      run.leaves({});
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("threads of their own are compared though nothing reads them") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      run.op("aten::ones").out(labelled("one"));
      for (std::uint32_t k = 0; k < 2; ++k) {
        run.lane(LaneRole::thread, changed ? 1 - k : k);
        const Tensor x = run.data(labelled("request" + std::to_string(k)));
        const bool apart = changed && k == 1;
        run.op("aten::mm").in(x).out(labelled((apart ? "b" : "a") + std::to_string(k)));
      }
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::origin);
    CHECK(report.findings[0].lane == "thread 1");
  }

  TEST_CASE("threads that share requests are compared request by request") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      std::vector<Tensor> requests;
      for (const std::string n : {"0", "1", "2"}) {
        requests.push_back(run.op("aten::narrow").out(labelled("request" + n)));
      }
      const std::string mean = changed ? "poked" : "mean";
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t request = changed ? 2 - k : k;
        const std::string n = std::to_string(request);
        run.lane(LaneRole::thread, static_cast<std::uint32_t>(k % 2));
        const Tensor x =
            run.op("aten::conv2d").in(requests[request]).out(labelled("convolved" + n));
        run.op("aten::batch_norm")
            .in(x)
            .in(run.buffer("norm.running_mean", labelled(mean)))
            .out(labelled("normed" + n + mean));
      }
    });
    REQUIRE_FALSE(report.findings.empty());
    for (const Finding& finding : report.findings) CHECK(finding.op == "aten::batch_norm");
  }

  TEST_CASE("which thread reads which number is no difference") {
    const auto tasks = [](RunBuilder& run, const std::vector<std::uint32_t>& threads) {
      run.step(0).phase(Phase::eval);
      run.op("aten::ones").out(labelled("one"));
      for (std::size_t k = 0; k < threads.size(); ++k) {
        run.lane(LaneRole::thread, threads[k]);
        const std::string n = std::to_string(k);
        const Tensor sum = run.op("aten::sum").in(run.data(labelled("x" + n))).out(labelled(n));
        run.op("aten::item").in(sum).result(static_cast<double>(k));
      }
    };
    const Report report = report_of(
        [&](RunBuilder& run) {
          tasks(run, {0, 0, 1});
        },
        [&](RunBuilder& run) {
          tasks(run, {0, 1, 1});
        });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.aligned == 7);
  }

  TEST_CASE("what became of memory that a thread of one run alone changed is not known") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      const Tensor one = run.op("aten::ones").out(labelled("one"));
      for (std::uint32_t k = 0; k < 2; ++k) {
        run.lane(LaneRole::thread, changed ? 1 - k : k);
        const std::string n = std::to_string(k);
        const Tensor y = run.op("aten::relu").in(run.data(labelled("x" + n))).out(labelled(n));
        if (!changed || k == 0) continue;
        run.op("aten::add_").in(y).writes(y, labelled("more"));
        const Tensor sum = run.op("aten::sum").in(y).out(labelled("sum"));
        run.op("aten::item").in(sum).result(1.0);
      }
      run.lane(LaneRole::main, 0);
      run.leaves({one});
    });
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("what threads of a pool free is compared whichever of them frees it") {
    const auto tasks = [](RunBuilder& run, const std::vector<std::uint32_t>& threads, bool poked) {
      run.step(0).phase(Phase::eval);
      run.op("aten::ones").out(labelled("one"));
      for (std::size_t k = 0; k < threads.size(); ++k) {
        run.lane(LaneRole::thread, threads[k]);
        const std::string n = std::to_string(k);
        const Tensor weight = run.parameter("fc.weight", labelled("w" + n));
        run.op("aten::relu_").in(weight).writes(weight, labelled("y" + n));
        if (poked && k == 1) run.overwrite(weight, labelled("by hand"));
        run.event(EventKind::parameters, kFreedParameters).in(weight);
      }
    };
    const auto compared = [&](bool poked) {
      return report_of(
          [&](RunBuilder& run) {
            tasks(run, {0, 0, 1}, false);
          },
          [&](RunBuilder& run) {
            tasks(run, {0, 1, 1}, poked);
          });
    };
    CHECK(compared(false).verdict == Verdict::identical);
    const Report report = compared(true);
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::write);
  }

  TEST_CASE("a thread that does as another one is no sample where its partner did more") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::eval);
      run.op("aten::ones").out(labelled("one"));
      std::vector<Tensor> results;
      for (std::uint32_t k = 0; k < 2; ++k) {
        run.lane(LaneRole::thread, k);
        results.push_back(run.op("aten::relu")
                              .in(run.data(labelled("x" + std::to_string(k))))
                              .out(labelled("y" + std::to_string(k))));
      }
      if (changed) {
        const Tensor sum = run.op("aten::sum").in(results[1]).out(labelled("sum"));
        run.op("aten::item").in(sum).result(1.0);
      }
      run.lane(LaneRole::main, 0);
      run.op("aten::exp").in(results[0]).out(labelled("z"));
    });
    CHECK(report.coverage.only_reference == 0);
    CHECK(report.coverage.only_candidate == 2);
  }

  TEST_CASE("workers that load other samples follow the order that was drawn") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const std::string sample = changed ? "another sample" : "a sample";
      run.seed(changed ? 8 : 7);
      run.op("aten::randperm").draws(1).out(labelled(sample).as(Dtype::int64));
      run.lane(LaneRole::thread, 0).step(0).phase(Phase::data);
      run.op("aten::scalar_tensor").arg("s", changed ? 1 : 0).out(labelled("label of " + sample));
      const Tensor loaded =
          run.op("aten::div").in(run.data(labelled(sample))).out(labelled("scaled " + sample));
      run.lane(LaneRole::main, 0).phase(Phase::forward);
      run.op("aten::mm").in(loaded).out(labelled("y of " + sample));
    });
    REQUIRE(diverging(report) == 1);
    CHECK(report.findings[0].kind == FindingKind::rng);
    CHECK(report.findings[0].op == "aten::randperm");
    CHECK(first_cause(report) == "rng-seed");
  }

  TEST_CASE("memory that a thread only handed out is no finding") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      run.op("aten::ones").out(labelled("one"));
      if (!changed) return;
      run.lane(LaneRole::thread, 0);
      run.op("aten::empty").out_uninitialised(labelled("garbage"));
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }

  TEST_CASE("what a thread does with a number that it drew belongs to the draw") {
    const auto program = [](bool other_order) {
      return [other_order](RunBuilder& run) {
        std::vector<Tensor> batches(2);
        for (int k = 0; k < 2; ++k) {
          const int batch = other_order ? 1 - k : k;
          run.lane(LaneRole::worker, static_cast<std::uint32_t>(batch)).step(0).phase(Phase::data);
          const std::string position = std::to_string(run.drawn());
          const Tensor image = run.data(labelled("image" + std::to_string(batch)));
          const Tensor shift = run.op("aten::rand").draws(1).out(labelled("r" + position));
          run.op("aten::item").in(shift).result(static_cast<double>(run.drawn()));
          batches[static_cast<std::size_t>(batch)] =
              run.op("aten::roll")
                  .in(image)
                  .arg("shifts", static_cast<int>(run.drawn()))
                  .out(labelled("rolled" + std::to_string(batch) + position));
        }
        run.lane(LaneRole::main, 0).phase(Phase::forward);
        for (const Tensor& batch : batches)
          run.op("aten::mm").in(batch).out(labelled("y" + run.content_words(batch)));
      };
    };
    const Report report = report_of(program(false), program(true));
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::rng);
    CHECK(report.findings[0].op == "aten::rand");
    CHECK(first_cause(report) == "thread-rng");
  }

  TEST_CASE("which tasks the main thread takes from a common store is no difference") {
    const Report report = report_of(
        [](RunBuilder& run) {
          share_tasks(run, {true, false, false, true, true, false});
        },
        [](RunBuilder& run) {
          share_tasks(run, {false, true, false, false, true, true});
        });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
    CHECK(report.coverage.aligned == 24);
  }

  TEST_CASE("a task that is done otherwise is found, whoever takes it") {
    for (const bool by_main : {false, true}) {
      CAPTURE(by_main);
      const Report report = report_of(
          [](RunBuilder& run) {
            share_tasks(run, {true, false, false, true, true, false});
          },
          [&](RunBuilder& run) {
            share_tasks(run, {false, true, false, by_main, true, true}, 3);
          });
      CHECK(report.verdict == Verdict::diverged);
      REQUIRE(diverging(report) == 1);
      CHECK(report.first()->op == "aten::exp");
      CHECK(report.first()->kind == FindingKind::origin);
    }
  }

  TEST_CASE("tasks that cannot be distinguished do not make runs diverge, whoever takes them") {
    const auto take = [](RunBuilder& run, const std::vector<bool>& by_main) {
      run.lane(LaneRole::main, 0).step(0).phase(Phase::forward);
      const Tensor x = run.op("aten::rand").draws(1).out(labelled("x"));
      for (std::size_t task = 0; task < by_main.size(); ++task) {
        run.lane(by_main[task] ? LaneRole::main : LaneRole::thread, 0).phase(Phase::forward);
        const std::string n = std::to_string(task / 2);
        const Tensor made =
            run.op("aten::mul").in(x).arg("other", static_cast<int>(task / 2)).out(labelled(n));
        run.op("aten::tanh").in(made).out(labelled("tanh " + n));
      }
    };
    const Report report = report_of(
        [&](RunBuilder& run) {
          take(run, {true, true, true, false});
        },
        [&](RunBuilder& run) {
          take(run, {true, false, true, true});
        });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "share their work differently"));
  }

  TEST_CASE("what a thread lists may be printed: of another tensor it is another number read") {
    const auto listing = [](bool computes) {
      return report_of([=](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.op("aten::arange").out(labelled("x"));
        run.lane(LaneRole::worker, 0);
        Tensor twice = run.op("aten::mul").in(x).out(labelled("2 x"));
        if (changed && computes) twice = run.op("aten::exp").in(twice).out(labelled("exp 2 x"));
        run.op("aten::resolve_conj").in(twice).returns_view(twice);
      });
    };
    CHECK(listing(true).verdict == Verdict::inconclusive);
    CHECK(listing(false).verdict == Verdict::identical);
  }

  TEST_CASE("a list in place of its numbers is no other number read") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.op("aten::arange").out(labelled("x"));
      if (changed)
        run.op("aten::resolve_conj").in(x).returns_view(x);
      else
        run.op("aten::item").in(x).result(1);
    });
    CHECK(report.verdict == Verdict::identical);
  }
}
