#include "compare/diff/saved_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "compare/model/side.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::string_view kFile = "saved.file.";
constexpr std::string_view kKeys = "saved.keys.";
constexpr std::string_view kNumbers = ".numbers";
constexpr std::size_t kMostReported = 8;

struct File {
  std::string_view keys;  ///< their digest
  std::string_view numbers;
};

struct Saved {
  std::map<std::uint32_t, File> files;
  std::map<std::string_view, std::string_view> keys;  ///< by digest
};

[[nodiscard]] Saved saved_in(const std::vector<EnvironmentEntry>& entries) {
  Saved saved;
  for (const EnvironmentEntry& entry : entries) {
    std::string_view key = entry.key;
    if (key.starts_with(kKeys)) saved.keys.emplace(key.substr(kKeys.size()), entry.value);
    if (!key.starts_with(kFile)) continue;
    key.remove_prefix(kFile.size());
    std::uint32_t number = 0;
    const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    if (error != std::errc()) continue;
    key.remove_prefix(static_cast<std::size_t>(rest - key.data()));
    File& file = saved.files[number];
    (key == kNumbers ? file.numbers : file.keys) = entry.value;
  }
  return saved;
}

[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

[[nodiscard]] std::string_view keys_of(const Saved& saved, std::string_view digest) {
  const auto known = saved.keys.find(digest);
  return known == saved.keys.end() ? std::string_view() : known->second;
}

[[nodiscard]] ArgumentReport report(std::string_view name, std::string_view reference,
                                    std::string_view candidate) {
  const auto known = [](std::string_view value) {
    return value.empty() ? std::nullopt : std::optional<std::string>(value);
  };
  return {.name = std::string(name),
          .reference = known(reference),
          .candidate = known(candidate),
          .of = "torch.save"};
}

/// Lines are in the order in which both wrote them, up to the first that differs.
[[nodiscard]] std::vector<ArgumentReport> other_keys(std::string_view reference,
                                                     std::string_view candidate) {
  const auto left = lines_of(reference);
  const auto right = lines_of(candidate);
  const auto [one, other] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  return {report("key", one == left.end() ? "" : *one, other == right.end() ? "" : *other)};
}

[[nodiscard]] std::vector<ArgumentReport> other_numbers(std::string_view reference,
                                                        std::string_view candidate) {
  const auto left = lines_of(reference);
  const auto right = lines_of(candidate);
  std::vector<ArgumentReport> reports;
  for (std::size_t k = 0; k < std::min(left.size(), right.size()); ++k) {
    if (left[k] == right[k] || reports.size() == kMostReported) continue;
    const std::string_view name = left[k].substr(0, left[k].rfind('='));
    const std::string_view other_name = right[k].substr(0, right[k].rfind('='));
    if (name == other_name)
      reports.push_back(report(name, left[k].substr(std::min(name.size() + 1, left[k].size())),
                               right[k].substr(std::min(name.size() + 1, right[k].size()))));
  }
  return reports;
}

}  // namespace

std::vector<ArgumentReport> saved_otherwise(const std::vector<EnvironmentEntry>& reference,
                                            const std::vector<EnvironmentEntry>& candidate) {
  const Saved left = saved_in(reference);
  const Saved right = saved_in(candidate);
  for (const auto& [number, file] : left.files) {
    const auto found = right.files.find(number);
    if (found == right.files.end()) continue;
    const File& other = found->second;
    auto reports = file.keys != other.keys
                       ? other_keys(keys_of(left, file.keys), keys_of(right, other.keys))
                       : other_numbers(file.numbers, other.numbers);
    if (!reports.empty()) return reports;
  }
  return {};
}

}  // namespace ulpscope::comparison
