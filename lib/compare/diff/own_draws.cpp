#include "compare/diff/own_draws.hpp"

#include <algorithm>

#include "compare/model/draws.hpp"
#include "compare/model/hash.hpp"

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
  const Run& run = *on(runs_, side);
  const std::uint32_t rank = on(ranks_, side);
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t index = 0; index < run.block_count(rank, lane.id); ++index)
      for (const Block block = run.block(rank, lane.id, index); const Event& event : block.events)
        if (drew(event) && is_own(event)) keys->insert(key_of(event));
  return *keys;
}

}  // namespace ulpscope::comparison
