#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "writer/symbols/source_directories.hpp"

/// Calls of Python code, which arrive with their names: "python:FILE\nFUNCTION" and a line.
namespace ulpscope::writer {

[[nodiscard]] bool is_python(std::string_view object) noexcept;

/// Names such calls, with the text of the line and the directory of the file where that is known
/// (SourceDirectories): "net.py:41 Net.forward\tx = self.conv(x)\tmodels".
class PythonCalls {
 public:
  [[nodiscard]] std::string operator()(std::string_view object, std::uint64_t line);

 private:
  using Lines = std::vector<std::string>;
  /// Reads regular files of moderate size; of others no line is known.
  [[nodiscard]] static Lines lines_of(const std::string& path);

  std::map<std::string, Lines, std::less<>> files_;
  SourceDirectories directories_;
};

}  // namespace ulpscope::writer
