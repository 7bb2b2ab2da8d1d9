#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace ulpscope::cli {

/// A library of ours beside this program, as built or as installed.
[[nodiscard]] std::optional<std::filesystem::path> library_beside(std::string_view name);

/// bin's neighbour, where library_beside() looks first.
[[nodiscard]] std::filesystem::path library_directory();

}  // namespace ulpscope::cli
