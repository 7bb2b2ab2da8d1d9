#include "cli/check/prefix_judge.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "tests/support/dump_builder.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using cli::is_final;
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

}  // namespace

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
