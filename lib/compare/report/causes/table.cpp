#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "compare/report/causes/rules.hpp"

namespace ulpscope::comparison::causes {
namespace {

/// In the order in which equally certain causes are named.
constexpr auto kRules = std::to_array<Rule>({epoch,
                                             uninitialised,
                                             external_write,
                                             race,
                                             alias,
                                             init,
                                             weights,
                                             recompute,
                                             worker,
                                             thread_rng,
                                             rng_seed,
                                             rng_shift,
                                             rng_size,
                                             rng_device,
                                             hash_order,
                                             data_order,
                                             data_content,
                                             other_model,
                                             mode,
                                             resume,
                                             argument,
                                             buffer_update,
                                             dtype,
                                             batch_size,
                                             scale_of_gradients,
                                             gradient_accumulation,
                                             backward_order,
                                             skipped_step,
                                             structure,
                                             compiled,
                                             reduced_precision,
                                             nan,
                                             int_cast,
                                             ties,
                                             duplicate_index,
                                             backend,
                                             tf32,
                                             flush_denormal,
                                             threads,
                                             isa,
                                             layout,
                                             library,
                                             algorithm,
                                             collective,
                                             atomic,
                                             alignment,
                                             scale,
                                             int32_index});

/// Causes that change the order of additions, or which library's function is called.
constexpr auto kRoundOtherwise =
    std::to_array<std::string_view>({"threads", "isa", "library", "backend", "algorithm",
                                     "alignment", "atomic", "layout", "collective"});

/// A cause that only rounds differently cannot explain a difference beyond rounding, and need not
/// explain one that an input may explain.
void doubt_rounding(const Case& of, std::vector<Cause>& causes) {
  if (!of.is(FindingKind::origin)) return;
  const Evidence& evidence = of.evidence();
  const std::string& input =
      evidence.not_compared.empty() ? evidence.unreadable : evidence.not_compared;
  const bool outside = of.evidence().budget.outside > 0;
  if (!outside && input.empty()) return;
  for (Cause& cause : causes) {
    if (std::find(kRoundOtherwise.begin(), kRoundOtherwise.end(), cause.id) ==
        kRoundOtherwise.end())
      continue;
    if (outside)
      cause.against.emplace_back("the difference is larger than rounding explains elsewhere");
    else if (cause.id != "layout")
      cause.against.push_back(fmt::format("the values of {} were not compared", input));
    else
      continue;
    cause.confidence = Confidence::possible;
  }
}

}  // namespace

std::vector<Cause> diagnose(const Case& of) {
  if (auto rewrite = harmless_rewrite(of)) return {std::move(*rewrite)};
  if (of.evidence().contributor)
    if (auto given = collective(of)) return {std::move(*given)};
  std::vector<Cause> found;
  for (const Rule rule : kRules)
    if (auto cause = rule(of)) found.push_back(std::move(*cause));
  doubt_rounding(of, found);
  std::stable_sort(found.begin(), found.end(), [](const Cause& a, const Cause& b) {
    return static_cast<int>(a.confidence) < static_cast<int>(b.confidence);
  });
  if (found.empty() && of.finding().diverges) {
    Cause unknown = of.cause("unknown", Confidence::possible);
    unknown.evidence = {"no rule fits what was recorded"};
    if (const auto begin = of.late_begin()) {
      unknown.evidence = {
          fmt::format("the runs diverged before step {}, where the recordings begin", *begin)};
      unknown.attempt = {fmt::format("ulpscope record --steps 0-{} -- {}", *begin, of.command(""))};
    } else if (of.evidence().layers_only) {
      unknown.evidence = {"only layers were recorded: not the ops, arguments and random draws"};
      unknown.attempt = {"ulpscope record -- " + of.command("")};
    }
    found.push_back(std::move(unknown));
  }
  return found;
}

}  // namespace ulpscope::comparison::causes
