#include "cli/render/verdict_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "compare/report/environment.hpp"
#include "compare/report/summary.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kLongestEvidence = 80;

/// What keeps "every bit" from being said, in words; empty if everything was compared.
std::string aside(const Coverage& coverage) {
  std::vector<std::string> parts;
  if (coverage.moved != 0)
    parts.push_back(fmt::format("{} in another order", core::counted(coverage.moved, "event")));
  if (const std::string left_out = not_compared(coverage.not_compared); !left_out.empty())
    parts.push_back("not compared: " + left_out);
  const std::uint64_t alone = coverage.only_reference + coverage.only_candidate;
  if (alone != 0) parts.push_back(fmt::format("{} in one run only", core::counted(alone, "event")));
  if (!coverage.outcomes_recorded)
    parts.emplace_back("what the runs left when they ended was not recorded");
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string step_ranges(const Propagated& propagated) {
  std::vector<std::string> parts;
  for (const auto& [first, last] : propagated.steps) {
    parts.push_back(first == last ? fmt::format("{}", first) : fmt::format("{} - {}", first, last));
    if (parts.size() == 4) break;
  }
  if (propagated.steps.size() > parts.size()) parts.emplace_back("...");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The summary without the verdict that it begins with.
std::string_view after_verdict(const Report& report) {
  const std::string_view summary = report.summary;
  const std::size_t colon = summary.find(": ");
  if (!summary.starts_with(name(report.verdict)) || colon == summary.npos) return summary;
  return summary.substr(colon + 2);
}

/// Steps are counted from 0; those of a selection need not be.
std::string step_of(const Finding& finding, std::uint64_t steps) {
  if (!finding.step) return "in setup";
  if (static_cast<std::uint64_t>(*finding.step) >= steps)
    return fmt::format("at step {}", *finding.step);
  return fmt::format("at step {} of {}", *finding.step, core::grouped(steps));
}

/// "at step 17 of 50, backward of layer2.0.conv1 (Conv2d)", the rank in front where there are
/// several.
std::string place_in_sentence(const Finding& finding, const Report& report) {
  std::string place = step_of(finding, report.reference.steps);
  if (std::max(report.reference.ranks, report.candidate.ranks) > 1)
    place = fmt::format("on {} {}", rank_name(report, finding.rank), place);
  std::string within;
  if (finding.phase != Phase::setup) within = name(finding.phase);
  if (finding.module) {
    within += within.empty() ? "" : " of ";
    within += module_place(finding, report);
  } else if (finding.between && !module_place(finding, report).empty()) {
    within += fmt::format("{}{}", within.empty() ? "" : " ", module_place(finding, report));
  }
  return within.empty() ? place : fmt::format("{}, {}", place, within);
}

/// What happens, as the sentence has it, is not why.
bool needs_evidence(const Finding& finding, const Cause& cause) {
  constexpr std::string_view kBehindIt[] = {
      "data-order", "gradient-accumulation", "hash-order", "init", "rng-shift", "uninitialised"};
  if (finding.kind == FindingKind::origin) return finding.arguments.empty();
  return std::ranges::find(kBehindIt, cause.id) != std::end(kBehindIt);
}

/// "; cause: threads (certain): threads.intra_op is 1 and 2"; empty if none is known. Where an
/// argument differs, and for most other causes, what happens says why.
std::string cause_in_sentence(const Report& report) {
  const Cause* const cause = first_cause(report, 0);
  if (cause == nullptr) return {};
  std::string words = fmt::format("; cause: {} ({})", escaped(cause->id), name(cause->confidence));
  const Finding& finding = report.findings.front();
  if (needs_evidence(finding, *cause) && !cause->evidence.empty() &&
      cause->evidence.front().size() <= kLongestEvidence)
    words += fmt::format(": {}", escaped(cause->evidence.front()));
  return words;
}

/// "3 findings (2 origin, sequence); 2 events propagated in step 1"
std::string extent(const Report& report) {
  std::string text = findings_in_words(report);
  if (report.propagated.events != 0)
    text += fmt::format("; {} propagated", core::counted(report.propagated.events, "event"));
  const auto& steps = report.propagated.steps;
  if (!steps.empty()) {
    const bool one = steps.size() == 1 && steps[0].first == steps[0].second;
    text += fmt::format(" in step{} {}", one ? "" : "s", step_ranges(report.propagated));
  }
  if (report.first_outside)
    text += fmt::format("; first outside the tolerance: {}",
                        escaped(comparison::outside_words(*report.first_outside)));
  for (const auto& [name, run] :
       {std::pair("reference", &report.reference), std::pair("candidate", &report.candidate)})
    if (!run->injected.empty())
      text += fmt::format("; the {} was given values of another run: its results are not its own",
                          name);
  return text;
}

VerdictWords diverged_words(const Report& report) {
  const Finding* const first = report.first();
  if (first == nullptr) return {"DIVERGED", escaped(after_verdict(report)), {}};
  return {"DIVERGED",
          fmt::format("{}: {}{}", place_in_sentence(*first, report),
                      escaped(comparison::what_happened(*first)), cause_in_sentence(report)),
          extent(report)};
}

VerdictWords words_of_files(const Report& report) {
  const std::string summary = escaped(after_verdict(report));
  switch (report.verdict) {
    case Verdict::identical:
      return {"IDENTICAL:", summary, {}};
    case Verdict::within:
      return {"WITHIN", "the tolerance: " + summary, {}};
    case Verdict::diverged:
      return {"DIVERGED:", summary, {}};
    case Verdict::inconclusive:
      return {"INCONCLUSIVE:", summary, {}};
  }
  return {};
}

/// One run may have more where that is allowed.
std::uint64_t common_steps(const Report& report) {
  const bool goes_on = std::any_of(report.findings.begin(), report.findings.end(),
                                   [](const Finding& finding) { return finding.goes_on; });
  return goes_on ? std::min(report.reference.steps, report.candidate.steps)
                 : report.reference.steps;
}

VerdictWords identical_words(const Report& report) {
  const std::string apart = aside(report.coverage);
  const bool everything = apart.empty() && report.coverage.unseen.empty();
  std::string equal = everything ? "every bit" : "every value that was compared";
  if (const Finding* const finding = report.first_absorbed())
    equal = fmt::format("every outcome; values in between differ, until {}",
                        escaped(finding->absorbed->op));
  std::string sentence = fmt::format("{}, {}, {}", core::counted(report.coverage.aligned, "event"),
                                     core::counted(common_steps(report), "step"), equal);
  if (!apart.empty()) sentence += fmt::format(" ({})", apart);
  if (const EnvironmentDifference* const codes = comparison::exit_codes(report))
    sentence += fmt::format("; the exit codes are {} and {}", escaped(*codes->reference),
                            escaped(*codes->candidate));
  return {"IDENTICAL:", std::move(sentence), {}};
}

Ink ink_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::identical:
    case Verdict::within:
      return Ink::green;
    case Verdict::diverged:
      return Ink::red;
    case Verdict::inconclusive:
      return Ink::yellow;
  }
  return Ink::plain;
}

}  // namespace

void print_verdict(Ink ink, std::string_view verdict, std::string_view text, Page& page) {
  std::string head = page.paint(ink, verdict);
  const std::size_t indent = display_width(verdict) + 1;
  for (const std::string& part : wrapped(text, page.terminal().width - indent)) {
    page.line(head + " " + part);
    head.assign(display_width(verdict), ' ');
  }
}

std::string not_compared(const NotCompared& counts) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::uint64_t count, std::string_view what) {
    if (count != 0) parts.push_back(fmt::format("{} {}", core::grouped(count), what));
  };
  add(counts.uninitialised, "uninitialized");
  add(counts.handle, counts.handle == 1 ? "handle" : "handles");
  add(counts.layout, "in a different layout");
  add(counts.no_bytes, "without bytes");
  add(counts.ignored, "ignored");
  add(counts.opaque, "opaque");
  return fmt::format("{}", fmt::join(parts, ", "));
}

VerdictWords verdict_words(const Report& report) {
  if (report.tensors) return words_of_files(report);
  switch (report.verdict) {
    case Verdict::identical:
      return identical_words(report);
    case Verdict::within:
      return {"WITHIN",
              fmt::format("the {}: {}", report.budget ? "budget" : "tolerance",
                          escaped(after_verdict(report))),
              {}};
    case Verdict::diverged:
      return diverged_words(report);
    case Verdict::inconclusive:
      return {"INCONCLUSIVE:", escaped(after_verdict(report)), {}};
  }
  return {};
}

void render_verdict(const Report& report, Page& page) {
  const VerdictWords words = verdict_words(report);
  print_verdict(ink_of(report.verdict), words.verdict, words.sentence, page);
  if (!words.extent.empty())
    print_verdict(Ink::plain, std::string(words.verdict.size(), ' '), words.extent, page);
}

}  // namespace ulpscope::cli
