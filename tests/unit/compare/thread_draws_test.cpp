#include <string>
#include <vector>

#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// One of three threads draws and computes with that.
void draw_in_thread(RunBuilder& run, std::uint32_t thread, const std::string& as = "") {
  run.lane(LaneRole::thread, thread, "", "train+11a0").step(0).phase(Phase::forward);
  const std::string position = std::to_string(run.drawn());
  const Tensor drawn = run.op("aten::rand").draws(1).out(labelled("drawn" + position));
  run.op("aten::tanh").in(drawn).out(labelled("tanh" + position + as));
}

/// What a job computes with the numbers that it draws.
enum class With { what_the_job_before_left, what_the_job_before_read, its_own };

/// Jobs of a queue, each in one of two threads.
void draw_in_jobs(RunBuilder& run, const std::vector<std::uint32_t>& threads, With with) {
  run.lane(LaneRole::main, 0).step(0).phase(Phase::forward);
  Tensor left = run.op("aten::zeros").out(labelled("left"));
  for (const std::uint32_t thread : threads) {
    run.lane(LaneRole::thread, thread, "", "train+11a0").step(0).phase(Phase::forward);
    const std::string position = std::to_string(run.drawn());
    const Tensor read = run.op("aten::relu").in(left).out(labelled("read" + position));
    const Tensor drawn = run.op("aten::rand").draws(1).out(labelled("drawn" + position));
    const Tensor scaled = run.op("aten::mul").in(drawn).out(labelled("scaled" + position));
    const Tensor own = run.op("aten::tanh").in(read).out(labelled("own" + position));
    const Tensor made = run.op("aten::add")
                            .in(scaled)
                            .in(with == With::its_own ? own : left)
                            .out(labelled("made" + position));
    left = with == With::what_the_job_before_left ? made : own;
    if (with == With::its_own)
      run.op("aten::add_").in(made).in(left).out(labelled("sum" + position));
  }
}

void draw_in_order(RunBuilder& run, const std::vector<std::uint32_t>& threads) {
  run.lane(LaneRole::main, 0).step(0).phase(Phase::forward);
  run.op("aten::rand").draws(1).out(labelled("drawn" + std::to_string(run.drawn())));
  for (const std::uint32_t thread : threads) draw_in_thread(run, thread);
}

}  // namespace

TEST_SUITE("draws of threads") {
  TEST_CASE("threads that draw in the same order are equal") {
    const Report report = report_of(
        [](RunBuilder& run) {
          draw_in_order(run, {0, 1, 2});
        },
        [](RunBuilder& run) {
          draw_in_order(run, {0, 1, 2});
        });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("which of several threads got which numbers is not known to be equal") {
    const Report report = report_of(
        [](RunBuilder& run) {
          draw_in_order(run, {0, 1, 2});
        },
        [](RunBuilder& run) {
          draw_in_order(run, {1, 0, 2});
        });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "threads draw from one generator in another order"));
  }

  TEST_CASE(
      "jobs that compute with what the one before has drawn do not race, in whichever thread") {
    const Report report = report_of(
        [](RunBuilder& run) {
          draw_in_jobs(run, {0, 1, 0}, With::what_the_job_before_left);
        },
        [](RunBuilder& run) {
          draw_in_jobs(run, {0, 0, 1}, With::what_the_job_before_left);
        });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("jobs that compute with what the one before has not drawn do race") {
    const Report report = report_of(
        [](RunBuilder& run) {
          draw_in_jobs(run, {0, 1, 0}, With::what_the_job_before_read);
        },
        [](RunBuilder& run) {
          draw_in_jobs(run, {0, 0, 1}, With::what_the_job_before_read);
        });
    CHECK(report.verdict == Verdict::inconclusive);
    CHECK(has(report.summary, "threads draw from one generator in another order"));
  }

  TEST_CASE("threads that do their own work go by number where they race for a generator") {
    const Report report = report_of(
        [](RunBuilder& run) {
          draw_in_order(run, {0, 1, 2, 2});
        },
        [](RunBuilder& run) {
          draw_in_order(run, {1, 0, 2});
          draw_in_thread(run, 2, " otherwise");
        });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.first()->kind == FindingKind::rng);
    CHECK(report.first()->lane == "thread 0");
    CHECK(first_cause(report) == "thread-rng");
  }

  TEST_CASE("which thread draws from a generator of its own is no difference") {
    const auto draw = [](RunBuilder& run, std::uint32_t thread, std::uint64_t seed) {
      run.lane(LaneRole::thread, thread, "", "train+11a0").step(0).phase(Phase::forward).seed(seed);
      run.op("aten::rand").draws_from_own(1).out(labelled("drawn of " + std::to_string(seed)));
    };
    const Report report = report_of(
        [&](RunBuilder& run) {
          draw(run, 0, 1);
          draw(run, 1, 2);
        },
        [&](RunBuilder& run) {
          draw(run, 0, 2);
          draw(run, 1, 1);
        });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a thread that others read may draw at any time") {
    const auto program = [](RunBuilder& run, const std::vector<std::uint32_t>& threads) {
      std::vector<Tensor> drawn;
      for (const std::uint32_t thread : threads) {
        run.lane(LaneRole::thread, thread, "", "train+11a0").step(0).phase(Phase::data);
        drawn.push_back(
            run.op("aten::rand").draws(1).out(labelled("drawn" + std::to_string(run.drawn()))));
      }
      run.lane(LaneRole::main, 0).phase(Phase::forward);
      for (const Tensor& tensor : drawn)
        run.op("aten::tanh").in(tensor).out(labelled("tanh" + run.content_words(tensor)));
    };
    const Report report = report_of(
        [&](RunBuilder& run) {
          program(run, {0, 1});
        },
        [&](RunBuilder& run) {
          program(run, {1, 0});
        });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("a draw that one run alone makes in a thread that is joined is why others differ") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      for (const std::uint32_t thread : {0U, 1U}) {
        run.lane(LaneRole::trainer, thread, "", "train+11a0").step(0).phase(Phase::forward);
        const std::string position = std::to_string(run.drawn());
        const Tensor drawn = run.op("aten::rand").draws(1).out(labelled("drawn" + position));
        run.op("aten::tanh").in(drawn).out(labelled("tanh" + position));
        if (changed && thread == 0) run.op("aten::randn").draws(1).out(labelled("unused"));
      }
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(diverging(report) == 1);
    CHECK(report.first()->kind == FindingKind::sequence);
    CHECK(report.first()->lane == "trainer 0");
    CHECK(first_cause(report) == "rng-shift");
  }
}
