#include "cli/check/switches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "cli/inputs/settings_pairs.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kVariable = "env.";
const std::map<std::string, std::string> kFlags{{"flag.mkldnn.enabled", "mkldnn"},
                                                {"flag.deterministic_algorithms", "deterministic"}};

using Words = std::vector<std::string>;

/// lengths[i][j]: of the longest common subsequence of a from i and b from j.
std::vector<std::vector<std::size_t>> common_lengths(const Words& a, const Words& b) {
  std::vector lengths(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      lengths[i][j] =
          a[i] == b[j] ? lengths[i + 1][j + 1] + 1 : std::max(lengths[i + 1][j], lengths[i][j + 1]);
  return lengths;
}

std::optional<std::string> joined(const Words& words) {
  if (words.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(words, " "));
}

/// Words that belong together: an option with its values, or values alone.
struct Group {
  std::string name;  ///< "--threads"; empty: values of what stands before
  Words words;
};

std::vector<Group> groups_of(const Words& words) {
  std::vector<Group> groups;
  for (const std::string& word : words) {
    const bool option = word.size() > 1 && word[0] == '-' && !std::isdigit(word[1]);
    if (option || groups.empty())
      groups.push_back({option ? word.substr(0, word.find('=')) : std::string(), {}});
    groups.back().words.push_back(word);
  }
  return groups;
}

/// The words of both commands, and a switch for each place in which they differ.
class CommandDifference {
 public:
  CommandDifference(const Words& a, const Words& b, TwoStarts& starts) : starts_(starts) {
    const auto lengths = common_lengths(a, b);
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() || j < b.size()) {
      if (i < a.size() && j < b.size() && a[i] == b[j]) {
        end_stretch();
        starts_.words.push_back({a[i], std::nullopt, false});
        ++i;
        ++j;
      } else if (j == b.size() || (i < a.size() && lengths[i + 1][j] >= lengths[i][j + 1])) {
        here_.push_back(a[i++]);
      } else {
        there_.push_back(b[j++]);
      }
    }
    end_stretch();
  }

 private:
  /// Between equal words: options of one name are partners, values that come first are, too.
  void end_stretch() {
    std::vector<Group> there = groups_of(there_);
    for (const Group& group : groups_of(here_)) {
      const auto partner = std::find_if(
          there.begin(), there.end(), [&](const Group& other) { return other.name == group.name; });
      add(group.name, group.words, partner == there.end() ? Words() : partner->words);
      if (partner != there.end()) there.erase(partner);
    }
    for (const Group& group : there) add(group.name, {}, group.words);
    here_.clear();
    there_.clear();
  }

  void add(const std::string& name, const Words& here, const Words& there) {
    const std::size_t index = starts_.switches.size();
    starts_.switches.push_back(
        {Switch::Kind::words, name.empty() ? name_of_values() : name, joined(here), joined(there)});
    for (const std::string& word : here) starts_.words.push_back({word, index, false});
    for (const std::string& word : there) starts_.words.push_back({word, index, true});
  }

  [[nodiscard]] std::string name_of_values() const {
    if (starts_.words.empty()) return "the program";
    const std::string& before = starts_.words.back().text;
    return before.starts_with("-") ? before : fmt::format("argument {}", starts_.words.size());
  }

  TwoStarts& starts_;
  Words here_;
  Words there_;
};

bool switches_variable(const SettingPair& pair) { return pair.key.starts_with(kVariable); }

/// Throughout both runs.
bool is_on_or_off(const SettingPair& pair) {
  const auto fits = [](const std::optional<std::string>& value) {
    return value == "on" || value == "off";
  };
  return fits(pair.reference) && fits(pair.candidate);
}

}  // namespace

TwoStarts starts_of(const Run& reference, const Run& candidate) {
  TwoStarts starts;
  CommandDifference(reference.info().command, candidate.info().command, starts);
  const auto ranks = reference.ranks();
  const auto others = candidate.ranks();
  if (ranks.empty() || others.empty()) return starts;
  for (const SettingPair& pair :
       settings_pairs(reference, ranks.front(), candidate, others.front())) {
    const auto flag = kFlags.find(pair.key);
    if (switches_variable(pair)) {
      const std::string name = pair.key.substr(kVariable.size());
      if (pair.equal())
        starts.variables.emplace_back(name, pair.reference);
      else
        starts.switches.push_back({Switch::Kind::variable, name, pair.reference, pair.candidate});
    } else if (!pair.equal() && flag != kFlags.end() && is_on_or_off(pair)) {
      starts.switches.push_back({Switch::Kind::flag, flag->second, pair.reference, pair.candidate});
    } else if (!pair.equal() && pair.can_change_bits) {
      starts.others.push_back(pair.key);
    }
  }
  return starts;
}

Variant start_with(const TwoStarts& starts, const IndexSet& switched) {
  const auto is_on = [&](std::size_t index) {
    return std::binary_search(switched.begin(), switched.end(), index);
  };
  Variant variant;
  for (const TwoStarts::Word& word : starts.words)
    if (!word.of_switch || is_on(*word.of_switch) == word.candidate)
      variant.command.push_back(word.text);
  variant.variables = starts.variables;
  for (std::size_t i = 0; i < starts.switches.size(); ++i) {
    const Switch& one = starts.switches[i];
    const std::optional<std::string>& value = is_on(i) ? one.candidate : one.reference;
    if (one.kind == Switch::Kind::variable) {
      variant.variables.emplace_back(one.name, value);
    } else if (one.kind == Switch::Kind::flag && value) {
      variant.record_options.insert(variant.record_options.end(),
                                    {"--set", fmt::format("{}={}", one.name, *value)});
    }
  }
  return variant;
}

}  // namespace ulpscope::cli
