#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::cli {

/// What a program has made of its standard input.
struct Filtered {
  int exit_code = 0;  ///< 128 + signal if a signal ended it
  std::string output;
  std::string errors;  ///< what it wrote to its standard error
};

/// Runs a program, found on PATH, with `input` as its standard input, and waits for its end.
/// @throws std::system_error if it cannot be run; ENOENT if it is not there.
[[nodiscard]] Filtered filter(const std::vector<std::string>& command, std::string_view input);

}  // namespace ulpscope::cli
