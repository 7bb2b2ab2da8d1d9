#include "cli/render/bisect_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/render/json_documents.hpp"
#include "cli/render/json_values.hpp"
#include "cli/render/verdict_text.hpp"
#include "cli/term/escape.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

std::string value_of(const std::optional<std::string>& value) {
  return value ? escaped(*value) : "(unset)";
}

/// "--threads 2 (1)": the candidate's value, then the reference's.
std::string words_of(const Switch& one) {
  return fmt::format("{}: {} instead of {}", escaped(one.name), value_of(one.candidate),
                     value_of(one.reference));
}

std::string names_of(const Bisection& bisection, const IndexSet& set) {
  std::vector<std::string> names;
  for (const std::size_t index : set) names.push_back(escaped(bisection.switches[index].name));
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string outcome_of(const Trial& trial) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count == 0) return;
    parts.push_back(trial.runs == 1 ? std::string(what) : fmt::format("{} {}", count, what));
  };
  add(trial.as_reference, "as the reference");
  add(trial.as_candidate, "as the candidate");
  add(trial.runs - trial.as_reference - trial.as_candidate, "as neither");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string unanswered(BisectionResult result) {
  switch (result) {
    case BisectionResult::nothing_differs:
      return "the two runs were started alike: no setting that can be chosen differs";
    case BisectionResult::not_reproduced:
      return "a new run with the reference's settings differs from it: something that is not among "
             "the settings has changed, or the program is not deterministic";
    case BisectionResult::no_difference:
      return "a new run with all settings of the candidate is equal to the reference: the "
             "difference comes from something else";
    case BisectionResult::equal:
      return "the two runs do not differ";
    default:
      return "stopped before a smallest set was found";
  }
}

void print_answer(const Bisection& bisection, Page& page) {
  const std::string answer = bisection_answer(bisection);
  if (bisection.result == BisectionResult::equal)
    print_verdict(Ink::green, "IDENTICAL:", answer, page);
  else if (bisection.result == BisectionResult::found)
    print_verdict(Ink::red, "FOUND", answer, page);
  else
    print_verdict(Ink::yellow, "INCONCLUSIVE:", answer, page);
}

}  // namespace

std::string bisection_answer(const Bisection& bisection) {
  if (bisection.result != BisectionResult::found) return unanswered(bisection.result);
  std::vector<std::string> words;
  for (const std::size_t index : bisection.smallest)
    words.push_back(words_of(bisection.switches[index]));
  return fmt::format("{} of {} make{} the difference: {}",
                     core::counted(bisection.smallest.size(), "setting"), bisection.switches.size(),
                     bisection.smallest.size() == 1 ? "s" : "", fmt::join(words, "; "));
}

void render_bisection(const Bisection& bisection, Page& page) {
  print_answer(bisection, page);
  page.line();
  std::string_view label = "differ";
  for (const Switch& one : bisection.switches) {
    page.labelled(label, words_of(one));
    label = "";
  }
  if (!bisection.complete.empty())
    page.labelled("together", fmt::format("{} give the candidate's bits",
                                          names_of(bisection, bisection.complete)));
  label = "tried";
  for (const Trial& trial : bisection.trials) {
    page.labelled(label,
                  fmt::format("{}: {}", names_of(bisection, trial.switched), outcome_of(trial)));
    label = "";
  }
  if (!bisection.others.empty())
    page.labelled("not tried", escaped(fmt::format("{} (cannot be chosen by itself)",
                                                   fmt::join(bisection.others, ", "))));
}

Json bisection_json(const Bisection& bisection) {
  const auto value = [](const std::optional<std::string>& text) {
    return text ? Json(*text) : Json(nullptr);
  };
  Json switches = Json::array();
  for (const Switch& one : bisection.switches)
    switches.push_back({{"name", one.name},
                        {"reference", value(one.reference)},
                        {"candidate", value(one.candidate)}});
  Json trials = Json::array();
  for (const Trial& trial : bisection.trials)
    trials.push_back({{"settings", trial.switched},
                      {"runs", trial.runs},
                      {"as_reference", trial.as_reference},
                      {"as_candidate", trial.as_candidate}});
  return {{"format", "ulpscope-bisect"},
          {"schema_version", 1},
          {"result", name(bisection.result)},
          {"settings", switches},
          {"smallest", bisection.smallest},
          {"complete", bisection.complete},
          {"trials", trials},
          {"not_tried", bisection.others},
          {"command", bisection.command}};
}

void render_bisection_json(const Bisection& bisection, std::ostream& out) {
  out << text_of(bisection_json(bisection));
}

}  // namespace ulpscope::cli
