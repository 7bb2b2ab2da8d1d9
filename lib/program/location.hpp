#pragma once

#include <filesystem>
#include <vector>

namespace ulpscope::program {

/// The folder of this library; empty if the loader does not report it.
[[nodiscard]] std::filesystem::path own_folder();

/// The `ulpscope` that writes dumps: ULPSCOPE_BINARY, beside this library, as installed, on PATH.
/// @throws Error with ErrorCode::io if there is none.
[[nodiscard]] std::filesystem::path find_writer();

/// Folders that may hold capture libraries, best first: only ULPSCOPE_CAPTURE_LIBRARY (a folder, or
/// a file in it), or beside this library and as installed.
[[nodiscard]] std::vector<std::filesystem::path> capture_folders();

}  // namespace ulpscope::program
