#pragma once

#include <filesystem>
#include <string>

namespace ulpscope::cli {

/// Makes the directory of a new dump and returns its path.
///
/// An empty `wanted` gives runs/PROGRAM-N with the first N that is free. A directory that holds
/// something is refused; with `force` a dump in it is removed first, anything else is still
/// refused.
///
/// @throws Error with ErrorCode::io or usage.
[[nodiscard]] std::filesystem::path make_dump_directory(const std::filesystem::path& wanted,
                                                        const std::string& program, bool force);

/// Bytes of all files below `directory`.
[[nodiscard]] std::uint64_t bytes_on_disk(const std::filesystem::path& directory);

}  // namespace ulpscope::cli
