#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "dump/recording.hpp"

namespace ulpscope::dump {

/// What `status.json` says; empty if it is missing or damaged.
[[nodiscard]] std::optional<Status> read_status(const std::filesystem::path& directory);
/// The same of a status.json that was read already.
[[nodiscard]] std::optional<Status> parse_status(std::string_view text);

}  // namespace ulpscope::dump
