#include "compare/diff/left_options.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "compare/model/side.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::string_view kWhen[] = {"saved.optimizer.", "end.optimizer."};
constexpr std::string_view kBecomes = " -> ";

struct Change {
  std::string_view before;
  std::string_view after;
};

struct Left {
  std::string_view optimizer_class;
  std::map<std::string_view, Change> changes;  ///< by hyperparameter
};

/// By the optimizer's number.
[[nodiscard]] std::map<std::string_view, Left> left_in(const std::vector<EnvironmentEntry>& entries,
                                                       std::string_view when) {
  std::map<std::string_view, Left> left;
  for (const EnvironmentEntry& entry : entries) {
    const std::string_view key = entry.key;
    if (!key.starts_with(when)) continue;
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

/// Where only one run has changed it, the other has what both had before.
[[nodiscard]] std::optional<ArgumentReport> left_apart(std::string_view name,
                                                       const Both<const Left*>& left) {
  const auto in_reference = left.reference->changes.find(name);
  const auto in_candidate = left.candidate->changes.find(name);
  const bool changed = in_reference != left.reference->changes.end();
  const bool other_changed = in_candidate != left.candidate->changes.end();
  const std::string_view reference =
      changed ? in_reference->second.after : in_candidate->second.before;
  const std::string_view candidate =
      other_changed ? in_candidate->second.after : in_reference->second.before;
  if (reference == candidate) return std::nullopt;
  return ArgumentReport{.name = std::string(name),
                        .reference = std::string(reference),
                        .candidate = std::string(candidate),
                        .of = std::string(left.reference->optimizer_class)};
}

}  // namespace

std::vector<ArgumentReport> left_options(const std::vector<EnvironmentEntry>& reference,
                                         const std::vector<EnvironmentEntry>& candidate) {
  std::map<std::string, ArgumentReport> reports;  // what is saved and stands is said once
  for (const std::string_view when : kWhen) {
    const auto others = left_in(candidate, when);
    for (const auto& [number, optimizer] : left_in(reference, when)) {
      const auto other = others.find(number);
      if (other == others.end() || other->second.optimizer_class != optimizer.optimizer_class)
        continue;
      const Both<const Left*> left{&optimizer, &other->second};
      std::set<std::string_view> names;
      for (const Side side : kSides)
        for (const auto& [name, change] : on(left, side)->changes) names.insert(name);
      for (const std::string_view name : names)
        if (auto report = left_apart(name, left))
          reports.insert_or_assign(fmt::format("{}.{}", number, name), std::move(*report));
    }
  }
  std::vector<ArgumentReport> found;
  for (auto& [key, report] : reports) found.push_back(std::move(report));
  return found;
}

}  // namespace ulpscope::comparison
