#pragma once

#include <filesystem>
#include <string>

namespace ulpscope::tensors {

/// @throws Error with ErrorCode::corrupt: "'model.npz' is damaged: WHAT".
[[noreturn]] void damaged(const std::filesystem::path& file, const std::string& what);

/// @throws Error with ErrorCode::version: "'model.pt' cannot be read: WHAT".
[[noreturn]] void unsupported(const std::filesystem::path& file, const std::string& what,
                              std::string hint = {});

/// @throws Error with ErrorCode::io: "'model.pt' could not be read: No such file or directory", by
/// errno.
[[noreturn]] void not_readable(const std::filesystem::path& file);

}  // namespace ulpscope::tensors
