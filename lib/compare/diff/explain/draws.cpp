#include <fmt/format.h>

#include <algorithm>

#include "compare/diff/effect.hpp"
#include "compare/diff/explain/explainers.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/model/place.hpp"
#include "compare/model/structure.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool draws_inside(const Window& window, std::uint32_t index) {
  for (std::uint32_t inner = index + 1; inner < window.end(index); ++inner)
    if (drew(window.event(inner))) return true;
  return false;
}

/// Such as the order of samples, or categories that are picked by their probabilities: the op that
/// draws or the one that calls it leaves integers.
[[nodiscard]] bool draws_integers(const OpPair& ops, const Event& seeded) {
  const auto leaves_integers = [](const Event& event) {
    return std::any_of(event.slots.begin(), event.slots.end(), [](const Slot& slot) {
      return slot.role != Role::input && slot.geometry && slot.geometry->dtype == Dtype::int64;
    });
  };
  return leaves_integers(seeded) || leaves_integers(ops.event(Side::reference));
}

[[nodiscard]] bool is_side_by_side(const OpPair& ops) {
  const Lane& own = *ops.scene.lanes.reference;
  if (!shares_work(own) && own.role != LaneRole::trainer) return false;
  const auto lanes = ops.scene.runs.reference->lanes(ops.scene.ranks.reference);
  return std::count_if(lanes.begin(), lanes.end(),
                       [&](const Lane& lane) { return lane.role == own.role; }) > 1;
}

/// Several threads draw from the default generator: several of one role, or one beside the program.
[[nodiscard]] bool shares_generator(const OpPair& ops, const Event& seeded,
                                    const RngTracker::Stream& stream) {
  if (seeded.flags & event_flag::explicit_generator) return false;
  if (shares_work(*ops.scene.lanes.reference))
    return stream.drawn_beside_threads || is_side_by_side(ops);
  return stream.drawn_by_threads || (ops.state.random.race && is_side_by_side(ops));
}

/// A draw that one run alone makes in another lane has moved the generator: threads that take
/// turns, each with work of its own.
[[nodiscard]] bool moved_elsewhere(const OpPair& ops, const RngTracker::Stream& stream) {
  return stream.drawn_alone && is_kept(stream.drawn_alone->finding) && !ops.state.random.race &&
         stream.drawn_in != RngTracker::kNoLane && stream.drawn_in != ops.scene.lanes.reference->id;
}

/// Whether both drew the same numbers, where their results say so.
[[nodiscard]] std::optional<bool> drew_equal_numbers(const Event& a, const Event& b) {
  if (!drew(a) || !drew(b) || input_key(a) != input_key(b) || output_key(a) == 0)
    return std::nullopt;
  return output_key(a) == output_key(b);
}

/// The seeds are numbers that the program has read before, which differ for a reason that is known:
/// a sampler takes the seed of its own generator from the default one.
[[nodiscard]] std::optional<Source> read_as_seed(const OpPair& ops, const Event& reference,
                                                 const Event& candidate) {
  if (reference.rng.seed == candidate.rng.seed) return std::nullopt;
  return ops.state.ledger.explain_number(fmt::format("{}", reference.rng.seed),
                                         fmt::format("{}", candidate.rng.seed));
}

[[nodiscard]] std::string state_words(const RngState& a, const RngState& b) {
  if (!is_known(a) || !is_known(b))
    return "what the generator's state was is not known in both runs: another thread drew from it";
  if (a.seed != b.seed) return fmt::format("the generator's seed is {} and {}", a.seed, b.seed);
  return fmt::format("the generator's seed is {} in both runs, {}", a.seed,
                     a.before == b.before
                         ? "and another thread may have drawn from it before this op did"
                         : "its state is not the same");
}

}  // namespace

void explain_draws(OpPair& ops) {
  const Window& reference = *ops.scene.windows.reference;
  const Window& candidate = *ops.scene.windows.candidate;
  EventPair shifted;
  const auto look = [&](EventPair pair) {
    const Event& a = reference.event(pair.reference);
    const Event& b = candidate.event(pair.candidate);
    if (!(a.flags & b.flags & event_flag::seeded)) return;
    if (drew(a) && !shares_work(*ops.scene.lanes.reference))
      ops.state.random.rng.stream(a).drawn_beside_threads = true;
    bool equal = a.rng.before == b.rng.before;
    // Another thread may draw between the look at the state and the draw.
    const bool known = is_known(a.rng) && is_known(b.rng);
    if (!known || is_side_by_side(ops)) {
      const auto same_numbers = drew_equal_numbers(a, b);
      if (!known && !same_numbers) return;
      equal = same_numbers.value_or(equal);
    }
    if (equal) {
      ops.state.random.rng.in_step(a, b, ops.scene.lanes.reference->id, ops.scene.step);
      if (a.rng.after != b.rng.after) ops.uneven_draws.push_back(&a);
      return;
    }
    if (!drew(a) || !drew(b)) return;  // a draw that only one run makes is not a different draw
    const bool deepest =
        !draws_inside(reference, pair.reference) && !draws_inside(candidate, pair.candidate);
    if (shifted.reference == kNoIndex && deepest) shifted = pair;
  };
  look(ops.at);
  for (const EventPair& pair : ops.inside.pairs()) look(pair);
  if (shifted.reference == kNoIndex && !ops.inside.same()) {
    // The draws inside cannot be distinguished: the op as a whole represents them.
    const Event& a = ops.event(Side::reference);
    const Event& b = ops.event(Side::candidate);
    if ((a.flags & b.flags & event_flag::seeded) && a.rng.before != b.rng.before && drew(a) &&
        drew(b))
      shifted = ops.at;
  }
  if (shifted.reference == kNoIndex) return;

  ops.generator_differs = true;
  const Event& a = reference.event(shifted.reference);
  RngTracker::Stream& stream = ops.state.random.rng.stream(a);
  if (!stream.shifted) {
    const auto read = read_as_seed(ops, a, candidate.event(shifted.candidate));
    stream.shifted = read.has_value();
    if (read) stream.source = *read;
    if (!read && moved_elsewhere(ops, stream)) {
      stream.shifted = true;
      stream.source = *stream.drawn_alone;
      ops.state.book.make_diverging(
          stream.source, [&](Record& record) { keep_effect(record, ops.scene, shifted); });
    }
  }
  if (stream.shifted) {
    if (draws_integers(ops, a)) ops.state.ledger.enter({Differing::drawn_order}, stream.source);
    return ops.propagated(stream.source);
  }
  stream.source = enter_finding(
      ops.state, FindingKind::rng, ops.scene, shifted, ops.at, {}, [&](Record& record) {
        record.evidence.seeded_lanes_share = shares_generator(ops, a, stream);
        record.evidence.draws = stream.draws;
        record.evidence.more_draws = stream.more_draws;
        record.evidence.last_common_draw = stream.last_common_draw;
        if (stream.drawn_alone) record.evidence.drawn_alone = stream.drawn_alone->finding;
        compare_slots(a, candidate.event(shifted.candidate), ops.inner_slots);
        add_tensors(record, ops.inner_slots);
        const Event& b = candidate.event(shifted.candidate);
        record.finding.notes.push_back(state_words(a.rng, b.rng));
        if (!stream.last_common_draw.empty())
          record.finding.notes.push_back("the last draw from equal states was " +
                                         stream.last_common_draw);
      });
  stream.shifted = true;
  if (stream.drawn_alone) ops.state.book.show_shift(*stream.drawn_alone);
  if (draws_integers(ops, a)) ops.state.ledger.enter({Differing::drawn_order}, stream.source);
  ops.found(stream.source);
}

void shift_streams(OpPair& ops) {
  for (const Event* seeded : ops.uneven_draws) {
    RngTracker::Stream& stream = ops.state.random.rng.stream(*seeded);
    stream.last_common_draw = event_words(*seeded, ops.scene.step) +
                              ", which took a different number of values in each run";
    if (!ops.why || ops.why->finding == kNoFinding) continue;
    stream.shifted = true;
    stream.source = *ops.why;
  }
}

}  // namespace ulpscope::comparison
