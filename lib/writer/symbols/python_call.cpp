#include "writer/symbols/python_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace ulpscope::writer {
namespace {

constexpr std::string_view kPython = "python:";
constexpr std::uintmax_t kLargestFile = 4 << 20;
constexpr std::size_t kLongestLine = 160;

}  // namespace

bool is_python(std::string_view object) noexcept { return object.starts_with(kPython); }

PythonCalls::Lines PythonCalls::lines_of(const std::string& path) {
  namespace fs = std::filesystem;
  Lines lines;
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargestFile) return lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::size_t end = line.find_last_not_of(" \t\r") + 1;
    std::string text = begin < end ? line.substr(begin, std::min(end - begin, kLongestLine)) : "";
    std::replace(text.begin(), text.end(), '\t', ' ');
    lines.push_back(std::move(text));
  }
  return lines;
}

std::string PythonCalls::operator()(std::string_view object, std::uint64_t line) {
  object.remove_prefix(std::min(kPython.size(), object.size()));
  const std::size_t end = std::min(object.find('\n'), object.size());
  const std::string path(object.substr(0, end));
  const std::string_view function = object.substr(std::min(end + 1, object.size()));
  auto file = files_.find(path);
  if (file == files_.end()) file = files_.emplace(path, lines_of(path)).first;
  std::string call = fmt::format("{}:{} {}", path.substr(path.rfind('/') + 1), line, function);
  const bool known = line > 0 && line <= file->second.size();
  if (known && !file->second[line - 1].empty()) call += "\t" + file->second[line - 1];
  return directories_.placed(std::move(call), path);
}

}  // namespace ulpscope::writer
