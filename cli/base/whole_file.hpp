#pragma once

#include <filesystem>
#include <string_view>

namespace ulpscope::cli {

/// Makes `text` the content of a file, whole or not at all: it is written under a temporary name
/// beside it, which then becomes the file's. What is no regular file (a pipe, /dev/stdout) is
/// written as it is.
/// @throws std::filesystem::filesystem_error; what was there before is still there.
void write_whole_file(const std::filesystem::path& path, std::string_view text);

}  // namespace ulpscope::cli
