#include "cli/inputs/settings_pairs.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>

#include "compare/report/environment.hpp"

namespace ulpscope::cli {
namespace {

using Settings = std::map<std::string, std::string>;

Settings settings_of(const Run& run, std::uint32_t rank) {
  constexpr std::string_view kRecorderItself = "capture.";
  Settings settings;
  for (const EnvironmentEntry& entry : run.environment(rank)) {
    if (entry.key.starts_with(kRecorderItself)) continue;
    const auto [place, added] = settings.emplace(entry.key, entry.value);
    if (!added && entry.step == kSetup) {
      place->second = entry.value;
    } else if (added && entry.step != kSetup) {
      place->second = fmt::format("from step {}: {}", entry.step, entry.value);
    } else if (!added) {
      place->second += fmt::format(", from step {}: {}", entry.step, entry.value);
    }
  }
  return settings;
}

std::optional<std::string> value_of(const Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::vector<SettingPair> settings_pairs(const Run& reference, std::uint32_t reference_rank,
                                        const Run& candidate, std::uint32_t candidate_rank) {
  const Settings left = settings_of(reference, reference_rank);
  const Settings right = settings_of(candidate, candidate_rank);
  std::set<std::string> keys;
  for (const Settings* settings : {&left, &right}) {
    for (const auto& [key, value] : *settings) keys.insert(key);
  }
  std::vector<SettingPair> pairs;
  for (const std::string& key : keys) {
    pairs.push_back(
        {key, value_of(left, key), value_of(right, key), comparison::can_change_bits(key)});
  }
  return pairs;
}

}  // namespace ulpscope::cli
