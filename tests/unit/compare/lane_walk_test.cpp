#include "compare/align/lane_walk.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "compare/align/storage_pairs.hpp"
#include "tests/support/memory_run.hpp"
#include "tests/support/run_builder.hpp"

using namespace ulpscope;
using namespace ulpscope::comparison;
using namespace ulpscope::test;

namespace {

/// Three ops that do not depend on each other, in this order.
std::unique_ptr<MemoryRun> in_order(const std::vector<std::string>& ops) {
  RunBuilder run;
  const Tensor x = run.data(labelled("x"));
  run.step(0).phase(Phase::forward);
  for (const std::string& op : ops) run.op("aten::" + op).in(x).out(labelled(op));
  return run.build();
}

}  // namespace

TEST_SUITE("lane walk") {
  TEST_CASE("an op is passed where the walk comes to it, whatever the order") {
    const auto reference = in_order({"exp", "sin", "tanh"});
    const auto candidate = in_order({"tanh", "sin", "exp"});
    const Lane lane = reference->lanes(0).front();
    const StoragePairs storages;
    LaneWalk walk({reference.get(), candidate.get()}, {0, 0}, {lane, lane}, false, storages);
    walk.begin(StepsToCompare::one(0, 0), {});
    const Window& window = *walk.scene().windows.candidate;
    const std::uint64_t first = window.event(window.items().front().event).position;
    CHECK(walk.entries().size() == 3);
    for (; !walk.at_end(); walk.next()) CHECK_FALSE(walk.has_passed(Side::candidate, first));
    CHECK(walk.has_passed(Side::candidate, first));
  }
}
