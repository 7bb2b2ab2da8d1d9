#include "compare/diff/rng_tracker.hpp"

#include "compare/model/hash.hpp"
#include "compare/model/place.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

/// Calls visit(event) for each innermost event of an item that drew.
template <class Visit>
void for_each_draw(const Window& window, std::uint32_t item, Visit visit) {
  for (std::uint32_t index = item; index < window.end(item); ++index) {
    const Event& event = window.event(index);
    if (!drew(event)) continue;
    bool draws_inside = false;
    for (std::uint32_t inner = index + 1; inner < window.end(index); ++inner)
      draws_inside = draws_inside || drew(window.event(inner));
    if (!draws_inside) visit(event);
  }
}

}  // namespace

RngTracker::Stream& RngTracker::stream(const Event& event) {
  const bool explicit_generator = event.flags & event_flag::explicit_generator;
  return streams_[{explicit_generator, event.rng.seed}];
}

std::vector<Source> RngTracker::drawn_to_the_end() const {
  std::vector<Source> sources;
  for (const auto& [key, stream] : streams_)
    if (key.first && stream.drawn_alone) sources.push_back(*stream.drawn_alone);
  return sources;
}

void RngTracker::in_step(const Event& reference, const Event& candidate, std::uint32_t lane,
                         std::int64_t step) {
  Stream& current = stream(reference);
  current.shifted = false;
  current.draws.clear();
  const auto may_be = [](std::uint64_t drawn_from, std::uint64_t generator) {
    return drawn_from == 0 || generator == 0 || drawn_from == generator;
  };
  const bool explicit_generator = reference.flags & event_flag::explicit_generator;
  if (!explicit_generator ||
      (current.drawn_in == lane && may_be(current.drawn_from.reference, reference.object) &&
       may_be(current.drawn_from.candidate, candidate.object)))
    current.drawn_alone.reset();
  current.more_draws = 0;
  if (drew(reference)) current.last_common_draw = event_words(reference, step);
}

void RngTracker::drew_alone(Side side, const Window& window, std::uint32_t event,
                            std::uint32_t lane, std::int64_t step, const Source& source) {
  for_each_draw(window, event, [&](const Event& draw) {
    Stream& from = stream(draw);
    const std::uint64_t states = KeyHash().add(draw.rng.before).add(draw.rng.after).value();
    const auto more = from.alone.try_emplace(states, 0).first;
    more->second += side == Side::reference ? 1 : -1;
    if (more->second == 0) from.alone.erase(more);
    if (from.alone.empty()) return from.drawn_alone.reset();
    from.drawn_alone = source;
    from.drawn_in = lane;
    from.drawn_from = {};
    on(from.drawn_from, side) = draw.object;
    if (from.draws.size() < kDrawsKept)
      from.draws.push_back({side, std::string(window.event(event).op), step, draw.position,
                            place_in_program(window.event(event).stack).place});
    else
      ++from.more_draws;
  });
}

void RngTracker::drew_in_thread(const Window& window, std::uint32_t event,
                                std::optional<Side> alone) {
  for_each_draw(window, event, [&](const Event& draw) {
    Stream& from = stream(draw);
    from.drawn_by_threads = true;
    if (alone) ++on(from.more_of_threads, *alone);
  });
}

}  // namespace ulpscope::comparison
