#include "dump/timelines.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace ulpscope;
using dump::TimelineEvent;
using dump::Timelines;
using Thread = Timelines::Thread;

namespace {

TimelineEvent event(const std::string& word, std::uint64_t epoch) {
  TimelineEvent event;
  event.epoch = epoch;
  event.flags = event_flag::grad_mode;
  if (word == "forward")
    event.root = 1, event.kind = EventKind::module, event.is_root_module = true;
  if (word == "backward") event.flags |= event_flag::in_backward;
  if (word == "own backward")
    event.flags |= event_flag::in_backward, event.kind = EventKind::node,
                                            event.follows_own_forward = true;
  if (word == "opt") event.kind = EventKind::optimizer, event.object = 1;
  return event;
}

/// Sends several lanes' words in turn, a word of each in every round, and returns each lane's
/// steps.
std::map<std::uint32_t, std::string> steps(
    const std::map<std::uint32_t, std::vector<std::string>>& lanes, std::size_t saved_after = 0) {
  Timelines timelines;
  std::map<std::uint32_t, std::string> found;
  std::map<std::uint32_t, std::vector<TimelineEvent>> undecided;
  const auto open = [&](Timelines& all) {
    for (const auto& [lane, words] : lanes)
      all.open(lane, lane == 0 ? Thread::main : Thread::of_program);
  };
  const auto collect = [&] {
    for (const auto& placement : timelines.take()) {
      found[placement.lane] += placement.step == kSetup ? "-" : std::to_string(placement.step);
      undecided[placement.lane].erase(undecided[placement.lane].begin());
    }
  };
  open(timelines);
  std::uint64_t epoch = 0;
  for (std::size_t round = 0; round < 100; ++round) {
    for (const auto& [lane, words] : lanes) {
      if (round >= words.size()) continue;
      timelines.advance(lane);
      const TimelineEvent next = event(words[round], ++epoch);
      undecided[lane].push_back(next);
      timelines.add(lane, next);
      collect();
    }
    if (saved_after == 0 || round + 1 != saved_after) continue;
    Timelines restored;
    open(restored);
    REQUIRE(restored.restore(timelines.save()));
    timelines = std::move(restored);
    for (const auto& [lane, events] : undecided)
      for (const TimelineEvent& one : events) timelines.add(lane, one);
  }
  timelines.finish();
  collect();
  return found;
}

const std::vector<std::string> kTwoSteps{"data",    "forward",  "backward", "opt",
                                         "forward", "backward", "opt"};

}  // namespace

TEST_SUITE("timelines") {
  TEST_CASE("threads that train have steps of their own") {
    const auto found = steps({{0, {"data"}},
                              {1, kTwoSteps},
                              {2,
                               {"forward", "backward", "opt", "forward", "backward", "opt",
                                "forward", "backward", "opt"}}});
    CHECK(found.at(0) == "-");
    CHECK(found.at(1) == "-000111");
    CHECK(found.at(2) == "000111222");
  }

  TEST_CASE("a thread that trains beside the main one does not change its steps") {
    const auto alone = steps({{0, kTwoSteps}});
    const auto found = steps({{0, kTwoSteps}, {1, {"forward", "backward", "opt"}}});
    CHECK(found.at(0) == alone.at(0));
    CHECK(found.at(1) == "000");
  }

  TEST_CASE("a thread that trains nothing follows the main one") {
    const auto found = steps({{0, kTwoSteps}, {1, {"data", "data", "data", "data", "data"}}});
    CHECK(found.at(0) == "-000111");
    CHECK(found.at(1) == "-0001");
  }

  TEST_CASE("a thread that runs backward of its own ops does not follow the main one") {
    const auto found =
        steps({{0, kTwoSteps}, {1, {"data", "data", "own backward", "data", "data"}}});
    CHECK(found.at(0) == "-000111");
    CHECK(found.at(1) == "-----");
  }

  TEST_CASE("timelines saved in the middle go on as if they had not been") {
    const std::map<std::uint32_t, std::vector<std::string>> lanes{
        {0, {"data", "data"}}, {1, kTwoSteps}, {2, {"forward", "backward", "opt"}}};
    const auto whole = steps(lanes);
    for (std::size_t after = 1; after < kTwoSteps.size(); ++after)
      CHECK(steps(lanes, after) == whole);
  }

  TEST_CASE("a lane is called a trainer once it has trained") {
    Timelines timelines;
    timelines.open(0, Thread::main);
    timelines.open(1, Thread::of_program);
    timelines.open(2, Thread::of_library);
    for (const std::uint32_t lane : {0U, 1U, 2U}) timelines.add(lane, event("forward", lane + 1));
    CHECK_FALSE(timelines.is_trainer(1));
    for (const std::uint32_t lane : {0U, 1U, 2U}) timelines.add(lane, event("backward", lane + 4));
    CHECK_FALSE(timelines.is_trainer(0));
    CHECK(timelines.is_trainer(1));
    CHECK_FALSE(timelines.is_trainer(2));
  }
}
