#include <algorithm>
#include <array>
#include <utility>

#include "compare/causes/rules.hpp"

namespace ulpscope::comparison::causes {
namespace {

/// In the order in which equally certain causes are named.
constexpr std::array<Rule, 32> kRules{epoch,      uninitialised, external_write, alias,
                                      init,       weights,       thread_rng,     rng_seed,
                                      rng_shift,  rng_device,    data_order,     data_content,
                                      mode,       argument,      buffer_update,  dtype,
                                      batch_size, resume,        structure,      nan,
                                      backend,    tf32,          flush_denormal, threads,
                                      isa,        layout,        library,        algorithm,
                                      atomic,     alignment,     scale,          harmless_rewrite};

}  // namespace

std::vector<Cause> diagnose(const Case& of) {
  std::vector<Cause> found;
  for (const Rule rule : kRules)
    if (auto cause = rule(of)) found.push_back(std::move(*cause));
  std::stable_sort(found.begin(), found.end(), [](const Cause& a, const Cause& b) {
    return static_cast<int>(a.confidence) < static_cast<int>(b.confidence);
  });
  if (found.empty() && of.finding().diverges) {
    Cause unknown = of.cause("unknown", Confidence::possible);
    unknown.evidence = {"no rule fits what was recorded"};
    if (of.evidence().layers_only) {
      unknown.evidence = {"only layers were recorded: not the ops, arguments and random draws"};
      unknown.attempt = {"ulpscope record -- " + of.command("")};
    }
    found.push_back(std::move(unknown));
  }
  return found;
}

}  // namespace ulpscope::comparison::causes
