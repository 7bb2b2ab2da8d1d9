// Does one dangerous thing while it trains:
//
//     fault_program NAME [COUNT]
//
// NAME is a hazard, or train (COUNT steps), or tiny-ops (COUNT ops outside of any training).
// Without a name it lists all.

#include <cstdio>
#include <cstdlib>

#include "hazards.hpp"
#include "progress.hpp"
#include "training.hpp"

namespace {

void train(int steps) {
  faults::Training training;
  training.steps(steps);
  faults::say("%s", training.digest().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  faults::Hazards hazards;
  faults::add_endings(hazards);
  faults::add_processes(hazards);
  faults::add_threads(hazards);
  faults::add_signals(hazards);
  faults::add_limits(hazards);
  faults::add_libraries(hazards);
  faults::add_sandboxes(hazards);
  const std::string_view name = argc > 1 ? argv[1] : "";
  const long count = argc > 2 ? std::atol(argv[2]) : 12;
  if (name.empty()) {
    for (const auto& [each, run] : hazards)
      faults::say("%.*s", static_cast<int>(each.size()), each.data());
    return 0;
  }
  if (name == "train") {
    train(static_cast<int>(count));
  } else if (name == "tiny-ops") {
    faults::tiny_ops(count);
  } else if (const auto found = hazards.find(name); found != hazards.end()) {
    found->second();
  } else {
    std::fprintf(stderr, "fault_program: there is no hazard '%s'\n", argv[1]);
    return 2;
  }
  return 0;
}
