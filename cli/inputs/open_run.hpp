#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// The selector of a list of ranks, "0,2,4-7", that `source` was given.
/// @throws Error with ErrorCode::usage.
[[nodiscard]] std::string ranks_selector(const std::string& source, std::string_view list);

/// Opens a dump as given on the command line, `DUMP` or `DUMP@selector`; only some of its ranks if
/// there is a ranks_selector().
/// @throws Error if it is not a dump, cannot be read, or the selection does not exist.
[[nodiscard]] std::unique_ptr<Run> open_run(const std::string& argument,
                                            const std::string& ranks = {});

/// The directory of a dump, for commands that take no selector, and that no process is writing.
/// @throws Error with ErrorCode::usage or not_a_dump.
[[nodiscard]] std::filesystem::path whole_dump(const std::string& argument);

}  // namespace ulpscope::cli
