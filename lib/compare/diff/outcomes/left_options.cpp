#include "compare/diff/outcomes/left_options.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "compare/model/side.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::string_view kSaved = "saved.optimizer.";
constexpr std::string_view kAtEnd = "end.optimizer.";
constexpr std::string_view kBecomes = " -> ";

/// Before the numbers of those that threads beside the main one use.
constexpr char kOfThreads = 't';

struct Change {
  std::string_view before;
  std::string_view after;

  friend auto operator<=>(const Change&, const Change&) = default;
};

struct Left {
  std::string_view optimizer_class;
  std::map<std::string_view, Change> changes;  ///< by hyperparameter

  friend auto operator<=>(const Left&, const Left&) = default;
};

using LeftByNumber = std::map<std::string_view, Left>;

/// By the optimizer's number, of what was noted up to a step.
[[nodiscard]] LeftByNumber left_in(const std::vector<EnvironmentEntry>& entries,
                                   std::string_view when, std::int64_t last_step) {
  LeftByNumber left;
  for (const EnvironmentEntry& entry : entries) {
    const std::string_view key = entry.key;
    if (!key.starts_with(when) || entry.step > last_step) continue;
    const std::string_view named = key.substr(when.size());
    const std::size_t dot = named.find('.');
    Left& optimizer = left[named.substr(0, dot)];
    if (dot == std::string_view::npos) {
      optimizer.optimizer_class = entry.value;
      continue;
    }
    const std::string_view words = entry.value;
    const std::size_t arrow = words.find(kBecomes);
    if (arrow == std::string_view::npos)
      optimizer.changes.erase(named.substr(dot + 1));
    else
      optimizer.changes.insert_or_assign(
          named.substr(dot + 1),
          Change{words.substr(0, arrow), words.substr(arrow + kBecomes.size())});
  }
  return left;
}

/// One optimizer in both runs.
using Pair = std::pair<const Left*, const Left*>;

[[nodiscard]] bool is_of_threads(std::string_view number) { return number.starts_with(kOfThreads); }

void pair_by_number(const LeftByNumber& reference, const LeftByNumber& candidate,
                    std::vector<Pair>& pairs) {
  for (const auto& [number, left] : reference) {
    if (is_of_threads(number)) continue;
    const auto other = candidate.find(number);
    if (other != candidate.end()) pairs.emplace_back(&left, &other->second);
  }
}

/// Those of threads, sorted; nothing if there were more than are noted.
[[nodiscard]] std::vector<const Left*> of_threads(const LeftByNumber& all) {
  std::vector<const Left*> sorted;
  for (const auto& [number, left] : all) {
    if (!is_of_threads(number)) continue;
    if (number.size() == 1) return {};
    sorted.push_back(&left);
  }
  std::ranges::sort(sorted, {}, [](const Left* each) -> const Left& { return *each; });
  return sorted;
}

/// Pairs what only one of both sets has.
void pair_in_sets(const LeftByNumber& reference, const LeftByNumber& candidate,
                  std::vector<Pair>& pairs) {
  const auto left = of_threads(reference);
  const auto right = of_threads(candidate);
  if (left.size() != right.size()) return;
  const auto less = [](const Left* one, const Left* other) { return *one < *other; };
  std::vector<const Left*> only_left;
  std::vector<const Left*> only_right;
  std::ranges::set_difference(left, right, std::back_inserter(only_left), less);
  std::ranges::set_difference(right, left, std::back_inserter(only_right), less);
  for (std::size_t i = 0; i < only_left.size(); ++i)
    pairs.emplace_back(only_left[i], only_right[i]);
}

/// Where only one run has changed it, the other has what both had before.
[[nodiscard]] std::optional<ArgumentReport> left_apart(std::string_view name, const Pair& pair) {
  const auto& [reference, candidate] = pair;
  const auto in_reference = reference->changes.find(name);
  const auto in_candidate = candidate->changes.find(name);
  const bool changed = in_reference != reference->changes.end();
  const bool other_changed = in_candidate != candidate->changes.end();
  const std::string_view left = changed ? in_reference->second.after : in_candidate->second.before;
  const std::string_view right =
      other_changed ? in_candidate->second.after : in_reference->second.before;
  if (left == right) return std::nullopt;
  return ArgumentReport{.name = std::string(name),
                        .reference = std::string(left),
                        .candidate = std::string(right),
                        .of = std::string(reference->optimizer_class)};
}

[[nodiscard]] bool says_same(const ArgumentReport& one, const ArgumentReport& other) {
  const auto all = [](const ArgumentReport& each) {
    return std::tie(each.name, each.reference, each.candidate, each.of);
  };
  return all(one) == all(other);
}

/// What is saved and stands is said once.
void add_reports(const Pair& pair, std::vector<ArgumentReport>& reports) {
  const auto& [reference, candidate] = pair;
  if (reference->optimizer_class != candidate->optimizer_class) return;
  std::set<std::string_view> names;
  for (const Left* left : {reference, candidate})
    for (const auto& [name, change] : left->changes) names.insert(name);
  for (const std::string_view name : names)
    if (auto report = left_apart(name, pair);
        report && std::ranges::none_of(reports, [&](const ArgumentReport& each) {
          return says_same(each, *report);
        }))
      reports.push_back(std::move(*report));
}

void add_reports(const std::vector<EnvironmentEntry>& reference,
                 const std::vector<EnvironmentEntry>& candidate, std::string_view when,
                 std::int64_t last_step, std::vector<ArgumentReport>& reports) {
  const LeftByNumber left = left_in(reference, when, last_step);
  const LeftByNumber right = left_in(candidate, when, last_step);
  std::vector<Pair> pairs;
  pair_by_number(left, right, pairs);
  pair_in_sets(left, right, pairs);
  for (const Pair& pair : pairs) add_reports(pair, reports);
}

}  // namespace

LeftOptions left_options(const std::vector<EnvironmentEntry>& reference,
                         const std::vector<EnvironmentEntry>& candidate) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  std::set<std::int64_t> steps;
  for (const auto* entries : {&reference, &candidate})
    for (const EnvironmentEntry& entry : *entries)
      if (entry.key.starts_with(kSaved)) steps.insert(entry.step);
  LeftOptions left;
  std::vector<ArgumentReport> saved;
  // Only what was saved last is left.
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    saved.clear();
    add_reports(reference, candidate, kSaved, *step, saved);
    if (saved.empty()) break;
    left = {saved, *step};
  }
  if (!left.step) add_reports(reference, candidate, kAtEnd, kLast, left.reports);
  return left;
}

}  // namespace ulpscope::comparison
