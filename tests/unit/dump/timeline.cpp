#include "dump/timeline.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

using namespace ulpscope;
using dump::Timeline;
using dump::TimelineEvent;

namespace {

constexpr std::uint32_t kGrad = event_flag::grad_mode;

/// A program in words, one event each. "d1" and the like set the depth of the next word.
///   data, forward, loss: ops in grad mode, with a root for forward; G: forward of another root
///   backward: inside the engine; grad: the same in grad mode
///   clip, eval: ops without grad mode, eval with a root; what reads parameters says so
///   infer, infer2: modules of a root's forward without grad mode; peek: views of its parameters
///   zero: zero_grad; opt, opt2: an optimizer's step; step: the program called step()
///   parameters: a read of a root's parameters, taken without grad mode
///   function: an op without grad mode; trains: an op that trains on what the last of them made
///   graph: an op of a graph outside of modules; leaf: an op without grad mode that writes what the
///   graph trains; hidden: the same of what the graph has made; data_leaf: the same in grad mode,
///   through `data`; compiled: a compiled function update, updateG: ops that write a parameter of a
///   root without grad mode; through: the same in grad mode, through `data`; root: the root
///   module's event
TimelineEvent event(const std::string& word) {
  TimelineEvent event;
  event.flags = kGrad;
  if (word == "forward" || word == "G") event.root = word == "G" ? 2 : 1;
  if (word == "forward") event.module = 5;
  if (word == "deeper") event.root = 1, event.module = 6;
  if (word == "root") event.root = 1, event.module = 4, event.kind = EventKind::module;
  if (word == "root") event.is_root_module = true;
  if (word == "backward") event.flags = event_flag::in_backward;
  if (word == "grad") event.flags = kGrad | event_flag::in_backward;
  if (word == "clip" || word == "update" || word == "eval" || word == "function") event.flags = 0;
  if (word == "eval") event.root = 1;
  if (word == "infer" || word == "infer2") event.flags = 0, event.root = 1, event.module = 5;
  if (word == "infer2") event.module = 6;
  if (word == "parameters") event.flags = 0, event.root = 1, event.kind = EventKind::parameters;
  if (word == "peek") event.root = 1, event.module = 5;
  if (word == "peek") event.flags = event_flag::module_from_parameter | event_flag::view;
  if (word == "update") event.writes_parameter = true, event.root = 1, event.module = 5;
  if (word == "through") event.writes_parameter = true, event.root = 1, event.module = 5;
  if (word == "updateG") event.writes_parameter = true, event.root = 2, event.module = 5;
  if (word == "updateG") event.flags = 0;
  if (word == "graph") event.extends_graph = true;
  if (word == "graph") event.uses = {{.storage = 9, .is_read = true, .trains = true}};
  if (word == "compiled") event.extends_graph = true, event.kind = EventKind::scope;
  if (word == "hidden") event.uses = {{.storage = 8, .is_written = true, .trains = true}};
  if (word == "graph") event.uses.push_back({.storage = 8, .is_written = true, .trains = true});
  if (word == "hidden") event.flags = 0;
  if (word == "leaf" || word == "data_leaf")
    event.uses = {{.storage = 9, .is_written = true, .trains = word == "leaf"}};
  if (word == "leaf") event.flags = 0;
  if (word == "zero") event.kind = EventKind::zero_grad;
  if (word == "opt" || word == "opt2" || word == "lbfgs") event.kind = EventKind::optimizer;
  if (word == "opt" || word == "lbfgs") event.object = 1;
  if (word == "opt2") event.object = 2;
  if (word == "step") event.kind = EventKind::step;
  if (word == "to") event.root = 1, event.flags = kGrad | event_flag::module_from_parameter;
  if (word == "to" || word == "eval" || word == "infer" || word == "infer2")
    event.uses = {{.storage = 1, .is_read = true, .is_named = true}};
  return event;
}

std::vector<TimelineEvent> program(const std::vector<std::string>& words) {
  std::vector<TimelineEvent> events;
  std::uint16_t depth = 0;
  std::uint64_t function = kNone;
  for (const auto& word : words) {
    if (word[0] == 'd' && word.size() == 2) {
      depth = static_cast<std::uint16_t>(word[1] - '0');
      continue;
    }
    auto& next = events.emplace_back(event(word));
    next.epoch = next.position = events.size();
    next.depth = depth;
    if (word == "function") function = next.position;
    if (word == "trains") next.trained_writers[0] = function;
  }
  return events;
}

/// "step:phase" of every event of the program, with the phase's first letter.
std::string places(Timeline& timeline, const std::vector<std::string>& words) {
  timeline.open(0, true);
  for (const auto& next : program(words)) timeline.add(0, next);
  timeline.finish();
  std::string text;
  for (const auto& placement : timeline.take()) {
    if (!text.empty()) text += ' ';
    text += placement.step == kSetup ? std::string("-") : std::to_string(placement.step);
    text += name(placement.phase)[0];
  }
  return text;
}

std::string places(const std::vector<std::string>& words) {
  Timeline timeline;
  return places(timeline, words);
}

/// A timeline that is saved and restored after any number of words decides as one that is not.
void check_every_cut(const std::vector<std::string>& words) {
  const std::vector<TimelineEvent> events = program(words);
  std::vector<std::pair<std::int64_t, Phase>> whole;
  for (std::size_t cut = 0; cut <= events.size(); ++cut) {
    CAPTURE(cut);
    Timeline first;
    first.open(0, true);
    std::vector<std::pair<std::int64_t, Phase>> placed;
    const auto collect = [&](Timeline& timeline) {
      for (const auto& placement : timeline.take()) {
        placed.emplace_back(placement.step, placement.phase);
      }
    };
    const auto add = [&](Timeline& timeline, std::size_t i) {
      timeline.add(0, events[i]);
      timeline.advance(0);
    };
    for (std::size_t i = 0; i < cut; ++i) add(first, i);
    collect(first);
    Timeline second;
    second.open(0, true);
    REQUIRE(second.restore(first.save()));
    for (std::size_t i = placed.size(); i < events.size(); ++i) add(second, i);
    second.finish();
    collect(second);
    if (cut == 0) whole = placed;
    CHECK(placed == whole);
  }
}

}  // namespace

TEST_SUITE("timeline") {
  TEST_CASE("what comes before the first root forward is setup") {
    CHECK(places({"data", "clip", "to", "eval", "zero", "forward"}) == "-s -s -s -s -s 0f");
  }

  TEST_CASE("a step runs from what prepares its forward to its optimizer, its phases in order") {
    CHECK(places({"data", "forward", "loss", "backward", "clip", "opt", "data",  //
                  "forward", "loss", "backward", "clip", "opt", "data"}) ==
          "-s 0f 0f 0b 0o 0o 1d 1f 1f 1b 1o 1o 1d");
  }

  TEST_CASE("what follows gradients that are part of the loss is still forward") {
    CHECK(places({"forward", "grad", "loss", "grad", "loss", "forward", "loss", "backward", "clip",
                  "opt", "data", "forward"}) == "0f 0b 0f 0b 0f 0f 0f 0b 0o 0o 0d 0f");
  }

  TEST_CASE("zero_grad belongs to the optimizer wherever it stands") {
    CHECK(places({"forward", "zero", "d1", "clip", "d0", "backward", "opt", "zero", "data"}) ==
          "0f 0o 0o 0b 0o 0o 0d");
  }

  TEST_CASE("accumulated gradients are one step") {
    CHECK(places({"forward", "backward", "data", "forward", "backward", "clip", "opt",  //
                  "forward", "backward", "forward", "backward", "opt"}) ==
          "0f 0b 0d 0f 0b 0o 0o 1f 1b 1f 1b 1o");
  }

  TEST_CASE("a skipped optimizer step joins its step to the next") {
    CHECK(places({"forward", "backward", "opt", "forward", "backward", "zero",  //
                  "forward", "backward", "opt", "forward", "backward"}) ==
          "0f 0b 0o 1f 1b 1o 1f 1b 1o 2f 2b");
  }

  TEST_CASE("optimizers that alternate make one step") {
    CHECK(places({"forward", "backward", "opt", "G", "backward", "opt2", "data",  //
                  "forward", "backward", "opt", "G", "backward", "opt2"}) ==
          "0f 0b 0o 0f 0b 0o 1d 1f 1b 1o 1f 1b 1o");
  }

  TEST_CASE("an optimizer that takes the place of another one begins a step") {
    CHECK(places({"forward", "backward", "opt", "d1", "update", "d0",   //
                  "forward", "backward", "opt2", "d1", "update", "d0",  //
                  "forward", "backward", "opt2", "d1", "update"}) ==
          "0f 0b 0o 0o 1f 1b 1o 1o 2f 2b 2o 2o");
    CHECK(places({"forward", "backward", "opt", "d1", "update", "d0",  //
                  "G", "backward", "opt2", "d1", "updateG", "d0",      //
                  "forward", "backward", "opt", "d1", "update"}) ==
          "0f 0b 0o 0o 0f 0b 0o 0o 1f 1b 1o 1o");
  }

  TEST_CASE("two optimizers that step one after the other make one step") {
    CHECK(places({"forward", "backward", "opt", "clip", "opt2", "forward", "backward", "opt",
                  "opt2", "forward", "backward"}) == "0f 0b 0o 0o 0o 1f 1b 1o 1o 2f 2b");
  }

  TEST_CASE("a critic that steps more often begins a step each time") {
    CHECK(places({"forward", "backward", "opt", "forward", "backward", "opt", "G", "backward",
                  "opt2", "forward", "backward", "opt"}) == "0f 0b 0o 1f 1b 1o 1f 1b 1o 2f 2b 2o");
  }

  TEST_CASE("an optimizer that takes over from another one begins a step") {
    CHECK(places({"forward", "backward", "opt",  "forward", "backward", "opt",  //
                  "G",       "backward", "opt2", "d1",      "updateG",  "d0",   //
                  "G",       "backward", "opt2", "d1",      "updateG",  "d0",
                  "G",       "backward", "opt2"}) ==
          "0f 0b 0o 1f 1b 1o 2f 2b 2o 2o 3f 3b 3o 3o 4f 4b 4o");
    CHECK(places({"forward", "backward", "opt2", "forward", "backward", "opt2",        //
                  "lbfgs",   "d1",       "zero", "forward", "backward", "clip", "d0",  //
                  "lbfgs",   "d1",       "zero", "forward", "backward", "clip", "d0"}) ==
          "0f 0b 0o 1f 1b 1o 2o 2o 2f 2b 2o 3o 3o 3f 3b 3o");
  }

  TEST_CASE("evaluation between steps is neither a forward nor a step") {
    CHECK(places({"forward", "backward", "opt", "eval", "eval", "data", "forward", "backward",
                  "opt"}) == "0f 0b 0o 0e 0e 1d 1f 1b 1o");
  }

  TEST_CASE("metrics without grad mode are eval, the loss around them forward") {
    CHECK(places({"forward", "eval", "loss", "backward", "opt"}) == "0f 0e 0f 0b 0o");
  }

  TEST_CASE(
      "what trains belongs to the forward though an autograd function makes it without grad") {
    CHECK(places({"forward", "function", "d1", "function", "d0", "trains", "backward", "opt"}) ==
          "0f 0f 0f 0f 0b 0o");
    CHECK(places({"forward", "eval", "loss", "function", "loss", "trains", "eval", "backward"}) ==
          "0f 0e 0f 0f 0f 0f 0e 0b");
  }

  TEST_CASE("what an op calls has the op's phase whatever its grad mode") {
    CHECK(places({"forward", "d1", "clip", "d0", "backward", "loss", "d1", "clip", "d0", "opt"}) ==
          "0f 0f 0b 0o 0o 0o");
  }

  TEST_CASE("what one optimizer of several leaves for the next is of their step") {
    CHECK(places({"forward", "backward", "opt", "data", "G", "backward", "opt2", "data", "forward",
                  "backward", "opt", "data", "G", "backward", "opt2"}) ==
          "0f 0b 0o 0d 0f 0b 0o 1d 1f 1b 1o 1d 1f 1b 1o");
  }

  TEST_CASE("a closure keeps forward and backward inside the optimizer") {
    CHECK(places({"data", "lbfgs", "d1", "zero", "forward", "backward", "clip", "forward",
                  "backward", "clip", "d0", "data", "lbfgs", "d1", "zero", "forward", "backward",
                  "clip"}) == "-s 0o 0o 0f 0b 0o 0f 0b 0o 1d 1o 1o 1f 1b 1o");
  }

  TEST_CASE("how parameters stand belongs to what changed them") {
    CHECK(places({"parameters", "forward", "backward", "opt", "parameters"}) == "-s 0f 0b 0o 0o");
    CHECK(places({"lbfgs", "d1", "parameters", "forward", "backward"}) == "0o 0o 0f 0b");
  }

  TEST_CASE("step() calls count the steps once there is one") {
    CHECK(places({"forward", "backward", "opt", "step", "data", "forward", "backward", "opt",
                  "forward", "backward", "opt", "step", "data", "forward"}) ==
          "0f 0b 0o 0d 1d 1f 1b 1o 1f 1b 1o 1d 2d 2f");
  }

  TEST_CASE("step() counts steps where no root module is known") {
    CHECK(places({"data", "step", "loss", "backward", "step", "loss"}) == "-s -s 0d 0b 0o 1d");
  }

  TEST_CASE("what comes after step() belongs to the new step, also before its first event") {
    Timeline timeline;
    timeline.open(0, true);
    std::uint64_t epoch = 0;
    for (const auto* word : {"forward", "backward", "opt", "step", "data", "forward"}) {
      auto next = event(word);
      next.epoch = epoch += 10;
      timeline.add(0, next);
    }
    timeline.finish();
    CHECK(timeline.step_at(40) == 0);
    CHECK(timeline.step_at(41) == 1);
  }

  TEST_CASE("without optimizer every root forward is a step") {
    CHECK(places({"root", "d1", "forward", "d0", "data", "root", "d1", "forward"}) ==
          "0f 0f 0f 1f 1f");
    CHECK(places({"forward", "deeper", "backward", "forward", "deeper", "backward"}) ==
          "0f 0f 0b 1f 1f 1b");
    CHECK(places({"forward", "deeper", "forward", "deeper"}) == "0f 0f 1f 1f");
  }

  TEST_CASE("a loss that is a root of its own belongs to the forward before it") {
    CHECK(places({"forward", "G", "backward", "forward", "G", "backward"}) == "0f 0f 0b 1f 1f 1b");
    CHECK(places({"forward", "G", "forward", "G"}) == "0f 0f 1f 1f");
    CHECK(places({"forward", "G", "G"}) == "0f 0f 1f");
  }

  TEST_CASE("without grad mode every root forward is a step where nothing trains") {
    CHECK(places({"data", "peek", "infer", "infer2", "clip", "data", "infer", "infer2", "peek"}) ==
          "-s -s 0e 0e 0e 0d 1e 1e 1e");
    CHECK(places({"infer", "infer2", "infer", "infer2", "infer"}) == "0e 0e 1e 1e 2e");
  }

  TEST_CASE("an evaluation before the training belongs to setup") {
    CHECK(places({"infer", "infer2", "infer", "infer2", "forward", "backward", "opt", "infer",
                  "infer2", "infer", "forward", "backward", "opt"}) ==
          "-s -s -s -s 0f 0b 0o 0e 0e 0e 1f 1b 1o");
  }

  TEST_CASE("a program that only infers is not held for ever") {
    Timeline timeline;
    timeline.open(0, true);
    const std::uint64_t count = Timeline::kMostHeld + 10;
    for (std::uint64_t i = 0; i < count; ++i) {
      auto next = event(i % 2 == 0 ? "infer" : "infer2");
      next.epoch = i;
      timeline.add(0, next);
    }
    timeline.advance(0);
    const auto placements = timeline.take();
    REQUIRE(placements.size() == count);
    CHECK(placements.back().step == static_cast<std::int64_t>(count / 2) - 1);
    CHECK(placements.back().phase == Phase::eval);
  }

  TEST_CASE("a module called twice in a row is one forward") {
    CHECK(places({"forward", "forward", "deeper", "backward", "opt"}) == "0f 0f 0f 0b 0o");
  }

  TEST_CASE("an optimizer that nobody announced is known by its writes to parameters") {
    CHECK(places({"update", "forward", "backward", "clip", "update", "d1", "clip", "d0", "update",
                  "data", "forward", "backward", "update"}) == "-s 0f 0b 0o 0o 0o 0o 1d 1f 1b 1o");
    CHECK(places({"through", "forward", "backward", "clip", "through", "through", "data", "forward",
                  "backward", "clip", "through"}) == "-s 0f 0b 0o 0o 0o 1d 1f 1b 1o 1o");
  }

  TEST_CASE("tensors that belong to no module train in steps as well") {
    CHECK(places({"data", "graph", "graph", "zero", "backward", "clip", "opt", "data",  //
                  "graph", "zero", "backward", "opt", "data"}) ==
          "-s 0f 0f 0o 0b 0o 0o 1d 1f 1o 1b 1o 1d");
  }

  TEST_CASE("a closure that runs a graph without modules is a step") {
    CHECK(places({"data", "lbfgs", "d1", "zero", "graph", "backward", "clip", "d0",  //
                  "lbfgs", "d1", "zero", "graph", "backward", "d0"}) ==
          "-s 0o 0o 0f 0b 0o 1o 1o 1f 1b");
  }

  TEST_CASE("writes to tensors that a graph without modules trains are an optimizer's") {
    for (const std::string leaf : {"leaf", "data_leaf"}) {
      CAPTURE(leaf);
      CHECK(places({"data", "graph", "backward", leaf, "graph", "backward", leaf}) ==
            "-s 0f 0b 0o 1f 1b 1o");
    }
  }

  TEST_CASE("what is quiet inside a compiled function of a program without modules is forward") {
    CHECK(places({"data", "compiled", "d1", "function", "d0", "backward", "opt",  //
                  "data", "compiled", "d1", "function", "d0", "trains", "backward", "opt"}) ==
          "-s 0f 0f 0b 0o 1d 1f 1f 1f 1b 1o");
  }

  TEST_CASE("a write to what a graph without modules has made is no update") {
    CHECK(places({"graph", "backward", "hidden", "leaf", "graph", "backward", "hidden", "leaf"}) ==
          "0f 0b 0o 0o 1f 1b 1o 1o");
  }

  TEST_CASE("a graph without modules that no optimizer follows belongs to setup") {
    CHECK(places({"graph", "backward", "data", "forward", "backward", "opt"}) ==
          "-s -b -s 0f 0b 0o");
  }

  TEST_CASE("a run that ends after an unfinished step has begun counts it") {
    CHECK(places({"forward", "backward", "opt", "forward", "backward"}) == "0f 0b 0o 1f 1b");
    CHECK(places({"forward", "backward", "opt", "G", "backward", "opt2", "forward", "backward",
                  "opt", "G"}) == "0f 0b 0o 0f 0b 0o 1f 1b 1o 1f");
  }

  TEST_CASE("looking at the model after the last step begins no step") {
    CHECK(places({"forward", "backward", "opt", "forward"}) == "0f 0b 0o 0f");
  }

  TEST_CASE("moving parameters about is no forward") {
    CHECK(places({"to", "forward", "backward", "opt", "to", "forward", "backward", "opt"}) ==
          "-s 0f 0b 0o 0d 1f 1b 1o");
  }

  TEST_CASE("nothing is held once too much would be") {
    Timeline timeline;
    timeline.open(0, true);
    auto next = event("forward");
    for (std::uint64_t i = 0; i < Timeline::kMostHeld + 10; ++i) {
      next.epoch = i;
      next.module = i % 2 == 0 ? 5 : 6;
      timeline.add(0, next);
      if (i == 0 || i == 1) timeline.add(0, event("backward"));
    }
    timeline.advance(0);
    CHECK(timeline.take().size() == Timeline::kMostHeld + 12);
  }

  TEST_CASE("a forward longer than what is held begins its step") {
    Timeline timeline;
    timeline.open(0, true);
    std::uint64_t epoch = 0;
    const auto add = [&](const char* word) {
      auto next = event(word);
      next.epoch = ++epoch;
      timeline.add(0, next);
    };
    for (int step = 0; step < 3; ++step) {
      add("forward");
      for (std::size_t i = 0; i < Timeline::kMostHeld; ++i) add("deeper");
      add("backward");
      add("opt");
    }
    timeline.finish();
    const auto placements = timeline.take();
    REQUIRE(placements.size() == 3 * (Timeline::kMostHeld + 3));
    CHECK(placements.back().step == 2);
    CHECK(placements[Timeline::kMostHeld + 3].step == 1);
  }
}

TEST_SUITE("timeline of several lanes") {
  TEST_CASE("events of other lanes follow the leader by epoch") {
    Timeline timeline;
    timeline.open(0, true);
    timeline.open(1, false);
    const std::vector<std::string> words = {"forward", "backward", "opt",
                                            "forward", "backward", "opt"};
    for (std::size_t i = 0; i < words.size(); ++i) {
      auto next = event(words[i]);
      next.epoch = 10 * (i + 1);
      timeline.add(0, next);
    }
    for (const std::uint64_t epoch : {5, 15, 35, 45, 70}) {
      auto next = event("data");
      next.epoch = epoch;
      timeline.add(1, next);
    }
    timeline.advance(0);
    timeline.advance(1);
    timeline.finish();
    std::string steps;
    for (const auto& placement : timeline.take()) {
      if (placement.lane == 1) steps += std::to_string(placement.step) + ' ';
    }
    CHECK(steps == "-1 0 0 1 1 ");
  }

  TEST_CASE("backward on another lane ends the leader's forward") {
    Timeline timeline;
    timeline.open(0, true);
    timeline.open(1, false);
    auto place = [&](std::uint32_t lane, const char* word, std::uint64_t epoch) {
      auto next = event(word);
      next.epoch = epoch;
      timeline.add(lane, next);
    };
    place(0, "forward", 1);
    place(0, "loss", 2);
    place(0, "loss", 5);  // clipping, in grad mode: only the other lane's backward shows it
    place(0, "opt", 6);
    place(1, "backward", 3);
    place(1, "backward", 4);
    timeline.finish();
    std::string main;
    std::string other;
    for (const auto& placement : timeline.take()) {
      (placement.lane == 0 ? main : other) += name(placement.phase)[0];
    }
    CHECK(main == "ffoo");
    CHECK(other == "bb");
  }

  TEST_CASE("threads that only run forwards do not take the lead") {
    Timeline timeline;
    timeline.open(0, true);
    timeline.open(1, false);
    std::uint64_t epoch = 0;
    for (const char* word : {"forward", "deeper", "forward", "deeper"}) {
      auto next = event(word);
      next.epoch = ++epoch;
      timeline.add(1, next);
    }
    timeline.advance(1);
    timeline.finish();
    for (const auto& placement : timeline.take()) CHECK(placement.step == kSetup);
  }

  TEST_CASE("a timeline saved in the middle goes on as if it had not been") {
    const std::vector<std::string> words = {
        "data", "forward", "backward", "clip", "opt",      "data", "forward", "backward",
        "opt",  "opt2",    "zero",     "eval", "data",     "G",    "loss",    "backward",
        "clip", "opt",     "forward",  "loss", "backward", "opt2", "data",    "forward"};
    check_every_cut(words);
    check_every_cut({"forward", "backward", "opt", "d1", "update", "d0", "forward", "eval", "loss",
                     "backward", "opt2", "d1", "update", "d0", "forward", "backward", "opt2"});
  }

  TEST_CASE("a timeline of a program without modules is saved at any time as well") {
    check_every_cut({"data", "graph", "backward", "data_leaf", "data", "graph", "backward",
                     "data_leaf", "graph"});
  }

  TEST_CASE("a timeline saved while nothing but inference was seen goes on as well") {
    check_every_cut({"data", "infer", "infer2", "clip", "infer", "infer2"});
    check_every_cut({"data", "infer", "infer2", "infer", "forward", "backward", "opt", "forward"});
  }
}
