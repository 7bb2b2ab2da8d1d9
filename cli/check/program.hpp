#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ulpscope::cli {

/// What replaces parts of the environment; without a value: the variable is not set.
using Variables = std::vector<std::pair<std::string, std::optional<std::string>>>;

/// A program to run, away from the terminal.
struct ProgramCall {
  std::vector<std::string> command;
  Variables variables;
  std::string input;  ///< a file for its standard input; empty: it finds the end at once
};

struct ProgramResult {
  int exit_code = 0;  ///< 128 + signal if a signal ended it
  std::chrono::duration<double> took{};
  std::string output;  ///< the end of its standard output, at most 64 KiB
  std::string errors;  ///< the same of its standard error
};

/// Runs a program and returns when it has ended. `meanwhile` is called several times a second with
/// how long it has been running. If this process is asked to end (interrupted()), so is the
/// program.
///
/// @throws Error with ErrorCode::io if it cannot be run.
[[nodiscard]] ProgramResult run_program(
    const ProgramCall& call, const std::function<void(std::chrono::duration<double>)>& meanwhile);

/// The last lines of what a program printed that are not empty, at most five.
[[nodiscard]] std::string final_lines(const std::string& output);

}  // namespace ulpscope::cli
