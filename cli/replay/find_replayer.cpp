#include "cli/replay/find_replayer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/base/library_beside.hpp"
#include "replay/replay_process.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "ulpscope-replay-";

/// "2.11": the parts of a version that distinguish LibTorch releases.
using Minor = std::pair<int, int>;

Minor minor_of(std::string_view version) {
  Minor minor{-1, -1};
  const char* const end = version.data() + version.size();
  const auto [point, error] = std::from_chars(version.data(), end, minor.first);
  if (error == std::errc() && point != end) std::from_chars(point + 1, end, minor.second);
  return minor;
}

std::map<Minor, fs::path> installed() {
  std::map<Minor, fs::path> programs;
  for (const fs::path& directory : library_directories()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(kName))
        programs.try_emplace(minor_of(std::string_view(name).substr(kName.size())), entry.path());
    }
  }
  return programs;
}

Minor recorded_with(const Run& run) {
  const auto ranks = run.ranks();
  if (!ranks.empty())
    for (const EnvironmentEntry& entry : run.environment(ranks.front()))
      if (entry.key == "torch.version") return minor_of(entry.value);
  return {-1, -1};
}

}  // namespace

ReplayerFactory replayer_factory(const Run& run) {
  const auto programs = installed();
  if (programs.empty()) return nullptr;
  const auto same = programs.find(recorded_with(run));
  const fs::path program = (same == programs.end() ? *programs.rbegin() : *same).second;
  return [program](const ReplayStart& start) {
    return std::make_unique<replay::ReplayProcess>(program, start);
  };
}

std::string why_no_replayer(const Run& run) {
  const Minor version = recorded_with(run);
  std::vector<std::string> directories;
  for (const fs::path& directory : library_directories())
    directories.push_back(directory.lexically_normal().string());
  return fmt::format(
      "no {}{} in {}", kName,
      version.first < 0 ? "VERSION" : fmt::format("{}.{}", version.first, version.second),
      fmt::join(directories, ", "));
}

std::unique_ptr<Replayer> find_replayer(const Run& run) {
  const ReplayerFactory factory = replayer_factory(run);
  return factory ? factory({}) : nullptr;
}

}  // namespace ulpscope::cli
