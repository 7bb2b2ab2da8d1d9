#include "cli/render/check_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/bisect_text.hpp"
#include "cli/render/page.hpp"
#include "cli/render/replay_text.hpp"
#include "cli/render/text.hpp"
#include "cli/render/verdict_text.hpp"
#include "cli/render/wording.hpp"
#include "cli/term/escape.hpp"
#include "compare/report/summary.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::uint64_t kOneIn = 10;
constexpr double kMostMissed = 0.05;

/// "A", "B" ... "Z", "AA": results, in the order in which they came.
std::string result_name(std::size_t group) {
  std::string name;
  for (std::size_t rest = group + 1; rest > 0; rest = (rest - 1) / 26)
    name.insert(name.begin(), static_cast<char>('A' + (rest - 1) % 26));
  return name;
}

std::string percent(double share) { return fmt::format("{}%", core::short_number(100 * share)); }

/// "runs 3, 5 - 7"
std::string run_numbers(const std::vector<std::size_t>& runs) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < runs.size();) {
    std::size_t end = i;
    while (end + 1 < runs.size() && runs[end + 1] == runs[end] + 1) ++end;
    parts.push_back(end < i + 2 ? fmt::format("{}", runs[i])
                                : fmt::format("{} - {}", runs[i], runs[end]));
    i = end < i + 2 ? i + 1 : end + 1;
  }
  return fmt::format("run{} {}", runs.size() == 1 ? "" : "s", fmt::join(parts, ", "));
}

/// Recorded runs that are among the results.
std::size_t recorded_runs(const CheckReport& report) {
  return static_cast<std::size_t>(
      std::count_if(report.runs.begin(), report.runs.end(),
                    [](const CheckedRun& run) { return run.group.has_value(); }));
}

/// Of equal runs: what may have been missed.
std::string doubt(std::size_t runs, bool may_make_more) {
  std::string text = fmt::format(
      "a difference that shows in one run of {} would have been missed with probability {}", kOneIn,
      core::short_number(missed(kOneIn, runs)));
  if (may_make_more && missed(kOneIn, runs) > kMostMissed)
    text += fmt::format("; -n {} brings that to {}", runs_to_see(1.0 / kOneIn), kMostMissed);
  return text;
}

std::string why_inconclusive(const CheckReport& report) {
  switch (report.observation) {
    case Observation::bare_differ:
      return "recorded runs are equal, but runs without the recorder differ from each other: "
             "recording makes the difference disappear";
    case Observation::recorded_differ:
      return "recorded runs leave something else than runs without the recorder";
    default:
      break;
  }
  if (report.interrupted) return "interrupted before two runs could be compared";
  if (recorded_runs(report) < 2) return "fewer than two runs were recorded";
  if (report.comparison && report.comparison->verdict == Verdict::inconclusive)
    return report.comparison->summary.substr(report.comparison->summary.find(": ") + 2);
  return "what the runs computed is equal, but they did not end alike";
}

/// How the runs are distributed over the results; empty where there are too few to say.
std::string distributed(const CheckReport& report) {
  std::vector<std::size_t> runs = runs_by_result(report);
  std::sort(runs.rbegin(), runs.rend());
  const Distribution kind = distribution(runs);
  switch (kind) {
    case Distribution::unclear:
      return {};
    case Distribution::spread: {
      const auto once = std::count(runs.begin(), runs.end(), std::size_t{1});
      const auto all = std::accumulate(runs.begin(), runs.end(), std::uint64_t{0});
      return fmt::format("{}: one more run gives a new result with a probability of {} or more",
                         name(kind), percent(rate(static_cast<std::uint64_t>(once), all).low));
    }
    default:
      return fmt::format("{}: every result came back ({} runs)", name(kind), fmt::join(runs, ", "));
  }
}

/// How many runs gave which result.
void print_results(const CheckReport& report, Page& page) {
  const std::size_t runs = recorded_runs(report);
  if (report.groups.size() < 2) {
    page.labelled("checked", fmt::format("{}, all equal", core::counted(runs, "recorded run")));
    if (report.verdict == Verdict::identical && report.rate)
      page.labelled("", doubt(runs, report.runs.front().variant.empty()));
    return;
  }
  page.labelled("checked", fmt::format("{} gave {}", core::counted(runs, "recorded run"),
                                       core::counted(report.groups.size(), "result")));
  if (report.rate)
    if (const std::string text = distributed(report); !text.empty()) page.labelled("", text);
  if (report.groups.size() == runs && report.rate)
    return page.labelled("", "no two of them are equal");
  if (report.rate) {
    page.labelled(
        "", fmt::format("{} of {} differ{} from the others: {}, 95% interval {} - {}",
                        report.rate->seen, report.rate->runs, report.rate->seen == 1 ? "s" : "",
                        percent(static_cast<double>(report.rate->seen) /
                                static_cast<double>(report.rate->runs)),
                        percent(report.rate->low), percent(report.rate->high)));
    const double share =
        static_cast<double>(report.rate->seen) / static_cast<double>(report.rate->runs);
    page.labelled("", fmt::format("{} show it with a probability of 95%",
                                  core::counted(runs_to_see(share), "run")));
  }
}

/// "threads=2, runs 4 - 6"; of dumps, which have no numbers, their paths alone.
std::string runs_of(const std::string& variant, const std::vector<std::size_t>& runs,
                    std::size_t variants, const CheckReport& report) {
  if (variant.empty()) return run_numbers(runs);
  if (variants == report.runs.size()) return escaped(variant);
  return fmt::format("{}, {}", escaped(variant), run_numbers(runs));
}

/// Which runs gave which result, by variant.
void print_groups(const CheckReport& report, Page& page) {
  const bool all_apart = report.groups.size() == recorded_runs(report) && report.rate;
  if (report.groups.size() < 2 || all_apart) return;
  std::map<std::string, std::map<std::size_t, std::vector<std::size_t>>> by_variant;
  std::vector<std::string> order;
  for (const CheckedRun& run : report.runs) {
    if (!run.group) continue;
    if (std::find(order.begin(), order.end(), run.variant) == order.end())
      order.push_back(run.variant);
    by_variant[run.variant][*run.group].push_back(run.number);
  }
  for (const std::string& variant : order)
    for (const auto& [group, runs] : by_variant[variant])
      page.labelled("", fmt::format("{}: result {}", runs_of(variant, runs, order.size(), report),
                                    result_name(group)));
}

/// "A C | B": the results that are still equal stand together.
std::string parts_of(const RunSplit& split) {
  std::vector<std::string> parts;
  for (const auto& part : split.groups) {
    std::vector<std::string> names;
    for (const std::size_t group : part) names.push_back(result_name(group));
    parts.push_back(fmt::format("{}", fmt::join(names, " ")));
  }
  return fmt::format("{}", fmt::join(parts, " | "));
}

/// With more than two results: where each separates from the others.
void print_splits(const CheckReport& report, Page& page) {
  if (report.groups.size() < 3) return;
  std::string_view label = "separate";
  for (const RunSplit& split : report.splits) {
    page.labelled(label, fmt::format("{}  {}: {}; {} runs", parts_of(split),
                                     place(split.at, *report.comparison), op_name(split.at),
                                     fmt::join(runs_by_result(report, split), " | ")));
    label = "";
  }
}

std::string observed(const CheckReport& report) {
  const auto bare = static_cast<std::size_t>(std::count_if(
      report.runs.begin(), report.runs.end(), [](const CheckedRun& run) { return !run.recorded; }));
  const std::string runs = core::counted(bare, "bare run");
  switch (report.observation) {
    case Observation::unknown:
      return bare == 0
                 ? ""
                 : fmt::format("{} left nothing to compare (--final names a result file)", runs);
    case Observation::same:
      return fmt::format("{} left the same as a recorded one", runs);
    case Observation::unclear:
      return "what runs print differs every time; --final names a result file to compare instead";
    case Observation::bare_differ:
      return fmt::format("{} differ; recorded runs are equal", runs);
    case Observation::recorded_differ:
      return fmt::format("{} are equal, and differ from recorded ones", runs);
  }
  return {};
}

/// What shows behind the first difference, a line each.
void print_origins(const CheckReport& report, Page& page) {
  if (!report.origins) return;
  const FurtherOrigins& origins = *report.origins;
  if (origins.runs == 0)
    return page.labelled("origins", "further ones were not looked for: no run was left for it");
  const std::string given = fmt::format("with the inputs that each op has in the other run ({})",
                                        core::counted(origins.runs, "run"));
  if (origins.further.empty())
    return page.labelled("origins", fmt::format("no further one shows {}", given));
  page.labelled(
      "origins",
      fmt::format("{} more {} {}:", origins.further.size(),
                  origins.further.size() == 1 ? "finding shows" : "findings show", given));
  for (const Finding& finding : origins.further)
    page.labelled("", fmt::format("{}: {}", place(finding, origins.comparison),
                                  escaped(comparison::what_happened(finding))));
}

void print_kept(const CheckReport& report, Page& page) {
  if (report.kept.empty()) return;
  std::vector<std::string> names;
  for (const auto& path : report.kept) names.push_back(escaped(path.string()));
  page.labelled("kept",
                fmt::format("{} ({})", fmt::join(names, ", "), core::byte_size(report.bytes_kept)));
}

}  // namespace

Report comparison_of(const CheckReport& report) {
  Report comparison = report.comparison.value_or(Report{});
  if (report.comparison && comparison.verdict == report.verdict) return comparison;
  comparison.verdict = Verdict::inconclusive;
  comparison.summary = "inconclusive: " + why_inconclusive(report);
  return comparison;
}

void render_check(const CheckReport& report, const Terminal& terminal, std::ostream& out) {
  Page page(terminal);
  render_verdict(comparison_of(report), page);
  page.line();
  print_results(report, page);
  print_groups(report, page);
  print_splits(report, page);
  if (const std::string text = observed(report); !text.empty()) page.labelled("bare", text);
  std::string_view label = "note";
  if (report.interrupted) {
    page.labelled(label, "interrupted: this is what was known until then");
    label = "";
  }
  for (const std::string& note : report.notes) {
    page.labelled(label, escaped(note));
    label = "";
  }
  if (report.replay) page.labelled("replayed", escaped(report.replay->summary));
  print_origins(report, page);
  if (report.bisection) page.labelled("bisected", bisection_answer(*report.bisection));
  print_kept(report, page);
  if (report.comparison && report.verdict != Verdict::identical) {
    render_details(*report.comparison, page);
  }
  if (report.replay) {
    page.line();
    render_replay(*report.replay, page);
  }
  if (report.bisection) {
    page.line();
    render_bisection(*report.bisection, page);
  }
  out << page.text();
}

}  // namespace ulpscope::cli
