#include "cli/render/replay_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

constexpr const char* kLetters[] = {"A", "B"};

void print_answer(const ReplayReport& report, Page& page) {
  const auto say = [&](Ink ink, std::string_view word) {
    const std::string head = fmt::format("{}: ", word);
    std::string indent = page.paint(ink, head);
    const std::size_t width = page.terminal().width;
    const std::size_t room = width > head.size() + 20 ? width - head.size() : 20;
    for (const std::string& part : wrapped(escaped(report.summary), room)) {
      page.line(indent + part);
      indent.assign(head.size(), ' ');
    }
  };
  switch (report.outcome) {
    case ReplayOutcome::same:
      return say(Ink::green, report.runs.size() == 1 ? "PROVED" : "EQUAL");
    case ReplayOutcome::differs: {
      const bool explained = !report.mechanism.empty() || !report.unequal.empty();
      return say(explained ? Ink::green : Ink::yellow, explained ? "EXPLAINED" : "NOT EXPLAINED");
    }
    case ReplayOutcome::trouble:
      return say(Ink::red, "NOT PROVED");
  }
}

std::string event_path(const ReplayedRun& run) {
  return run.step == kSetup ? fmt::format("setup/{}", run.place.position)
                            : fmt::format("{}/{}", run.step, run.place.position);
}

std::string distance_words(const TrueDistance& distance) {
  std::string words =
      fmt::format("{} ULP at most, {} rms and {} at most of the largest number",
                  core::grouped(distance.ulp_max), core::short_number(distance.scaled_rms),
                  core::short_number(distance.scaled_max));
  if (distance.nan > 0) words += fmt::format(", {} NaN", core::grouped(distance.nan));
  return words;
}

void print_runs(const ReplayReport& report, Page& page) {
  page.labelled("op", escaped(report.op), Ink::bold);
  for (std::size_t k = 0; k < report.runs.size(); ++k) {
    const ReplayedRun& run = report.runs[k];
    page.labelled(kLetters[k], fmt::format("{}, event {}", escaped(run.path), event_path(run)));
    page.labelled("", escaped(run.settings));
    page.labelled("", run.proved() ? "gives its recorded bits"
                                   : fmt::format("unproved: {}", escaped(run.failure)));
    if (run.distance)
      page.labelled("", fmt::format("from float64: {}", distance_words(*run.distance)));
  }
  if (report.runs.size() < 2) return;
  std::vector<std::string> unequal;
  for (const std::string& name : report.unequal) unequal.push_back(escaped(name));
  page.labelled("inputs", unequal.empty() ? "equal in both runs"
                                          : fmt::format("differ: {}", fmt::join(unequal, ", ")));
  if (report.nearer)
    page.labelled("float64", fmt::format("{} is nearer to it", kLetters[*report.nearer]));
}

/// "yes", "no", "2 of 5"; a dash where that was not compared.
Cell agreement(const ReplayVariant& variant, std::size_t run) {
  const std::optional<unsigned>& times = variant.same_as[run];
  if (!times) return {"-", Ink::dim};
  if (*times == 0) return {"no", Ink::yellow};
  if (*times == variant.repeats) return {"yes", Ink::green};
  return {fmt::format("{} of {}", *times, variant.repeats), Ink::yellow};
}

void print_variants(const ReplayReport& report, Page& page) {
  if (report.variants.empty()) return;
  const bool two = report.runs.size() == 2;
  Table table;
  table.row({{"variant", Ink::dim},
             {"results", Ink::dim},
             {"as A", Ink::dim},
             {two ? "as B" : "", Ink::dim},
             {"ULP from float64", Ink::dim, true},
             {"scaled", Ink::dim, true}});
  std::vector<std::string> failures;
  for (const ReplayVariant& variant : report.variants) {
    if (!variant.failure.empty()) {
      table.row({{variant.words}, {"failed", Ink::yellow}});
      failures.push_back(fmt::format("{}: {}", variant.words, variant.failure));
      continue;
    }
    const std::string results = variant.results == 1
                                    ? fmt::format("1 in {}", variant.repeats)
                                    : fmt::format("{} in {}", variant.results, variant.repeats);
    table.row({{escaped(variant.words)},
               {results},
               agreement(variant, 0),
               two ? agreement(variant, 1) : Cell{},
               {variant.distance ? core::grouped(variant.distance->ulp_max) : "", Ink::plain, true},
               {variant.distance ? core::short_number(variant.distance->scaled_max) : "",
                Ink::plain, true}});
  }
  table.fit(0, page.terminal().width, 20, page.terminal());
  page.line();
  for (const std::string& line : table.lines(page.terminal())) page.line(line);
  if (!failures.empty()) page.line();
  for (const std::string& failure : failures) page.labelled("failed", escaped(failure));
}

}  // namespace

void render_replay(const ReplayReport& report, Page& page) {
  print_answer(report, page);
  page.line();
  print_runs(report, page);
  for (const std::string& note : report.notes) page.labelled("note", escaped(note));
  print_variants(report, page);
}

}  // namespace ulpscope::cli
