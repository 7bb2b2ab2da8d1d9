#include "compare/report/causes/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "compare/model/words.hpp"
#include "compare/report/environment.hpp"
#include "core/glob.hpp"

namespace ulpscope::comparison {
namespace {

/// Those of a list that are not in the other one, or "nothing".
[[nodiscard]] std::string words_without(const std::string& list, const std::string& other) {
  std::istringstream others(other);
  const std::set<std::string> known(std::istream_iterator<std::string>(others), {});
  std::istringstream words(list);
  std::vector<std::string> own;
  for (std::string word; words >> word;)
    if (!known.contains(word)) own.push_back(word);
  return own.empty() ? "nothing" : listed(own);
}

}  // namespace

OpClass class_of(const Finding& finding) {
  const OpClass op = facts::class_of(finding.op);
  if (finding.op.starts_with("aten::") || finding.module_type.empty()) return op;
  if (op != OpClass::other) return op;
  std::string type = finding.module_type;  // "BatchNorm2d" does what "batch_norm" does
  if (const auto norm = type.find("Norm"); norm != std::string::npos && norm > 0)
    type.insert(norm, "_");
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return facts::class_of(type);
}

std::string words(const EnvironmentDifference& difference) {
  const std::string when = when_words(difference);
  const std::string reference = difference.reference.value_or("not set");
  const std::string candidate = difference.candidate.value_or("not set");
  constexpr std::size_t kList = 60;
  if (reference.size() > kList && candidate.size() > kList)
    return fmt::format("{} has {} in the reference only and {} in the candidate only{}{}",
                       difference.key, words_without(reference, candidate),
                       words_without(candidate, reference), when.empty() ? "" : " ", when);
  return fmt::format("{} is {} and {}{}{}", difference.key, reference, candidate,
                     when.empty() ? "" : " ", when);
}

bool diverging_sequence(const Case& of) {
  return of.is(FindingKind::sequence) && of.finding().diverges && !of.evidence().missing_steps;
}

void add_notes(const Case& of, Cause& cause) {
  for (const EnvironmentDifference& difference : of.report().environment) {
    if (!core::glob_match("note.*", difference.key) ||
        !differs_in(difference, of.finding().step.value_or(kSetup)))
      continue;
    cause.evidence.push_back(core::glob_match("note.rng.*", difference.key)
                                 ? difference.key + " differs: the state of that generator"
                                 : words(difference));
  }
}

bool in_another_order(const Case& of) {
  return of.evidence().same_set_of_data ||
         (of.is(FindingKind::data) && of.evidence().same_tensors) ||
         any_differing(of, [](const TensorEvidence& tensor) { return tensor.rows_permuted; });
}

bool prepares_data(const Finding& finding) {
  return !finding.module && (finding.phase == Phase::data || finding.phase == Phase::setup);
}

bool reads_state(const Case& of) {
  return any_differing(of, [](const TensorEvidence& tensor) {
    constexpr std::uint32_t kState =
        slot_flag::parameter | slot_flag::buffer | slot_flag::requires_grad;
    return (tensor.flags.reference | tensor.flags.candidate) & kState;
  });
}

bool picks_samples(const Case& of) {
  const Picks& picks = of.evidence().picks;
  return of.is(FindingKind::arguments) && (picks.in_another_order() || picks.vary());
}

bool may_pick_samples(const Case& of) {
  return of.is(FindingKind::arguments) && of.evidence().picks.any() && prepares_data(of.finding());
}

bool has_other_code(const Case& of) {
  const Finding& finding = of.finding();
  return of.is(FindingKind::arguments) && finding.op.starts_with("inductor::") &&
         std::any_of(finding.arguments.begin(), finding.arguments.end(),
                     [](const ArgumentReport& argument) { return argument.name == "source"; });
}

std::optional<std::int64_t> Case::late_begin() const {
  const auto found = runs_.late_begin.find(record_.ranks.reference);
  const bool from_before =
      is(FindingKind::parameter) || (is(FindingKind::rng) && evidence().last_common_draw.empty());
  if (found == runs_.late_begin.end() || !from_before) return std::nullopt;
  return found->second.step;
}

std::vector<const EnvironmentDifference*> Case::settings(Setting group) const {
  std::vector<const EnvironmentDifference*> found;
  for (const EnvironmentDifference& difference : report_.environment)
    if (counts(difference) && setting_of(difference.key) == group) found.push_back(&difference);
  return found;
}

bool Case::only(Setting group) const {
  bool any = false;
  for (const EnvironmentDifference& difference : report_.environment) {
    if (!counts(difference)) continue;
    if (setting_of(difference.key) != group) return false;
    any = true;
  }
  return any;
}

bool Case::same_settings() const {
  return std::none_of(
      report_.environment.begin(), report_.environment.end(),
      [this](const EnvironmentDifference& difference) { return counts(difference); });
}

bool Case::counts(const EnvironmentDifference& difference) const {
  return difference.can_change_bits && differs_in(difference, finding().step.value_or(kSetup));
}

Cause Case::cause(std::string id, Confidence confidence) const {
  Cause result;
  result.id = std::move(id);
  result.confidence = confidence;
  result.finding = index_;
  return result;
}

std::string Case::command(std::string_view variables) const {
  std::string line(variables);
  for (const std::string& word : report_.reference.command)
    line += (line.empty() ? "" : " ") + word;
  return line;
}

}  // namespace ulpscope::comparison
