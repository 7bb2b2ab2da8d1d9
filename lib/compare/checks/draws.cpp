#include "compare/checks/draws.hpp"

#include <fmt/format.h>

#include "compare/describe.hpp"
#include "compare/rng_tracker.hpp"
#include "compare/words.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::string seed_words(std::uint64_t seed) {
  if (seed == kDefaultSeed) return "LibTorch's own default seed: nobody called torch::manual_seed";
  if (looks_drawn(seed))
    return fmt::format("seed {}, which looks drawn from the operating system: another in every run",
                       seed);
  return fmt::format("seed {}", seed);
}

}  // namespace

void DrawCollector::see(const Lane& lane, const Block& block) {
  for (const Event& event : block.events) {
    if (event.kind != EventKind::op || !drew(event)) continue;
    const bool is_default = (event.flags & event_flag::explicit_generator) == 0;
    Generator& generator = generators_[{is_default, event.rng.seed}];
    if (generator.draws++ == 0) generator.first = event_words(event, block.step);
    ++generator.by_lane[lane_words(lane, Event{})];
  }
}

Check DrawCollector::check_seeds() const {
  Check check{"seeds", Check::Result::ok, {}, {}};
  std::uint64_t unseeded = 0;
  std::uint64_t by_chance = 0;
  for (const auto& [name, generator] : generators_) {
    if (name.is_default && name.seed == kDefaultSeed) unseeded += generator.draws;
    if (looks_drawn(name.seed)) by_chance += generator.draws;
    check.details.push_back(fmt::format(
        "{}, {}: {} from {} on", name.is_default ? "the default generator" : "a generator of its own",
        seed_words(name.seed), counted(generator.draws, "draw"), generator.first));
  }
  if (by_chance > 0) {
    check.result = Check::Result::look;
    check.text = "random numbers are drawn from a seed that looks like one of the operating system's";
  } else if (unseeded > 0) {
    check.result = Check::Result::look;
    check.text = "random numbers are drawn from the default generator, and nobody has seeded it";
  } else {
    check.text = generators_.empty() ? "no recorded op draws random numbers"
                                     : "every generator that is drawn from was seeded";
  }
  return check;
}

Check DrawCollector::check_generators() const {
  Check check{"generators", Check::Result::ok, "no generator is drawn from by several threads", {}};
  for (const auto& [name, generator] : generators_) {
    if (generator.by_lane.size() < 2) continue;
    check.result = Check::Result::look;
    check.text =
        "threads share a generator: which of them gets which numbers depends on who comes first";
    for (const auto& [lane, draws] : generator.by_lane)
      check.details.push_back(fmt::format("{}: {} with seed {}", lane, counted(draws, "draw"),
                                          name.seed));
  }
  return check;
}

}  // namespace ulpscope::comparison
