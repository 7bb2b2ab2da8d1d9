#pragma once

#include <filesystem>
#include <optional>

#include "dump/recording.hpp"

namespace ulpscope::dump {

/// What `status.json` says; empty where it is missing or damaged.
[[nodiscard]] std::optional<Status> read_status(const std::filesystem::path& directory);

}  // namespace ulpscope::dump
