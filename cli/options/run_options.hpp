#pragma once

#include <chrono>
#include <cstddef>
#include <string>

/// Values of the options of commands that run programs. All throw Error with ErrorCode::usage that
/// names `source`.
namespace ulpscope::cli {

/// A number of runs.
[[nodiscard]] std::size_t at_least(std::size_t least, const std::string& source,
                                   const std::string& value);

/// "90", "90s", "10m", "2h"
[[nodiscard]] std::chrono::duration<double> time_span(const std::string& source,
                                                      const std::string& value);

/// The path of a file that is there.
[[nodiscard]] std::string existing_file(const std::string& source, const std::string& value);

}  // namespace ulpscope::cli
