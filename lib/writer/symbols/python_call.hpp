#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Calls of Python code, which arrive with their names: "python:FILE\nFUNCTION" and a line.
namespace ulpscope::writer {

[[nodiscard]] bool is_python(std::string_view object) noexcept;

/// "train.py:41 Net.forward".
[[nodiscard]] std::string python_call(std::string_view object, std::uint64_t line);

}  // namespace ulpscope::writer
