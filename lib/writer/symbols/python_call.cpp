#include "writer/symbols/python_call.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ulpscope::writer {
namespace {

constexpr std::string_view kPython = "python:";

}  // namespace

bool is_python(std::string_view object) noexcept { return object.starts_with(kPython); }

std::string python_call(std::string_view object, std::uint64_t line) {
  object.remove_prefix(kPython.size());
  const std::size_t end = std::min(object.find('\n'), object.size());
  const std::string_view file = object.substr(0, end);
  const std::string_view function = object.substr(std::min(end + 1, object.size()));
  return fmt::format("{}:{} {}", file.substr(file.rfind('/') + 1), line, function);
}

}  // namespace ulpscope::writer
