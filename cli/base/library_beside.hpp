#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace ulpscope::cli {

/// A library of Ulpscope beside this program, as built or as installed.
[[nodiscard]] std::optional<std::filesystem::path> library_beside(std::string_view name);

/// Folders of Ulpscope's libraries and programs next to this program, first to last.
[[nodiscard]] std::vector<std::filesystem::path> library_directories();

/// bin's neighbor, where library_beside() looks first.
[[nodiscard]] std::filesystem::path library_directory();

}  // namespace ulpscope::cli
