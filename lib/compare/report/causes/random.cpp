#include <fmt/format.h>

#include <algorithm>

#include "compare/diff/outcomes/moved_generators.hpp"
#include "compare/diff/outcomes/noted_generators.hpp"
#include "compare/model/draws.hpp"
#include "compare/model/words.hpp"
#include "compare/report/causes/rules.hpp"
#include "compare/report/checks/draws.hpp"
#include "compare/report/environment.hpp"
#include "core/counts.hpp"
#include "core/glob.hpp"

namespace ulpscope::comparison::causes {
namespace {

/// As far as both are known.
[[nodiscard]] bool same_seed(const Case& of) {
  const auto& rng = of.evidence().rng;
  return !is_known(rng.reference) || !is_known(rng.candidate) ||
         rng.reference.seed == rng.candidate.seed;
}

[[nodiscard]] std::string seed_words(const Case& of) {
  const auto& rng = of.evidence().rng;
  for (const Side side : kSides)
    if (!is_known(on(rng, side))) return fmt::format("the {}'s seed is not known", name(side));
  return same_seed(of)
             ? fmt::format("the seed is {} in both runs", rng.reference.seed)
             : fmt::format("the seeds are {} and {}", rng.reference.seed, rng.candidate.seed);
}

[[nodiscard]] bool drew_from_equal_state(const Case& of) {
  const Evidence& evidence = of.evidence();
  return evidence.seeded && evidence.rng.reference.before == evidence.rng.candidate.before &&
         evidence.rng.reference.before != evidence.rng.reference.after;
}

/// What one run alone does is to draw, and the streams are known to differ after it.
[[nodiscard]] bool only_draws(const Case& of) {
  if (of.evidence().draws.empty()) return false;
  return std::all_of(kSides.begin(), kSides.end(), [&](Side side) {
    const auto& ops = on(of.evidence().alone, side);
    return std::all_of(ops.begin(), ops.end(), [](const std::string& op) {
      return facts::class_of(op) == facts::OpClass::random;
    });
  });
}

/// What one run alone does has gradients: it changes the model as well.
[[nodiscard]] bool trains_alone(const Case& of) {
  return std::any_of(kSides.begin(), kSides.end(), [&](Side side) {
    return std::ranges::any_of(on(of.evidence().alone_names, side),
                               [](const std::string& name) { return !parameter_of(name).empty(); });
  });
}

/// Only one run draws, and the next draw that both make differs.
[[nodiscard]] bool shifts_the_stream(const Case& of) {
  const bool weights_too = !of.finding().step && of.runs().other_start;
  const bool shows = of.effect() && of.effect()->drawn;
  return diverging_sequence(of) && !weights_too && of.evidence().alone_draws &&
         (shows || only_draws(of));
}

/// A generator that the run has moved without recorded ops ends in a different state.
[[nodiscard]] bool of_noted_generator(const Case& of) {
  return of.is(FindingKind::rng) && !of.finding().arguments.empty();
}

[[nodiscard]] std::string words_of_noted(const ArgumentReport& generator) {
  if (is_moved_generator(generator.name))
    return generator.name +
           " is in one state after the last op that draws from it, and in two when the runs end";
  return fmt::format(
      "the generator {} gives both runs the same stream and ends {}", generator.name,
      of_one_stream({generator.reference.value_or(""), generator.candidate.value_or("")})
          ? "at two places of it: one run draws from it more often"
          : "in two states: one run draws from it more often, or seeds it otherwise");
}

/// Of generators of Python, NumPy and the program: one that is at two places of one stream in the
/// finding's step, or null. What it was asked for is seen in what the program makes of it alone.
[[nodiscard]] const EnvironmentDifference* shifted_generator(const Case& of) {
  if (!of.is(FindingKind::data)) return nullptr;
  for (const EnvironmentDifference& one : of.report().environment)
    if (core::glob_match("note.rng.*", one.key) && one.reference && one.candidate &&
        differs_in(one, of.finding().step.value_or(kSetup)) &&
        of_one_stream({*one.reference, *one.candidate}))
      return &one;
  return nullptr;
}

[[nodiscard]] Cause shifted_by_draws_elsewhere(const Case& of,
                                               const EnvironmentDifference& generator) {
  constexpr std::string_view kNoted = "note.rng.";
  Cause cause = of.cause("rng-shift", Confidence::possible);
  const std::string when = when_words(generator);
  cause.evidence = {fmt::format(
      "the generator {} is at two places of one stream{}{}: one run has drawn from it more often",
      generator.key.substr(kNoted.size()), when.empty() ? "" : " ", when)};
  cause.attempt = {"look for a call that draws from it in one run alone"};
  return cause;
}

}  // namespace

std::optional<Cause> rng_seed(const Case& of) {
  if (!of.is(FindingKind::rng) || same_seed(of) || of_noted_generator(of)) return std::nullopt;
  Cause cause = of.cause("rng-seed", Confidence::certain);
  cause.evidence = {seed_words(of)};
  const auto& rng = of.evidence().rng;
  if (looks_drawn(rng.reference.seed) || looks_drawn(rng.candidate.seed))
    cause.evidence.push_back(fmt::format(
        "{} looks like one that the operating system drew: nobody has seeded the generator",
        looks_drawn(rng.reference.seed) && looks_drawn(rng.candidate.seed) ? "each"
        : looks_drawn(rng.reference.seed)                                  ? "the reference's"
                                                                           : "the candidate's"));
  cause.attempt = {"call torch::manual_seed with the same number in both programs"};
  return cause;
}

std::optional<Cause> recompute(const Case& of) {
  const auto& recomputed = of.evidence().recomputed;
  if (recomputed.reference.empty() == recomputed.candidate.empty()) return std::nullopt;
  const Side side = recomputed.reference.empty() ? Side::candidate : Side::reference;
  Cause cause = of.cause("recompute", Confidence::certain);
  cause.evidence = {fmt::format(
      "only in the {} backward recomputes a forward from equal inputs with a different result",
      name(side))};
  for (std::size_t k = 0; k < on(recomputed, side).size() && k < 3; ++k)
    cause.evidence.push_back(on(recomputed, side)[k]);
  cause.attempt = {
      "save the generator's state in forward and restore it before recomputing in backward"};
  return cause;
}

std::optional<Cause> rng_shift(const Case& of) {
  if (of_noted_generator(of)) {
    Cause cause = of.cause("rng-shift", Confidence::likely);
    for (const ArgumentReport& generator : of.finding().arguments)
      cause.evidence.push_back(words_of_noted(generator));
    cause.evidence.emplace_back("no value that was compared differs because of it");
    cause.attempt = {"look for a call that draws from it or seeds it in one run alone"};
    return cause;
  }
  if (const auto* const generator = shifted_generator(of))
    return shifted_by_draws_elsewhere(of, *generator);
  if (shifts_the_stream(of)) {
    const bool certain = !of.evidence().draws.empty() && !trains_alone(of);
    Cause cause = of.cause("rng-shift", certain ? Confidence::certain : Confidence::likely);
    const bool shows = of.effect() && of.effect()->drawn;
    cause.evidence = {
        shows ? fmt::format("among the ops that only one run has some draw random numbers, and {} "
                            "draws others after them",
                            of.effect()->place)
              : "what only one run does here is to draw, and what both draw after it differs"};
    cause.attempt = {"draw the extra numbers from a generator of their own"};
    return cause;
  }
  if (!of.is(FindingKind::rng) || !same_seed(of) || of.late_begin()) return std::nullopt;
  const Evidence& evidence = of.evidence();
  Cause cause =
      of.cause("rng-shift", evidence.draws.empty() ? Confidence::likely : Confidence::certain);
  for (const Side side : kSides) {
    std::vector<std::string> draws;
    for (const Draw& draw : evidence.draws)
      if (draw.side == side)
        draws.push_back(fmt::format("{} at event {} ({}{})", draw.op, draw.event,
                                    step_words(draw.step),
                                    draw.where.empty() ? "" : ", " + draw.where));
    if (!draws.empty())
      cause.evidence.push_back(
          draws.size() == 1 ? fmt::format("only the {} drew in {}", name(side), draws.front())
                            : fmt::format("only the {} drew in {} ({})", name(side), listed(draws),
                                          core::counted(draws.size(), "extra draw")));
  }
  if (evidence.more_draws > 0)
    cause.evidence.push_back(core::counted(evidence.more_draws, "further extra draw"));
  if (!evidence.last_common_draw.empty())
    cause.evidence.push_back("both streams were last equal at " + evidence.last_common_draw);
  cause.evidence.push_back(seed_words(of));
  if (evidence.draws.empty())
    cause.evidence.emplace_back(
        "no recorded op drew in one run alone: the generator was moved outside of recorded ops, or "
        "by an op that took a different number of values");
  cause.attempt = {
      "seed again right before this op in both programs, or draw the extra numbers "
      "from a generator of their own"};
  return cause;
}

std::optional<Cause> thread_rng(const Case& of) {
  if (!of.is(FindingKind::rng) || !of.evidence().seeded_lanes_share || !same_seed(of) ||
      of_noted_generator(of))
    return std::nullopt;
  Cause cause = of.cause("thread-rng", Confidence::likely);
  cause.evidence = {fmt::format("{} draws in {}, and several threads draw from that generator",
                                of.finding().op, of.finding().lane),
                    seed_words(of)};
  cause.attempt = {"give each worker a generator of its own, seeded from its number"};
  return cause;
}

std::optional<Cause> rng_device(const Case& of) {
  if (!of.is(FindingKind::origin) || !drew_from_equal_state(of)) return std::nullopt;
  std::vector<std::string> reasons;
  for (const EnvironmentDifference& difference : of.report().environment) {
    const Setting setting = setting_of(difference.key);
    if (of.counts(difference) && (setting == Setting::isa || setting == Setting::library ||
                                  core::glob_match("device.*", difference.key)))
      reasons.push_back(words(difference));
  }
  if (reasons.empty()) return std::nullopt;
  Cause cause = of.cause("rng-device", Confidence::likely);
  cause.evidence = {"the generator's state before the op is equal in both runs"};
  cause.evidence.insert(cause.evidence.end(), reasons.begin(), reasons.end());
  cause.attempt = {"read the numbers from a file in both programs instead of drawing them"};
  return cause;
}

std::optional<Cause> rng_size(const Case& of) {
  const bool asked_for = of.is(FindingKind::arguments) || of.is(FindingKind::metadata);
  if (!asked_for || !drew_from_equal_state(of)) return std::nullopt;
  for (const TensorReport& tensor : of.finding().tensors) {
    if (tensor.role == Role::input || tensor.shape.reference == tensor.shape.candidate) continue;
    Cause cause = of.cause("rng-size", Confidence::likely);
    cause.evidence = {
        "the generator's state before the op is equal, the number of elements is not: how numbers "
        "are drawn depends on it, and all later draws are shifted"};
    cause.attempt = {"draw the same number of elements in both programs and slice"};
    return cause;
  }
  return std::nullopt;
}

}  // namespace ulpscope::comparison::causes
