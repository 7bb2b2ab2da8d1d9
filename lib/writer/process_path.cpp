#include "writer/process_path.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace ulpscope::writer {
namespace {

constexpr std::size_t kDeepest = 100;

struct RunningProcess {
  dump::ProcessMark mark;
  std::uint32_t parent = 0;
};

/// Fields 4 and 22 of /proc/PID/stat. The name in field 2 may hold blanks and parentheses.
std::optional<RunningProcess> running_process(std::uint32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  // Not by an iterator, which throws where the process ends before it is read.
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  RunningProcess process;
  process.mark.pid = pid;
  std::string skipped;
  fields >> skipped >> process.parent;
  for (int field = 5; field < 22; ++field) fields >> skipped;
  fields >> process.mark.start_time;
  return fields ? std::optional(process) : std::nullopt;
}

}  // namespace

std::vector<dump::ProcessMark> process_path(const ring::Hello& hello) {
  std::vector<dump::ProcessMark> path;
  const auto recorder = static_cast<std::uint32_t>(::getpid());
  std::uint32_t pid = hello.pid;
  while (pid > 1 && pid != recorder && path.size() < kDeepest) {
    const auto process = running_process(pid);
    if (!process) break;
    path.push_back(process->mark);
    pid = process->parent;
  }
  if (path.empty()) path.push_back({hello.start_time, hello.pid});
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace ulpscope::writer
