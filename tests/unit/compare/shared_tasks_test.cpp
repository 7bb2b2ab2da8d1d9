#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "compare/align/task_ranks.hpp"
#include "compare/model/words.hpp"
#include "tests/support/ranks_run.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::comparison;
using namespace ulpscope::test;

namespace {

struct Task {
  int number;
  bool written = false;  ///< its result is changed through a pointer, and given back as numbers
  int factor = 2;
};

void do_task(RunBuilder& run, const Task& task) {
  const Tensor data = run.data({1.0 * task.number});
  const Tensor result =
      run.op("aten::mul").in(data).arg("other", task.factor).out({1.0 * task.number * task.factor});
  if (task.written) run.overwrite(result, {99.0});
  EventBuilder end = run.event(EventKind::outcome, kEndOfTask);
  if (task.written) end.in(result);
  end.draws(0);
}

/// Of each process its tasks, in their order; the process that makes the pool is rank 0.
std::unique_ptr<RanksRun> pool(const std::vector<std::vector<Task>>& processes) {
  auto run = std::make_unique<RanksRun>();
  RunBuilder main;
  main.op("aten::exp").in(main.data({1.0})).out({2.0});
  run->add(0, main.build());
  std::uint32_t number = 0;
  for (const std::vector<Task>& tasks : processes) {
    RunBuilder builder;
    builder.rank(++number).environment("process.tasks", "multiprocessing.pool").without_outcomes();
    for (const Task& task : tasks) do_task(builder, task);
    run->add(number, builder.build(), {true, "", 0, 0, 0, number - 1, false});
  }
  return run;
}

Report report_on(const std::vector<std::vector<Task>>& reference,
                 const std::vector<std::vector<Task>>& candidate) {
  return compare(*pool(reference), *pool(candidate));
}

}  // namespace

TEST_SUITE("shared tasks") {
  TEST_CASE("which process of a pool does which task makes no difference") {
    const Report report = report_on({{{1}, {2}}, {{3}}}, {{{3}, {1}}, {{2}}});
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.only_reference == 0);
  }

  TEST_CASE("a task with another number has no equal") {
    const Report report = report_on({{{1}, {2}}, {{3}}}, {{{3}, {1}}, {{2, false, 3}}});
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(report.coverage.only_reference == 1);
    CHECK(report.coverage.only_candidate == 1);
    CHECK(report.findings.empty());
  }

  TEST_CASE("what a task writes through a pointer has no equal though its ops have") {
    const Report report = report_on({{{1}, {2}}, {{3}}}, {{{3}, {1}}, {{2, true}}});
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(report.coverage.only_reference == 0);
    CHECK(report.summary.find("tasks of a pool leave 1 tensor") != std::string::npos);
  }

  TEST_CASE("another task that writes the same is not equal") {
    const Report report = report_on({{{1}, {2}}, {{3, true}}}, {{{3}, {1}}, {{2, true}}});
    CHECK(report.verdict == Verdict::inconclusive);
  }

  TEST_CASE("what the same task writes through a pointer in both runs is equal") {
    const Report report = report_on({{{1}, {2, true}}, {{3}}}, {{{3}, {1}}, {{2, true}}});
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("how many tasks free what they have written counts") {
    const auto run = [](int tasks) {
      auto ranks = pool({{{1}}, {{2}}});
      RunBuilder builder;
      builder.rank(3).environment("process.tasks", "multiprocessing.pool").without_outcomes();
      for (int k = 0; k < 3; ++k) {
        const Tensor result = builder.op("aten::exp").in(builder.data({1.0})).out({2.0});
        builder.overwrite(result, {k < tasks ? 99.0 : 77.0});
        builder.name_storage(result, "", slot_flag::freed);
        builder.event(EventKind::outcome, kEndOfTask).in(result).draws(0);
      }
      ranks->add(3, builder.build(), {true, "", 0, 0, 0, 2, false});
      return ranks;
    };
    CHECK(compare(*run(1), *run(1)).verdict == Verdict::identical);
    CHECK(compare(*run(1), *run(2)).verdict == Verdict::inconclusive);
  }

  TEST_CASE("what stands at the end of later tasks counts once") {
    const auto run = [](std::size_t ends) {
      auto ranks = pool({{{1}}, {{2}}});
      RunBuilder builder;
      builder.rank(3).environment("process.tasks", "multiprocessing.pool").without_outcomes();
      const Tensor result = builder.op("aten::exp").in(builder.data({1.0})).out({2.0});
      builder.overwrite(result, {99.0});
      for (std::size_t k = 0; k < ends; ++k)
        builder.event(EventKind::outcome, kEndOfTask).in(result).draws(0);
      ranks->add(3, builder.build(), {true, "", 0, 0, 0, 2, false});
      return ranks;
    };
    CHECK(compare(*run(1), *run(3)).verdict == Verdict::identical);
  }

  TEST_CASE("a single process does its tasks in their order, and is compared as any other") {
    const auto reference = pool({{{1}, {2}}});
    const auto candidate = pool({{{1}, {2, false, 3}}});
    const TaskRanks ranks = task_ranks({reference.get(), candidate.get()});
    CHECK(ranks.shared.reference.empty());
    CHECK(compare(*reference, *candidate).verdict == Verdict::diverged);
    CHECK(compare(*reference, *pool({{{1}, {2}}})).verdict == Verdict::identical);
  }

  TEST_CASE("a single process is not known to be equal where a task writes") {
    CHECK(compare(*pool({{{1}, {2}}}), *pool({{{1}, {2, true}}})).verdict != Verdict::identical);
    CHECK(compare(*pool({{{1}, {2}}}), *pool({{{1, true}, {2}}})).verdict != Verdict::identical);
  }
}

TEST_SUITE("workers of a DataLoader") {
  /// Of each process the batches that it makes; `read` are those that the program takes.
  const auto loading = [](const std::vector<std::vector<int>>& workers, int read,
                          const std::string& made = "batch", std::string_view then = {},
                          const std::string& loader = "of 9") {
    auto run = std::make_unique<RanksRun>();
    RunBuilder main;
    const Tensor weight = main.parameter("fc.weight", labelled("weight"));
    for (int batch = 0; batch < read; ++batch) {
      main.step(batch).phase(Phase::forward);
      const Tensor x = main.data(labelled(made + std::to_string(batch)));
      main.op("aten::mm").in(x).in(weight).out(labelled("y" + made + std::to_string(batch)));
    }
    run->add(0, main.build());
    std::uint32_t number = 0;
    for (const std::vector<int>& batches : workers) {
      RunBuilder builder;
      builder.rank(++number).thread_name("pt_data_worker").without_outcomes();
      builder.environment("process.loads", std::to_string(number) + " " + loader);
      for (const int batch : batches) {
        const Tensor x = builder.op("aten::stack")
                             .in(builder.data(labelled("sample" + std::to_string(batch))))
                             .out(labelled(made + std::to_string(batch)));
        if (!then.empty()) builder.op(then).in(x);
      }
      run->add(number, builder.build(), {true, "", 0, 0, 0, number - 1, true});
    }
    return run;
  };

  TEST_CASE("another number of them that hands over the same is no difference") {
    const auto two = loading({{0, 2}, {1, 3}}, 4);
    const auto three = loading({{0, 3}, {1}, {2}}, 4);
    const Report report = compare(*two, *three);
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.only_reference == 0);
    REQUIRE_FALSE(report.coverage.unseen.empty());
    CHECK(has(report.coverage.unseen.front(), "of 2 and 3 worker processes that load data"));
  }

  TEST_CASE("batches that are made ahead and not read are no difference") {
    CHECK(compare(*loading({{0, 2}, {1}}, 3), *loading({{0, 3}, {1}, {2}}, 3)).verdict ==
          Verdict::identical);
  }

  TEST_CASE("what they hand over is found where the program reads it") {
    const Report report =
        compare(*loading({{0, 2}, {1}}, 3), *loading({{0}, {1}, {2}}, 3, "other batch"));
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->rank == 0);
    CHECK(report.first()->kind == FindingKind::data);
    CHECK(find_cause(report, "worker") != nullptr);
  }

  TEST_CASE("what another number of them saves is unknown") {
    const Report report = compare(*loading({{0, 2}, {1}}, 3, "batch", kSave),
                                  *loading({{0}, {1}, {2}}, 3, "batch", kSave));
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "worker processes of DataLoaders save files"));
  }

  TEST_CASE("what the program reads in another number of them is to be the same") {
    const auto compared = [&](const std::string& op, int batches) {
      return compare(*loading({{0, 2}, {1}}, 3, "batch", op),
                     *loading({{0}, {1}, {batches}}, 3, "batch", op));
    };
    CHECK(compared("aten::resolve_conj", 2).verdict == Verdict::identical);
    CHECK(compared("aten::exp", 5).verdict == Verdict::identical);
    const Report report = compared("aten::resolve_conj", 5);
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "reads numbers or arrays in worker processes"));
  }

  TEST_CASE("as many of them that belong to other loaders are others") {
    const auto two = loading({{0, 2}, {1, 3}}, 4, "batch", {}, "of 2");
    CHECK(compare(*two, *loading({{0, 1}, {2, 3}}, 4, "batch", {}, "of 1")).verdict ==
          Verdict::identical);
    CHECK(compare(*two, *loading({{0, 1}, {2, 3}}, 4, "batch", {}, "of 2")).verdict ==
          Verdict::diverged);
  }

  TEST_CASE("as many of them are compared one by one") {
    const Report report = compare(*loading({{0, 2}, {1}}, 2), *loading({{0, 3}, {1}}, 2));
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->rank == 1);
  }
}
