#pragma once

#include <string>
#include <vector>

#include "ulpscope/tolerance.hpp"

namespace ulpscope::cli {

/// Reads the rules of a tolerance file (cli/docs/regression-tests.md), in their order.
///
/// @throws Error that names the file and the line of an entry that is not a rule.
[[nodiscard]] std::vector<ToleranceRule> read_tolerance_file(const std::string& path);

/// The same of text that was read from `path`.
[[nodiscard]] std::vector<ToleranceRule> parse_tolerance(const std::string& text,
                                                         const std::string& path);

}  // namespace ulpscope::cli
