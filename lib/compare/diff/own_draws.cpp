#include "compare/diff/own_draws.hpp"

#include <algorithm>

#include "compare/model/draws.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/rank_events.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool is_own(const Event& draw) noexcept {
  return draw.flags & event_flag::explicit_generator;
}

[[nodiscard]] std::uint64_t key_of(const Event& draw) {
  return KeyHash().add(draw.op).add(draw.rng.before).add(draw.rng.after).value();
}

}  // namespace

bool OwnDraws::are_made_by_other(Side side, const Window& window, std::uint32_t op) {
  bool any = false;
  const auto& slots = window.event(op).slots;
  if (std::any_of(slots.begin(), slots.end(),
                  [](const Slot& slot) { return slot.role == Role::mutated; }))
    return false;
  for (std::uint32_t index = op; index < window.end(op); ++index) {
    const Event& event = window.event(index);
    if (!drew(event)) continue;
    if (!is_own(event) || !of(the_other(side)).contains(key_of(event))) return false;
    any = true;
  }
  return any;
}

const OwnDraws::Keys& OwnDraws::of(Side side) {
  auto& keys = on(made_, side);
  if (keys) return *keys;
  keys.emplace();
  for_each_event(*on(runs_, side), on(ranks_, side), [&](const Event& event, std::int64_t) {
    if (drew(event) && is_own(event)) keys->insert(key_of(event));
  });
  return *keys;
}

}  // namespace ulpscope::comparison
