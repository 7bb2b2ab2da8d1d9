#include "compare/report/checks/draws.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compare/diff/describe.hpp"
#include "compare/diff/rng_tracker.hpp"
#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kDrawsShown = 8;
/// States of generators that are kept; a run that draws more is judged by its beginning.
constexpr std::size_t kMostStates = 1 << 20;

[[nodiscard]] std::string seed_words(std::uint64_t seed) {
  if (seed == kDefaultSeed) return fmt::format("{}, LibTorch's own", seed);
  return fmt::format("{}{}", seed, looks_drawn(seed) ? ", as the operating system draws them" : "");
}

/// The first of many, and how many more there are.
void shorten(std::vector<std::string>& details) {
  if (details.size() <= kDrawsShown) return;
  const std::size_t more = details.size() - kDrawsShown;
  details.resize(kDrawsShown);
  details.push_back(fmt::format("and {} more", more));
}

}  // namespace

std::string DrawCollector::words(const LaneName& name) {
  Lane lane;
  lane.role = name.role;
  lane.ordinal = name.ordinal;
  return lane_words(lane, Event{});
}

void DrawCollector::note(const Lane& lane, const Event& event, std::int64_t step) {
  const bool is_own = (event.flags & event_flag::explicit_generator) != 0;
  const LaneName name{lane.role, lane.ordinal};
  Generator& generator = generators_[{is_own, event.rng.seed}];
  if (generator.draws++ == 0) generator.first = event_words(event, step);
  ++generator.by_lane[name];
  if (!is_own || states_.size() >= kMostStates) return;
  const auto [at, added] = states_.try_emplace(event.rng.before, name);
  if (added || at->second == name || event.phase == Phase::backward) return;
  twins_.push_back(fmt::format("{} and {} drew the same numbers, the second by {}",
                               words(at->second), words(name), event_words(event, step)));
}

void DrawCollector::see(const Lane& lane, const Block& block) {
  std::vector<Open>& open = open_[lane.id];
  for (const Event& event : block.events) {
    while (!open.empty() && open.back().position != event.parent) open.pop_back();
    const bool draws = event.kind == EventKind::op && drew(event);
    const bool inside = !open.empty() && open.back().draws;
    open.push_back({event.position, draws || inside});
    if (draws && !inside) note(lane, event, block.step);
  }
}

Check DrawCollector::check_seeds() const {
  Check check{"seeds", Check::Result::ok, {}, {}};
  std::uint64_t by_chance = 0;
  for (const auto& [name, generator] : generators_) {
    if (looks_drawn(name.seed)) by_chance += generator.draws;
    check.details.push_back(fmt::format(
        "{}, seed {}: {}, the first by {}",
        name.is_own ? "a generator of its own" : "the default generator", seed_words(name.seed),
        core::counted(generator.draws, "draw"), generator.first));
  }
  shorten(check.details);
  if (by_chance > 0) {
    check.result = Check::Result::look;
    check.text =
        fmt::format("{} from a seed that differs in every run: no torch::manual_seed before it",
                    by_chance == 1 ? "a draw" : "draws");
  } else {
    check.text = generators_.empty() ? "no recorded op draws random numbers"
                                     : "every generator that is drawn from was seeded";
  }
  return check;
}

Check DrawCollector::check_generators() const {
  Check check{"generators", Check::Result::ok, "no generator is drawn from by several threads", {}};
  for (const auto& [name, generator] : generators_) {
    if (name.is_own || generator.by_lane.size() < 2) continue;
    check.result = Check::Result::look;
    check.text =
        "threads share the default generator: which of them gets which numbers depends on who "
        "comes first";
    for (const auto& [lane, draws] : generator.by_lane)
      check.details.push_back(fmt::format("{}: {}", words(lane), core::counted(draws, "draw")));
  }
  if (!twins_.empty()) {
    check.result = Check::Result::look;
    check.text =
        check.details.empty()
            ? "threads draw from generators that were seeded alike: all get the same numbers"
            : check.text + ", and others draw from generators that were seeded alike";
    check.details.insert(check.details.end(), twins_.begin(), twins_.end());
  }
  shorten(check.details);
  return check;
}

}  // namespace ulpscope::comparison
