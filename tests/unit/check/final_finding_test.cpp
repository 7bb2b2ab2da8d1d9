#include "cli/check/final_finding.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "tests/support/dump_builder.hpp"
#include "tests/support/run_builder.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using cli::is_final;
using cli::partners_are_there;
using test::DumpBuilder;
using test::LaneBuilder;
using test::TempDir;

namespace {

enum class Until { end, inside_module, inside_op };

/// An op inside an op inside a module, recorded so far.
class Recorded {
 public:
  explicit Recorded(Until until) {
    DumpBuilder dump(dir_.path());
    LaneBuilder& lane = dump.lane();
    lane.begin(EventKind::module, "Linear::forward").root("Net").module("fc");
    lane.begin(EventKind::op, "aten::linear").root("Net").module("fc");
    lane.op("aten::addmm").root("Net").module("fc").output({.digest = 1});
    if (until != Until::inside_op) lane.end();
    if (until == Until::end) lane.end();
    dump.finish(until == Until::end ? "" : "it runs");
    run_ = open_dump(dir_.path());
  }
  const Run& operator*() const { return *run_; }

 private:
  TempDir dir_;
  std::unique_ptr<Run> run_;
};

Finding found(FindingKind kind) {
  Finding finding;
  finding.kind = kind;
  finding.step = 0;
  finding.op = "aten::addmm";
  finding.event = {2, 2};
  return finding;
}

bool is_final_in_open_step(const Finding& finding, Until until) {
  return is_final(finding, *Recorded(Until::end), *Recorded(until), 0);
}

/// So many threads train for so many steps.
std::unique_ptr<Run> trained(std::uint32_t threads, std::int64_t steps, bool complete = false) {
  test::RunBuilder run;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    run.lane(LaneRole::trainer, thread);
    for (std::int64_t step = 0; step < steps; ++step) {
      run.step(step).phase(Phase::forward);
      run.op("aten::exp").in(run.data(test::labelled("x"))).out(test::labelled("y"));
    }
  }
  if (!complete) run.incomplete("it runs");
  return run.build();
}

Report diverged_at(std::int64_t step) {
  Report report;
  report.verdict = Verdict::diverged;
  report.findings.push_back(found(FindingKind::data));
  report.findings.front().step = step;
  report.findings.front().lane = "trainer 1";
  return report;
}

}  // namespace

TEST_SUITE("whether a difference is of partners") {
  TEST_CASE("threads are, once each has one or those of one run are known") {
    const Report report = diverged_at(0);
    CHECK_FALSE(partners_are_there(report, *trained(3, 5, true), *trained(2, 5), kSetup));
    CHECK(partners_are_there(report, *trained(3, 5, true), *trained(3, 5), kSetup));
    CHECK(partners_are_there(report, *trained(3, 5, true), *trained(2, 5, true), kSetup));
  }

  TEST_CASE("while both run, others may begin until threads have agreed for a step or for long") {
    CHECK_FALSE(partners_are_there(diverged_at(0), *trained(2, 5), *trained(2, 5), kSetup));
    CHECK(partners_are_there(diverged_at(1), *trained(2, 5), *trained(2, 5), kSetup));
    CHECK_FALSE(partners_are_there(diverged_at(12), *trained(2, 20), *trained(2, 20), 12));
    CHECK_FALSE(partners_are_there(diverged_at(1), *trained(2, 5), *trained(3, 5), kSetup));
    CHECK(partners_are_there(diverged_at(0), *trained(2, 70), *trained(2, 70), kSetup));
    Report unlike = diverged_at(1);
    unlike.findings.push_back(found(FindingKind::sequence));
    CHECK_FALSE(partners_are_there(unlike, *trained(2, 5), *trained(2, 5), kSetup));
  }

  TEST_CASE("the main thread always is before its first step") {
    Report report = diverged_at(0);
    report.findings.front().step.reset();
    CHECK_FALSE(partners_are_there(report, *trained(2, 5), *trained(3, 5), kSetup));
    report.findings.front().lane = "main";
    CHECK(partners_are_there(report, *trained(2, 5), *trained(3, 5), kSetup));
  }
}

TEST_SUITE("whether a difference is final") {
  TEST_CASE("an origin is as soon as the ops around it have ended") {
    CHECK_FALSE(is_final_in_open_step(found(FindingKind::origin), Until::inside_op));
    CHECK(is_final_in_open_step(found(FindingKind::origin), Until::inside_module));
    CHECK(is_final_in_open_step(found(FindingKind::origin), Until::end));
  }

  TEST_CASE("an op that one run alone has is not before its step is over") {
    Finding finding = found(FindingKind::sequence);
    finding.event.reference.reset();
    CHECK_FALSE(is_final_in_open_step(finding, Until::end));
    CHECK(is_final(finding, *Recorded(Until::end), *Recorded(Until::end), 1));
  }

  TEST_CASE("another argument is if an outcome differs: until then it may be absorbed") {
    Finding finding = found(FindingKind::arguments);
    CHECK_FALSE(is_final_in_open_step(finding, Until::end));
    finding.in_outcome = true;
    CHECK(is_final_in_open_step(finding, Until::end));
  }
}
