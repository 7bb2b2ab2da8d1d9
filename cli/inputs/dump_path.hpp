#pragma once

#include <filesystem>
#include <string>

namespace ulpscope::cli {

/// Rejects what cannot be a dump: a path that does not exist, a file, a part of a dump, a directory
/// of other files. Each error suggests what may have been meant.
/// @throws Error with ErrorCode::not_a_dump.
void require_dump(const std::filesystem::path& path);

/// Whether it is a file that a recording wrote into a dump.
[[nodiscard]] bool is_in_dump(const std::filesystem::path& path);

/// "ranks 0, 1 and 3" of a dump; empty if it has none.
[[nodiscard]] std::string ranks_in_words(const std::filesystem::path& dump);

}  // namespace ulpscope::cli
