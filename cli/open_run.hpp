#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// Opens a dump as given on the command line, `DUMP` or `DUMP@selector`.
/// @throws Error where it is no dump, cannot be read, or the selector selects nothing of it.
[[nodiscard]] std::unique_ptr<Run> open_run(const std::string& argument);

/// The directory of a dump that no selector may cut and that nobody writes at the moment.
/// @throws Error with ErrorCode::usage or not_a_dump.
[[nodiscard]] std::filesystem::path whole_dump(const std::string& argument);

}  // namespace ulpscope::cli
