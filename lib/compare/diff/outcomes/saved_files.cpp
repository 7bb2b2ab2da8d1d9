#include "compare/diff/outcomes/saved_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compare/model/side.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::string_view kFile = "saved.file.";
constexpr std::string_view kArchive = "saved.archive.";
constexpr std::string_view kKeys = "saved.keys.";
constexpr std::string_view kNumbersKey = ".numbers";
constexpr std::string_view kOthers = ".others";
constexpr std::string_view kName = ".name";
constexpr std::string_view kPath = ".path";
constexpr std::string_view kTensors = ".tensors";
constexpr std::string_view kOrder = ".order";
constexpr char kThread = 't';
constexpr std::size_t kMostReported = 8;

struct File {
  std::string_view name;
  std::string_view path;
  std::string_view keys;  ///< their digest
  std::string_view numbers;
  std::string_view others;
  std::string_view order;  ///< of the keys of its tensors
  std::optional<std::size_t> tensors;
  std::int64_t step = kSetup;

  [[nodiscard]] bool has_same_content(const File& other) const {
    return keys == other.keys && numbers == other.numbers;
  }
};

using Files = std::vector<File>;

struct Saved {
  std::map<std::uint32_t, File> of_main;
  std::map<std::uint32_t, File> of_others;
  std::map<std::string_view, std::string_view> keys;  ///< by digest

  [[nodiscard]] std::string_view keys_of(const File& file) const {
    const auto known = keys.find(file.keys);
    return known == keys.end() ? std::string_view() : known->second;
  }
};

[[nodiscard]] std::optional<std::size_t> number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// By the settings whose keys begin so.
[[nodiscard]] Saved saved_in(const std::vector<EnvironmentEntry>& entries,
                             std::string_view prefix) {
  Saved saved;
  for (const EnvironmentEntry& entry : entries) {
    std::string_view key = entry.key;
    if (key.starts_with(kKeys)) saved.keys.emplace(key.substr(kKeys.size()), entry.value);
    if (!key.starts_with(prefix)) continue;
    key.remove_prefix(prefix.size());
    const bool in_thread = key.starts_with(kThread);
    if (in_thread) key.remove_prefix(1);
    std::uint32_t number = 0;
    const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    if (error != std::errc()) continue;
    key.remove_prefix(static_cast<std::size_t>(rest - key.data()));
    File& file = (in_thread ? saved.of_others : saved.of_main)[number];
    if (key == kTensors)
      file.tensors = number_of(entry.value);
    else
      (key == kName         ? file.name
       : key == kPath       ? file.path
       : key == kNumbersKey ? file.numbers
       : key == kOthers     ? file.others
       : key == kOrder      ? file.order
                            : file.keys) = entry.value;
    file.step = entry.step;
  }
  return saved;
}

/// Files by name, in the order in which they were saved.
[[nodiscard]] std::map<std::string_view, Files> by_name(
    const std::map<std::uint32_t, File>& saved) {
  std::map<std::string_view, Files> files;
  for (const auto& [number, file] : saved) files[file.name].push_back(file);
  return files;
}

[[nodiscard]] bool has_digits(std::string_view name) {
  return name.find_first_of("0123456789") != std::string_view::npos;
}

/// Takes away what both have.
void drop_equal(Files& reference, Files& candidate) {
  std::erase_if(reference, [&](const File& file) {
    const auto other = std::ranges::find_if(
        candidate, [&](const File& each) { return file.has_same_content(each); });
    if (other == candidate.end()) return false;
    candidate.erase(other);
    return true;
  });
}

using Pair = std::pair<File, File>;

/// Where one run has saved more often, or where threads race to save, what both have saved has no
/// order, but for what is left in the file.
void pair_files(Files reference, Files candidate, bool in_order, std::vector<Pair>& pairs) {
  const bool more_often = in_order && reference.size() != candidate.size();
  if (more_often && !reference.front().name.empty())
    pairs.emplace_back(reference.back(), candidate.back());
  if (more_often || !in_order) drop_equal(reference, candidate);
  for (std::size_t k = 0; k < std::min(reference.size(), candidate.size()); ++k)
    pairs.emplace_back(reference[k], candidate[k]);
}

/// Files of the same name; then those whose name the other run has not, if it has as many.
[[nodiscard]] std::vector<Pair> paired(const std::map<std::uint32_t, File>& reference,
                                       const std::map<std::uint32_t, File>& candidate,
                                       bool in_order) {
  std::vector<Pair> pairs;
  const auto left = by_name(reference);
  const auto right = by_name(candidate);
  const auto others = [](const auto& saved, const auto& known) {
    Files files;
    for (const auto& [number, file] : saved)
      if (!known.contains(file.name)) files.push_back(file);
    return files;
  };
  for (const auto& [name, files] : left)
    if (const auto found = right.find(name); found != right.end())
      pair_files(files, found->second, in_order, pairs);
  const Files left_alone = others(reference, right);
  const Files right_alone = others(candidate, left);
  if (left_alone.size() == right_alone.size()) pair_files(left_alone, right_alone, in_order, pairs);
  return pairs;
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

[[nodiscard]] ArgumentReport report(std::string_view name, std::string_view reference,
                                    std::string_view candidate) {
  const auto known = [](std::string_view value) {
    return value.empty() ? std::nullopt : std::optional<std::string>(value);
  };
  return {.name = std::string(name),
          .reference = known(reference),
          .candidate = known(candidate),
          .of = {}};
}

/// The first key that differs, in the order in which both wrote them; of keys that both have in
/// another order the first that stands elsewhere.
[[nodiscard]] std::vector<ArgumentReport> other_keys(std::string_view reference,
                                                     std::string_view candidate) {
  const auto left = lines_of(reference);
  const auto right = lines_of(candidate);
  const auto [one, other] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  const bool is_order = std::ranges::is_permutation(left, right);
  return {report(is_order ? "order of keys" : "key", one == left.end() ? "" : *one,
                 other == right.end() ? "" : *other)};
}

/// "hist.3=0.5" in two parts; the second one is empty if there is none.
[[nodiscard]] std::pair<std::string_view, std::string_view> name_and_value(std::string_view line) {
  const std::size_t end = std::min(line.rfind('='), line.size());
  return {line.substr(0, end), line.substr(std::min(end + 1, line.size()))};
}

/// Of the same names in the same order.
[[nodiscard]] std::vector<ArgumentReport> other_numbers(std::string_view reference,
                                                        std::string_view candidate) {
  const auto left = lines_of(reference);
  const auto right = lines_of(candidate);
  std::vector<ArgumentReport> reports;
  for (std::size_t k = 0; k < std::min(left.size(), right.size()); ++k) {
    if (left[k] == right[k] || reports.size() == kMostReported) continue;
    const auto [name, value] = name_and_value(left[k]);
    const auto [other_name, other] = name_and_value(right[k]);
    if (name == other_name) reports.push_back(report(name, value, other));
  }
  return reports;
}

/// Numbers and texts that may be times, if both runs have the same ones under other keys.
[[nodiscard]] std::vector<ArgumentReport> exchanged(std::string_view reference,
                                                    std::string_view candidate) {
  const auto values = [](std::string_view text) {
    std::vector<std::string_view> sorted;
    for (const std::string_view line : lines_of(text))
      sorted.push_back(name_and_value(line).second);
    std::ranges::sort(sorted);
    return sorted;
  };
  if (values(reference) != values(candidate)) return {};
  return other_numbers(reference, candidate);
}

/// Where no other file was saved by the main thread; else where it was is not known.
[[nodiscard]] std::optional<std::int64_t> step_of(const File& file, const Saved& saved) {
  const auto in_step =
      std::count_if(saved.of_main.begin(), saved.of_main.end(),
                    [&](const auto& each) { return each.second.step == file.step; });
  return in_step == 1 && saved.of_others.empty() ? std::optional(file.step) : std::nullopt;
}

[[nodiscard]] SavedDifference saved_otherwise(const Noted& noted, std::string_view prefix) {
  const auto& [reference, candidate] = noted;
  const Saved left = saved_in(reference, prefix);
  const Saved right = saved_in(candidate, prefix);
  std::vector<Pair> pairs = paired(left.of_main, right.of_main, /*in_order=*/true);
  std::ranges::move(paired(left.of_others, right.of_others, /*in_order=*/false),
                    std::back_inserter(pairs));
  for (const auto& [file, other] : pairs) {
    auto reports = file.keys != other.keys ? other_keys(left.keys_of(file), right.keys_of(other))
                                           : other_numbers(file.numbers, other.numbers);
    if (reports.empty()) reports = exchanged(file.others, other.others);
    if (!reports.empty()) return {std::move(reports), {step_of(file, left), step_of(other, right)}};
  }
  return {};
}

}  // namespace

bool saved_same_keys(const Noted& noted) {
  bool any = false;
  for (const std::string_view prefix : {kFile, kArchive}) {
    const Saved left = saved_in(noted.reference, prefix);
    const Saved right = saved_in(noted.candidate, prefix);
    const std::vector<Pair> pairs = paired(left.of_main, right.of_main, /*in_order=*/true);
    const bool all = pairs.size() == left.of_main.size() && pairs.size() == right.of_main.size();
    if (!all || !left.of_others.empty() || !right.of_others.empty()) return false;
    for (const auto& [file, other] : pairs)
      if (file.keys != other.keys) return false;
    any = any || !pairs.empty();
  }
  return any;
}

std::vector<LastFile> last_files(const std::vector<EnvironmentEntry>& settings, std::size_t all) {
  constexpr std::size_t kMostTensors = std::size_t{1} << 32;
  Saved saved = saved_in(settings, kFile);
  bool is_archive = false;
  if (Saved archives = saved_in(settings, kArchive); !archives.of_main.empty()) {
    if (!saved.of_main.empty()) return {};
    saved = std::move(archives);
    is_archive = true;
  }
  std::map<std::pair<std::string_view, std::string_view>, LastFile> files;
  std::size_t first = 0;
  for (const auto& [number, file] : saved.of_main) {
    if (!file.tensors || *file.tensors > kMostTensors) return {};
    const auto keys = lines_of(file.order);
    if (!file.name.empty())
      files[{file.name, file.path}] = {.name = std::string(file.name),
                                       .path = std::string(file.path),
                                       .number = number,
                                       .step = file.step,
                                       .first = first,
                                       .tensors = *file.tensors,
                                       .is_archive = is_archive,
                                       .keys = {keys.begin(), keys.end()}};
    first += *file.tensors;
  }
  if (first != all) return {};
  std::vector<LastFile> result;
  for (auto& [key, file] : files) result.push_back(std::move(file));
  return result;
}

std::vector<LastFiles> same_files(const Both<std::vector<LastFile>>& files) {
  const auto grouped = [](const std::vector<LastFile>& saved) {
    std::map<std::string_view, std::vector<LastFile>> by_name;
    for (const LastFile& file : saved) by_name[file.name].push_back(file);
    return by_name;
  };
  const auto last_of = [](const std::vector<LastFile>& saved) {
    return *std::ranges::max_element(saved, {}, &LastFile::number);
  };
  const auto left = grouped(files.reference);
  const auto right = grouped(files.candidate);
  const auto name_of = [](const auto& group) { return group.first; };
  const bool same_names = std::ranges::equal(left, right, {}, name_of, name_of);
  std::vector<LastFiles> same;
  for (const auto& [name, ones] : left) {
    const auto found = right.find(name);
    if (found == right.end()) continue;
    const auto& others = found->second;
    if (std::ranges::equal(ones, others, {}, &LastFile::path, &LastFile::path)) {
      for (std::size_t k = 0; k < ones.size(); ++k)
        same.push_back({ones.size() == 1 ? ones[k].name : ones[k].path, {ones[k], others[k]}});
    } else {
      same.push_back({std::string(name), {last_of(ones), last_of(others)}});
    }
  }
  for (LastFiles& each : same) each.certain = !has_digits(each.name);
  std::erase_if(same, [&](const LastFiles& each) { return !each.certain && !same_names; });
  return same;
}

SavedDifference saved_otherwise(const Noted& noted) {
  for (const auto& [prefix, function] :
       {std::pair(kFile, "torch.save"), {kArchive, "torch::save"}}) {
    SavedDifference difference = saved_otherwise(noted, prefix);
    for (ArgumentReport& each : difference.reports) each.of = function;
    if (!difference.reports.empty()) return difference;
  }
  return {};
}

}  // namespace ulpscope::comparison
