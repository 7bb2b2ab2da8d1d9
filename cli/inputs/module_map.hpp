#pragma once

#include <string>
#include <vector>

#include "ulpscope/compare.hpp"

namespace ulpscope::cli {

/// Reads a file of lines `REFERENCE -> CANDIDATE`, each the name of a module in both runs, '*' for
/// one part of it. Empty lines, and everything after a '#', are ignored.
/// @throws Error that names file and line.
[[nodiscard]] std::vector<ModuleRename> read_module_map(const std::string& file);

/// The same of text that was read from `file`.
[[nodiscard]] std::vector<ModuleRename> parse_module_map(const std::string& text,
                                                         const std::string& file);

}  // namespace ulpscope::cli
