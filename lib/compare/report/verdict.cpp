#include "compare/report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] Decision inconclusive(std::string reason) {
  return {Verdict::inconclusive, std::move(reason)};
}

/// Runs whose ops have mostly no partner are different programs: nothing said about them would be
/// more than a guess.
[[nodiscard]] bool lined_up(const Totals& totals) {
  const std::uint64_t fewest = std::min(totals.ops.reference, totals.ops.candidate);
  return 2 * totals.aligned_ops >= fewest;
}

/// What keeps the runs from being known in full; empty if all that they did was compared.
[[nodiscard]] std::string unknown_rest(const Outlook& outlook) {
  for (const Side side : kSides)
    if (!on(outlook.complete, side))
      return fmt::format("the {}'s recording is incomplete", name(side));
  if (outlook.uncompared_steps > 0)
    return fmt::format("{} {} recorded in one run only",
                       core::counted(outlook.uncompared_steps, "step"),
                       outlook.uncompared_steps == 1 ? "was" : "were");
  if (outlook.totals.lone_trainers > 0)
    return fmt::format("{} in one run only",
                       outlook.totals.lone_trainers == 1
                           ? "a thread trains"
                           : fmt::format("{} threads train", outlook.totals.lone_trainers));
  if (const std::uint64_t events = outlook.unequal_tasks.events; events > 0)
    return fmt::format(
        "processes of a pool share their work differently in each run, and {} of theirs {} no "
        "equal in the other run",
        core::counted(events, "event"), events == 1 ? "has" : "have");
  if (const std::uint64_t contents = outlook.unequal_tasks.contents; contents > 0)
    return fmt::format("tasks of a pool leave {}, changed outside of recorded ops, in one run only",
                       core::counted(contents, "tensor"));
  const LoaderResults& of_loaders = outlook.unequal_tasks.of_loaders;
  if (of_loaders.saved)
    return "worker processes of DataLoaders save files, and the runs have different ones of them";
  if (of_loaders.events > 0)
    return fmt::format(
        "the program reads numbers or arrays in worker processes of DataLoaders, of which the runs "
        "have different ones, and {} there {} no equal in the other run",
        core::counted(of_loaders.events, "event"), of_loaders.events == 1 ? "has" : "have");
  if (outlook.injected)
    return fmt::format("the {} was given values of another run, so its results are not its own",
                       name(*outlook.injected));
  if (!outlook.selects.empty()) return outlook.selects;
  if (outlook.lone_ranks > 0)
    return fmt::format("one run alone has {}", core::counted(outlook.lone_ranks, "rank"));
  return outlook.ends;
}

/// One run goes on after the other's end; empty if it does not, or may. It may not where the other
/// one has a backward of its own: that may be of a step whose update was left out.
[[nodiscard]] std::string goes_on(const Outlook& outlook) {
  for (const Side side : kSides) {
    const std::uint64_t more = on(outlook.longer, side);
    if (more == 0) continue;
    const Side other = the_other(side);
    const std::uint64_t backwards = on(outlook.totals.lone_backwards, other);
    if (outlook.allow_longer && backwards == 0) continue;
    std::string words = fmt::format("in the {} that both have; the {} has {} more",
                                    core::counted(outlook.common_steps, "step"), name(side), more);
    if (!outlook.shorter_end.empty()) words += ", and " + outlook.shorter_end;
    if (backwards > 0)
      words += fmt::format(", and {} of the {} {} no equal", core::counted(backwards, "backward"),
                           name(other), backwards == 1 ? "has" : "have");
    return words;
  }
  return {};
}

[[nodiscard]] Decision with_tolerance(const Outlook& outlook) {
  if (outlook.beyond_tolerance || outlook.values.outside > 0) return {Verdict::diverged, {}};
  if (outlook.values.unknown > 0)
    return inconclusive(
        fmt::format("the bytes of {} that differ are not in both dumps, so the "
                    "tolerance cannot be checked (record with --level full)",
                    core::counted(outlook.values.unknown, "value")));
  if (const std::string rest = unknown_rest(outlook); !rest.empty())
    return inconclusive(fmt::format("all that both have is inside the tolerance, but {}", rest));
  if (const std::string more = goes_on(outlook); !more.empty())
    return inconclusive(fmt::format("inside the tolerance {}", more));
  return {Verdict::within, {}};
}

[[nodiscard]] Decision with_budget(const Outlook& outlook) {
  const BudgetSummary& budget = *outlook.budget;
  if (outlook.beyond_tolerance || outlook.beyond_budget || budget.outside > 0)
    return {Verdict::diverged, {}};
  if (budget.without_bytes > 0)
    return inconclusive(fmt::format(
        "the bytes that the budget of {} takes are not in both dumps (record with --level full)",
        core::counted(budget.without_bytes, "result")));
  if (budget.without_model > 0)
    return inconclusive(fmt::format("no error budget is known for {} of origins",
                                    core::counted(budget.without_model, "result")));
  if (!outlook.no_replayer.empty() && outlook.totals.propagated.events > 0)
    return inconclusive(
        fmt::format("every origin is inside its budget, but {} that follow from them cannot be "
                    "judged: {}",
                    core::counted(outlook.totals.propagated.events, "event"), outlook.no_replayer));
  if (const std::string rest = unknown_rest(outlook); !rest.empty())
    return inconclusive(fmt::format("every origin is inside its budget, but {}", rest));
  if (const std::string more = goes_on(outlook); !more.empty())
    return inconclusive(fmt::format("every origin is inside its budget {}", more));
  return {Verdict::within, {}};
}

[[nodiscard]] std::string in_brackets(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  return names.empty() ? std::string() : fmt::format(" ({})", listed(names, kNamed));
}

/// What keeps outcomes from being known to be equal; empty if they are.
[[nodiscard]] std::string unknown_outcome(const OutcomeTotals& outcomes) {
  for (const Side side : kSides) {
    if (on(outcomes.extra, side) > 0)
      return fmt::format("the {} leaves {} that the {} does not have{}", name(side),
                         core::counted(on(outcomes.extra, side), "tensor"), name(the_other(side)),
                         in_brackets(on(outcomes.extra_names, side)));
    if (on(outcomes.extra_numbers, side) > 0)
      return fmt::format("the {} reads {} that the {} does not read", name(side),
                         core::counted(on(outcomes.extra_numbers, side), "number"),
                         name(the_other(side)));
    if (on(outcomes.extra_saves, side) > 0)
      return fmt::format("the {} saves {} that the {} does not save at that place", name(side),
                         core::counted(on(outcomes.extra_saves, side), "tensor"),
                         name(the_other(side)));
    if (on(outcomes.unread, side) > 0)
      return fmt::format(
          "the {} makes {} that the {} does not make and that no op reads: the program may have "
          "read {} itself",
          name(side), core::counted(on(outcomes.unread, side), "tensor"), name(the_other(side)),
          on(outcomes.unread, side) == 1 ? "it" : "them");
    if (on(outcomes.extra_draws, side) > 0)
      return fmt::format("only the {} draws {} in a thread, which leaves a generator elsewhere",
                         name(side), core::counted(on(outcomes.extra_draws, side), "time"));
    if (outcomes.touched_alone && !on(outcomes.known, side))
      return fmt::format(
          "one run has ops that the other does not have, and what the {} left when it ended "
          "was "
          "not recorded",
          name(side));
  }
  if (!outcomes.shared_generators.empty())
    return fmt::format(
        "the generator {} ends in different states, and the program has threads, which may draw "
        "from it at any time",
        listed(outcomes.shared_generators, 3));
  if (outcomes.raced)
    return "threads draw from one generator in another order, so which of them got which numbers "
           "differs";
  if (outcomes.exchanged > 0)
    return fmt::format("{} that began alike end with each other's content",
                       core::counted(outcomes.exchanged, "tensor"));
  if (outcomes.unknown > 0)
    return fmt::format("what {} held when the runs ended is not known",
                       core::counted(outcomes.unknown, "tensor"));
  if (outcomes.unfilled > 0)
    return fmt::format(
        "{} that no recorded op has filled hold different bytes: leftover memory, or a write by "
        "the program",
        core::counted(outcomes.unfilled, "tensor"));
  if (outcomes.too_many) return "one run has more ops of its own than can be followed to its end";
  return {};
}

}  // namespace

Decision decide(const Outlook& outlook) {
  const Totals& totals = outlook.totals;
  for (const Side side : kSides)
    if (on(outlook.events, side) == 0)
      return inconclusive(fmt::format("the {} has no events", name(side)));
  if (totals.coverage.aligned == 0)
    return inconclusive("the runs have no step in which events can be aligned");
  if (!lined_up(totals))
    return inconclusive(fmt::format("only {} of {} and {} ops can be aligned", totals.aligned_ops,
                                    totals.ops.reference, totals.ops.candidate));
  if (totals.work_moved && (outlook.diverges || totals.outcomes.touched_alone))
    return inconclusive(
        "threads share their work differently in each run, so that it cannot be aligned");
  if (outlook.diverges && outlook.budget) return with_budget(outlook);
  if (outlook.diverges)
    return outlook.tolerates ? with_tolerance(outlook) : Decision{Verdict::diverged, {}};
  if (totals.values == 0) return inconclusive("no value was compared");
  if (const std::string rest = unknown_rest(outlook); !rest.empty())
    return inconclusive(fmt::format("all that both have is equal, but {}", rest));
  if (const std::string outcome = unknown_outcome(totals.outcomes); !outcome.empty())
    return inconclusive(fmt::format("all that both have is equal, but {}", outcome));
  if (totals.given_up > 0)
    return inconclusive(
        fmt::format("{} could not be aligned", core::counted(totals.given_up, "event")));
  if (const std::string more = goes_on(outlook); !more.empty())
    return inconclusive(fmt::format("identical {}", more));
  return {Verdict::identical, {}};
}

}  // namespace ulpscope::comparison
