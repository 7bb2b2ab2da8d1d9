#include "compare/report/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "compare/diff/outcomes/moved_generators.hpp"
#include "compare/model/words.hpp"
#include "compare/report/environment.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::string place(const Finding& finding) {
  if (!finding.step) return "in setup";
  return fmt::format("at step {} in {}", *finding.step, name(finding.phase));
}

[[nodiscard]] std::string op_of(const Finding& finding) {
  return finding.op.empty() ? "what runs outside of modules" : finding.op;
}

[[nodiscard]] std::string op_of_module(const Finding& finding) {
  if (finding.op.empty() || !finding.module) return op_of(finding);
  return fmt::format("{} of {}", finding.op,
                     finding.module->empty() ? finding.root : *finding.module);
}

[[nodiscard]] std::string first_difference(const Finding& finding) {
  for (const TensorReport& tensor : finding.tensors)
    if (!tensor.equal && !tensor.name.empty()) return tensor.name;
  return "an input";
}

/// Its tensors are what the program or a thread leaves.
[[nodiscard]] bool is_of_what_is_left(const Finding& finding) {
  return is_end(finding.op) || finding.op == "end of thread";
}

/// Of what a run leaves: "fc.weight", "a float32 tensor [32]".
[[nodiscard]] std::string left_tensor(const Finding& finding) {
  const auto differing = std::find_if(finding.tensors.begin(), finding.tensors.end(),
                                      [](const TensorReport& tensor) { return !tensor.equal; });
  if (differing == finding.tensors.end()) return "a tensor";
  if (!differing->name.empty()) return differing->name;
  return fmt::format("a {} tensor [{}]", ulpscope::name(differing->dtype),
                     fmt::join(differing->shape.reference, ", "));
}

/// "tensors[3] and 1 more" of an op that is given other tensors; empty if it is not.
[[nodiscard]] std::string other_tensors(const Finding& finding) {
  const auto given = std::count_if(
      finding.arguments.begin(), finding.arguments.end(),
      [&](const ArgumentReport& argument) { return gives_tensor(finding, argument); });
  if (given == 0 || !gives_tensor(finding, finding.arguments.front())) return {};
  const std::string& name = finding.arguments.front().name;
  return given == 1 ? name : fmt::format("{} and {} more", name, given - 1);
}

[[nodiscard]] std::string generators_left(const Finding& finding) {
  if (finding.arguments.empty()) return "the generator ends in a different state";
  std::vector<std::string> noted;
  std::vector<std::string> all;
  for (const ArgumentReport& generator : finding.arguments)
    (is_moved_generator(generator.name) ? all : noted).push_back(generator.name);
  if (!noted.empty())
    all.insert(all.begin(), fmt::format("the {} {}", noted.size() == 1 ? "generator" : "generators",
                                        listed(noted)));
  return fmt::format("the state of {} differs at the end of the run", listed(all));
}

[[nodiscard]] std::string what_happened_to_tensor(const Finding& finding) {
  const std::string& tensor = finding.tensors.front().name;
  if (finding.kind == FindingKind::metadata) return tensor + " has another dtype or shape";
  if (finding.kind != FindingKind::sequence) return tensor + " differs";
  return fmt::format("{} is in the {} only", tensor,
                     finding.event.reference ? "reference" : "candidate");
}

[[nodiscard]] std::string what_happened_to(const std::string& op, const Finding& finding) {
  if (!finding.meaning.empty()) return finding.meaning;
  switch (finding.kind) {
    case FindingKind::origin:
      return fmt::format("{} {}", op,
                         judged_on_own_inputs(finding)
                             ? "is outside of its error budget"
                             : "produces different bits from identical inputs");
    case FindingKind::arguments: {
      if (finding.arguments.empty()) return op + " has different arguments";
      if (const std::string tensors = other_tensors(finding); !tensors.empty())
        return fmt::format("{} is given a different tensor ({})", op, tensors);
      const ArgumentReport& argument = finding.arguments.front();
      return fmt::format("{} has {} {} and {}", op, argument.name,
                         argument.reference.value_or("missing"),
                         argument.candidate.value_or("missing"));
    }
    case FindingKind::sequence:
      if (finding.event.reference && finding.event.candidate)
        return op + " of the reference is replaced by other ops";
      return fmt::format("{} runs in the {} only", op,
                         finding.event.reference ? "reference" : "candidate");
    case FindingKind::rng:
      if (is_end(finding.op)) return generators_left(finding);
      return op + " draws from a different RNG state";
    case FindingKind::data:
      if (is_of_what_is_left(finding)) return left_tensor(finding) + " differs at the end";
      return fmt::format("{} reads different data ({})", op, first_difference(finding));
    case FindingKind::parameter:
      if (is_end(finding.op) || finding.op == kParameters)
        return left_tensor(finding) + " differs, and no recorded op explains it";
      return fmt::format("{} reads {}, which differs at its first use", op,
                         first_difference(finding));
    case FindingKind::write:
      if (is_of_what_is_left(finding))
        return left_tensor(finding) + " changed outside of recorded ops, after the last of them";
      return fmt::format("{} reads {}, which changed outside of recorded ops", op,
                         first_difference(finding));
    case FindingKind::metadata:
      return op + " has different dtypes or shapes";
  }
  return op;
}

[[nodiscard]] std::string totals(const Report& report) {
  const auto diverging = static_cast<std::uint64_t>(
      std::count_if(report.findings.begin(), report.findings.end(),
                    [](const Finding& finding) { return finding.diverges; }));
  return fmt::format("{}, {} propagated", core::counted(diverging, "finding"),
                     core::counted(report.propagated.events, "event"));
}

/// With a budget: how much of what propagated was not judged by it.
[[nodiscard]] std::string unjudged(const Report& report) {
  if (report.budget && !report.replay && report.propagated.events > 0) return " and not judged";
  if (!report.replay || report.replay->unjudged == 0) return {};
  return fmt::format(", {} not judged", core::counted(report.replay->unjudged, "op"));
}

}  // namespace

std::string what_happened(const Finding& finding) {
  if (finding.of_file) return what_happened_to_tensor(finding);
  return what_happened_to(op_of(finding), finding);
}

std::string limits_words(const Limits& limits) {
  std::vector<std::string> parts;
  if (limits.max_ulp) parts.push_back(fmt::format("max_ulp {}", *limits.max_ulp));
  if (limits.rtol) parts.push_back(fmt::format("rtol {}", *limits.rtol));
  if (limits.atol) parts.push_back(fmt::format("atol {}", *limits.atol));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string outside_words(const OutsideValue& value) {
  const std::string step = value.step == kSetup ? "setup" : fmt::format("{}", value.step);
  std::string words = value.step == kSetup ? step : "step " + step;
  words += fmt::format(", {} of {}", value.tensor, value.op);
  if (value.module && !value.module->empty()) words += fmt::format(" in {}", *value.module);
  if (value.event != kNone) words += fmt::format(" (event {}/{})", step, value.event);
  words += ": ";
  if (value.scaled_max) words += fmt::format("{} scaled, ", core::short_number(*value.scaled_max));
  const std::string allowed = limits_words(value.limits);
  return words + fmt::format("{} absolute, {} ULP; allowed: {}",
                             core::short_number(value.absolute_max), core::grouped(value.ulp_max),
                             allowed.empty() ? "no bit" : allowed);
}

std::string summary(const Report& report, const std::string& reason) {
  const Finding* const first = report.first();
  switch (report.verdict) {
    case Verdict::identical: {
      const bool rewritten =
          std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
            return finding.kind == FindingKind::sequence || finding.kind == FindingKind::arguments;
          });
      const EnvironmentDifference* const codes = exit_codes(report);
      return fmt::format("identical: {} aligned, every {} is equal{}{}{}",
                         core::counted(report.coverage.aligned, "event"),
                         report.first_absorbed() ? "outcome" : "compared value",
                         rewritten ? ", though the op lists differ" : "",
                         report.coverage.moved == 0 || rewritten ? "" : ", in another order",
                         codes == nullptr ? ""
                                          : fmt::format("; the exit codes are {} and {}",
                                                        *codes->reference, *codes->candidate));
    }
    case Verdict::within:
      return fmt::format("within {}: {}{}", report.budget ? "budget" : "tolerance", totals(report),
                         unjudged(report));
    case Verdict::diverged:
      if (first == nullptr) return "diverged";
      return fmt::format("diverged {}: {}; {}{}", place(*first),
                         what_happened_to(op_of_module(*first), *first), totals(report),
                         report.first_outside ? "; first outside the tolerance: " +
                                                    outside_words(*report.first_outside)
                                              : "");
    case Verdict::inconclusive:
      return "inconclusive: " + reason;
  }
  return {};
}

}  // namespace ulpscope::comparison
