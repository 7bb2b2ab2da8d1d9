#include "compare/experiment/mechanism.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/counts.hpp"

namespace ulpscope::comparison::experiment {
namespace {

[[nodiscard]] bool gives(const ReplayVariant& variant, std::size_t run) {
  return variant.failure.empty() && variant.same_as[run].value_or(0) > 0;
}

/// In all repeats.
[[nodiscard]] bool always_gives(const ReplayVariant& variant, std::size_t run) {
  return gives(variant, run) && *variant.same_as[run] == variant.repeats;
}

[[nodiscard]] bool is_change(const ReplayVariant& variant) {
  return variant.factor != ReplayFactor::none && variant.factor != ReplayFactor::other_run &&
         variant.factor != ReplayFactor::precision && variant.factor != ReplayFactor::rows;
}

[[nodiscard]] const ReplayVariant* find(const ReplayReport& report, ReplayFactor factor) {
  const auto found =
      std::find_if(report.variants.begin(), report.variants.end(),
                   [factor](const ReplayVariant& variant) { return variant.factor == factor; });
  return found == report.variants.end() ? nullptr : &*found;
}

[[nodiscard]] std::string joined(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

[[nodiscard]] std::string where(const ReplayReport& report, const ReplayVariant& variant) {
  if (is_change(variant)) return " " + variant.words;
  if (report.runs.size() == 1) return {};
  const bool other = variant.factor == ReplayFactor::other_run;
  return fmt::format(" as {} was recorded", letter(other ? 1 - report.base : report.base));
}

/// "5 repeats gave 3 results: the op itself is not deterministic".
[[nodiscard]] std::string several_results(const ReplayReport& report,
                                          const ReplayVariant& variant) {
  std::string sentence = fmt::format(
      "{} gave {}{}: the op itself is not deterministic", core::counted(variant.repeats, "repeat"),
      core::counted(variant.results, "result"), where(report, variant));
  const auto orderly =
      std::find_if(report.variants.begin(), report.variants.end(), [](const ReplayVariant& other) {
        return is_change(other) && other.failure.empty() && other.results == 1 &&
               (other.factor == ReplayFactor::deterministic ||
                other.factor == ReplayFactor::threads);
      });
  if (orderly != report.variants.end())
    sentence += fmt::format("; {} all {} were equal", orderly->words,
                            core::counted(orderly->repeats, "repeat"));
  return sentence;
}

/// The change of one of the base's conditions that gives the other run's bits.
[[nodiscard]] const ReplayVariant* single_change(const ReplayReport& report, std::size_t other,
                                                 bool recorded_by_other) {
  const ReplayVariant* best = nullptr;
  for (const ReplayVariant& variant : report.variants)
    if (is_change(variant) && variant.recorded_by_other == recorded_by_other &&
        gives(variant, other) && (best == nullptr || always_gives(variant, other)))
      best = best != nullptr && always_gives(*best, other) ? best : &variant;
  return best;
}

void name_change(ReplayReport& report, const ReplayVariant& change, std::size_t other) {
  report.factor = change.factor;
  report.mechanism = fmt::format("{}'s bits come out {}, {}'s {}", letter(other), change.words,
                                 letter(report.base), change.base_words);
}

void name_nearer(ReplayReport& report) {
  if (report.runs.size() != 2) return;
  const auto& a = report.runs[0].distance;
  const auto& b = report.runs[1].distance;
  if (!a || !b) return;
  if (a->nan != b->nan)
    report.nearer = a->nan < b->nan ? 0 : 1;
  else if (a->scaled_rms != b->scaled_rms)
    report.nearer = a->scaled_rms < b->scaled_rms ? 0 : 1;
}

/// What of one run changes its bits.
[[nodiscard]] std::string sensitivity(const ReplayReport& report) {
  std::vector<std::string> changing;
  for (const ReplayVariant& variant : report.variants)
    if (is_change(variant) && variant.failure.empty() && !always_gives(variant, report.base))
      changing.push_back(variant.words);
  return changing.empty() ? "no other condition that was tried changes them"
                          : fmt::format("they change {}", joined(changing));
}

void summarize_one(ReplayReport& report) {
  const ReplayedRun& run = report.runs.front();
  if (!run.proved() && report.deterministic) {
    report.summary = fmt::format("the op does not give its recorded bits: {}", run.failure);
    return;
  }
  if (!run.proved()) {
    report.outcome = ReplayOutcome::differs;
    report.summary = report.mechanism;
    return;
  }
  report.outcome = ReplayOutcome::same;
  report.summary = report.mechanism.empty()
                       ? fmt::format("the op gives its recorded bits; {}", sensitivity(report))
                       : fmt::format("the op gives its recorded bits, but {}", report.mechanism);
}

void name_several_results(ReplayReport& report) {
  for (const ReplayFactor factor : {ReplayFactor::none, ReplayFactor::other_run}) {
    const ReplayVariant* const variant = find(report, factor);
    if (variant == nullptr || !variant->failure.empty() || variant->results < 2) continue;
    report.deterministic = false;
    if (report.mechanism.empty()) report.mechanism = several_results(report, *variant);
  }
}

/// Where repeats in the runs' own conditions happened to agree, and those in another did not. More
/// threads than a run had say nothing of it.
void name_several_results_elsewhere(ReplayReport& report) {
  const auto variant =
      std::find_if(report.variants.begin(), report.variants.end(), [](const ReplayVariant& one) {
        return is_change(one) && one.factor != ReplayFactor::threads && one.failure.empty() &&
               one.results > 1;
      });
  if (variant != report.variants.end()) report.mechanism = several_results(report, *variant);
}

/// Of two runs whose inputs are equal.
void name_difference(ReplayReport& report) {
  const std::size_t other = 1 - report.base;
  if (const ReplayVariant* const change = single_change(report, other, /*recorded_by_other=*/true))
    return name_change(report, *change, other);
  const ReplayVariant* const together = find(report, ReplayFactor::other_run);
  if (together == nullptr || !gives(*together, other)) return;
  report.factor = ReplayFactor::other_run;
  report.mechanism = fmt::format(
      "{}'s bits come out as {} was recorded ({}), with no single one of its conditions",
      letter(other), letter(other), report.runs[other].settings);
}

[[nodiscard]] std::string inherited(const ReplayReport& report) {
  std::string proof;
  const bool both = report.runs[0].proved() && report.runs[1].proved();
  for (std::size_t run = 0; run < report.runs.size(); ++run)
    if (!report.runs[run].proved())
      proof = fmt::format("; {} does not give its recorded bits: {}", letter(run),
                          report.runs[run].failure);
  const ReplayVariant* const together = find(report, ReplayFactor::other_run);
  if (together != nullptr && together->failure.empty() && together->same_as[report.base] == 0U)
    proof += fmt::format("; as {} was recorded, {}'s inputs give other bits, too",
                         letter(1 - report.base), letter(report.base));
  return fmt::format("the runs called the op with different {}{}{}", joined(report.unequal),
                     both ? ": each gives its recorded bits from its own" : "", proof);
}

/// A condition in which neither run was recorded explains nothing, though it may be a hint.
[[nodiscard]] std::string unexplained(const ReplayReport& report) {
  const std::size_t other = 1 - report.base;
  const ReplayVariant* const hint = single_change(report, other, /*recorded_by_other=*/false);
  if (hint == nullptr)
    return fmt::format(
        "nothing that was tried gives {}'s bits: what makes the difference is not known",
        letter(other));
  return fmt::format(
      "what makes the difference is not known: {}'s bits come out {}, and {} was not recorded so",
      letter(other), hint->words, letter(other));
}

void summarize_two(ReplayReport& report, const Evidence& evidence) {
  const bool any = report.runs[0].proved() || report.runs[1].proved();
  if (!any && !report.deterministic) {  // its recorded bits need not come back
    report.outcome = ReplayOutcome::differs;
    report.summary = report.mechanism;
    return;
  }
  if (!any) {
    const std::string& a = report.runs[0].failure;
    const std::string& b = report.runs[1].failure;
    report.summary =
        a == b ? fmt::format("neither run's op gives its recorded bits: {}", a)
               : fmt::format("neither run's op gives its recorded bits. A: {}. B: {}", a, b);
    return;
  }
  if (!evidence.results_known) {
    const std::size_t unknown = 1 - report.base;
    report.summary =
        fmt::format("{} gives its recorded bits, but {}'s are not known: {}", letter(report.base),
                    letter(unknown), report.runs[unknown].failure);
    return;
  }
  if (evidence.results_equal) {
    report.outcome = ReplayOutcome::same;
    report.summary = "the op gave equal bits in both runs: there is nothing to explain";
    return;
  }
  report.outcome = ReplayOutcome::differs;
  if (!report.unequal.empty())
    report.summary = inherited(report);
  else if (!report.mechanism.empty())
    report.summary = report.mechanism;
  else
    report.summary = unexplained(report);
}

}  // namespace

void name_mechanism(ReplayReport& report, const Evidence& evidence) {
  const bool any = std::any_of(report.runs.begin(), report.runs.end(),
                               [](const ReplayedRun& run) { return run.proved(); });
  name_several_results(report);
  const bool two = report.runs.size() == 2;
  if (any && two && report.mechanism.empty() && report.unequal.empty() && evidence.results_known &&
      !evidence.results_equal)
    name_difference(report);
  if (report.mechanism.empty() && two && report.unequal.empty() && !evidence.results_equal)
    name_several_results_elsewhere(report);
  name_nearer(report);
  if (two)
    summarize_two(report, evidence);
  else
    summarize_one(report);
}

}  // namespace ulpscope::comparison::experiment

namespace ulpscope {

std::string_view name(ReplayFactor factor) noexcept {
  switch (factor) {
    case ReplayFactor::none:
      return "none";
    case ReplayFactor::other_run:
      return "other_run";
    case ReplayFactor::threads:
      return "threads";
    case ReplayFactor::cpu_capability:
      return "cpu_capability";
    case ReplayFactor::onednn_isa:
      return "onednn_isa";
    case ReplayFactor::deterministic:
      return "deterministic";
    case ReplayFactor::mkldnn:
      return "mkldnn";
    case ReplayFactor::device:
      return "device";
    case ReplayFactor::tf32:
      return "tf32";
    case ReplayFactor::reduced_precision:
      return "reduced_precision";
    case ReplayFactor::cudnn:
      return "cudnn";
    case ReplayFactor::algorithm:
      return "algorithm";
    case ReplayFactor::flags:
      return "flags";
    case ReplayFactor::layout:
      return "layout";
    case ReplayFactor::alignment:
      return "alignment";
    case ReplayFactor::rows:
      return "rows";
    case ReplayFactor::precision:
      return "precision";
  }
  return "none";
}

}  // namespace ulpscope
