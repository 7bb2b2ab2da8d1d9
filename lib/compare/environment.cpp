#include "compare/environment.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "compare/words.hpp"

namespace ulpscope::comparison {
namespace {

/// Keys that can change results; '*' stands for any run of characters.
constexpr std::array<std::string_view, 21> kChangesBits{"torch.*",         "program.build_id",
                                                        "library.*",       "cpu.model",
                                                        "cpu.capability",  "cpu.onednn_isa",
                                                        "cpu.flags",       "threads.*",
                                                        "flag.*",          "rng.*",
                                                        "device.*.name",   "device.*.sms",
                                                        "device.*.driver", "cuda.*",
                                                        "cudnn.*",         "os.libc",
                                                        "env.*",           "env_now.*",
                                                        "blas.*",          "mkl.*",
                                                        "onednn.*"};

/// Variables that choose what is printed, stored or preloaded, not what is computed.
constexpr std::array<std::string_view, 13> kHarmlessVariables{
    "*.TORCH_LOGS",           "*.TORCH_HOME",    "*.TORCH_CPP_LOG_LEVEL", "*.TORCH_SHOW_*",
    "*.TORCH_TRACE",          "*.MKL_VERBOSE",   "*.ONEDNN_VERBOSE",      "*.DNNL_VERBOSE",
    "*.NCCL_DEBUG*",          "*.OMP_DISPLAY_*", "*.KMP_SETTINGS",        "*.KMP_AFFINITY_VERBOSE",
    "*.PYTORCH_JIT_LOG_LEVEL"};

/// What recording itself brings along.
constexpr std::array<std::string_view, 6> kOwn{"capture.*",          "env.ULPSCOPE_*",
                                               "env_now.ULPSCOPE_*", "env.LD_PRELOAD",
                                               "env_now.LD_PRELOAD", "library.libulpscope*"};

template <std::size_t Count>
[[nodiscard]] bool matches(const std::array<std::string_view, Count>& patterns,
                           std::string_view key) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return glob_match(pattern, key); });
}

[[nodiscard]] std::map<std::string, std::string> last_values(
    const std::vector<EnvironmentEntry>& entries) {
  std::map<std::string, std::pair<std::int64_t, std::string>> latest;
  for (const EnvironmentEntry& entry : entries) {
    const auto [at, inserted] = latest.try_emplace(entry.key, entry.step, entry.value);
    if (!inserted && entry.step >= at->second.first) at->second = {entry.step, entry.value};
  }
  std::map<std::string, std::string> values;
  for (auto& [key, value] : latest) values.emplace(key, std::move(value.second));
  return values;
}

}  // namespace

bool can_change_bits(std::string_view key) {
  return matches(kChangesBits, key) && !matches(kHarmlessVariables, key);
}

std::vector<EnvironmentDifference> environment_differences(
    const std::vector<EnvironmentEntry>& reference,
    const std::vector<EnvironmentEntry>& candidate) {
  const auto left = last_values(reference);
  const auto right = last_values(candidate);
  std::set<std::string> keys;
  for (const auto& entry : left) keys.insert(entry.first);
  for (const auto& entry : right) keys.insert(entry.first);

  const auto value_in = [](const std::map<std::string, std::string>& values,
                           const std::string& key) -> std::optional<std::string> {
    const auto at = values.find(key);
    if (at == values.end()) return std::nullopt;
    return at->second;
  };
  std::vector<EnvironmentDifference> differences;
  for (const std::string& key : keys) {
    EnvironmentDifference difference{key, value_in(left, key), value_in(right, key),
                                     can_change_bits(key)};
    if (difference.reference != difference.candidate && !matches(kOwn, key))
      differences.push_back(std::move(difference));
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const EnvironmentDifference& a, const EnvironmentDifference& b) {
                     return std::tuple(!a.can_change_bits, std::string_view(a.key)) <
                            std::tuple(!b.can_change_bits, std::string_view(b.key));
                   });
  return differences;
}

}  // namespace ulpscope::comparison
