#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/check/program.hpp"

namespace ulpscope::cli {

/// One way to run the program: with some settings, or one of two commands.
struct Variant {
  std::string label;  ///< "threads=2"; empty if there is only one
  std::vector<std::string> command;
  Variables variables;
  std::vector<std::string> record_options;  ///< settings that only a recorded program can be given
};

/// What `--vary NAME=a,b` asks for.
struct Variation {
  std::string name;  ///< "threads", "isa", "mkldnn", "deterministic", "env:NAME"
  std::vector<std::string> values;
};

/// @throws Error with ErrorCode::usage that names `source`: an unknown setting, a value that it
/// does not take, fewer than two values.
[[nodiscard]] Variation variation(const std::string& source, const std::string& value);

/// The key of the environment that the setting changes; empty where a dump may not show it.
[[nodiscard]] std::string key_of(const Variation& variation);

/// The command under every combination of values; {NAME} in its arguments stands for the value.
[[nodiscard]] std::vector<Variant> variants_of(const std::vector<std::string>& command,
                                               const std::vector<Variation>& variations);

/// The command of a run: {run} in its arguments stands for the run's number.
[[nodiscard]] std::vector<std::string> command_of_run(const std::vector<std::string>& command,
                                                      std::size_t run);

}  // namespace ulpscope::cli
