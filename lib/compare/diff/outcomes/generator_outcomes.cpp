#include "compare/diff/outcomes/generator_outcomes.hpp"

#include <fmt/format.h>

#include "compare/diff/outcomes/moved_generators.hpp"
#include "compare/diff/outcomes/noted_generators.hpp"
#include "compare/model/selected_run.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool was_drawn_from(const RngTracker::Stream& stream) noexcept {
  return !stream.last_common_draw.empty() || stream.drawn_alone || stream.drawn_by_threads;
}

/// Those that the program has moved after their last op. Of recordings that leave out other ops,
/// which op that is differs.
[[nodiscard]] std::vector<MovedGenerator> own_generators(const RankState& state,
                                                         const Noted& noted) {
  if (selection_of(*state.runs.reference, state.ranks.reference) !=
      selection_of(*state.runs.candidate, state.ranks.candidate))
    return {};
  return moved_generators(noted.reference, noted.candidate);
}

void describe(const ShiftedGenerator& generator, Finding& finding) {
  const std::string& name = generator.name;
  finding.arguments.push_back({name, generator.left.reference, generator.left.candidate});
  finding.notes.push_back(
      generator.last_equal.empty()
          ? fmt::format("both runs draw from the same stream of the generator {}", name)
          : fmt::format("both runs had the generator {} in one state, last in {}", name,
                        generator.last_equal));
}

void describe(const MovedGenerator& generator, Finding& finding) {
  finding.arguments.push_back({generator.name, generator.left.reference, generator.left.candidate});
  const bool both = generator.moved.reference && generator.moved.candidate;
  const Side one = generator.moved.reference ? Side::reference : Side::candidate;
  finding.notes.push_back(fmt::format(
      "after the last op that draws from {}, {} seeds it, sets its state or draws from it",
      generator.name, both ? "each run" : fmt::format("only the {}", name(one))));
}

}  // namespace

void judge_default_generator(RankState& state, const OutcomePair& ends) {
  for (const Source& drawn : state.random.rng.drawn_to_the_end()) blame(state, drawn);
  const Event* const left = ends.reference.event.event;
  const Event* const right = ends.candidate.event.event;
  if (left == nullptr || right == nullptr || left->rng.before == right->rng.before) return;
  if (state.book.diverges()) return;
  // The same stream unless the runs have seeded it differently.
  const Both<const RngTracker::Stream*> streams{&state.random.rng.stream(*left),
                                                &state.random.rng.stream(*right)};
  // An unseeded generator starts in any state, which matters once it is drawn from.
  if (!was_drawn_from(*streams.reference) && !was_drawn_from(*streams.candidate)) return;
  bool drawn_beside = false;
  for (const Side side : kSides) {
    const std::uint64_t more = on(on(streams, side)->more_of_threads, side);
    on(state.totals.outcomes.extra_draws, side) += more;
    drawn_beside = drawn_beside || more > 0;
  }
  if (drawn_beside) return;
  for (const RngTracker::Stream* stream : {streams.reference, streams.candidate}) {
    if (!stream->drawn_alone) continue;
    blame(state, *stream->drawn_alone);
    return;
  }
  enter_outcomes(state, FindingKind::rng, ends);
}

void judge_noted_generators(RankState& state, const Noted& noted, const OutcomePair& ends) {
  auto shifted = shifted_generators(noted.reference, noted.candidate);
  const auto moved = own_generators(state, noted);
  if (ran_beside_threads(noted.reference) || ran_beside_threads(noted.candidate)) {
    for (const ShiftedGenerator& generator : shifted)
      state.totals.outcomes.shared_generators.push_back(generator.name);
    shifted.clear();
  }
  if (shifted.empty() && moved.empty()) return;
  enter_outcomes(state, FindingKind::rng, ends, [&](Finding& finding) {
    for (const ShiftedGenerator& generator : shifted) describe(generator, finding);
    for (const MovedGenerator& generator : moved) describe(generator, finding);
  });
}

}  // namespace ulpscope::comparison
