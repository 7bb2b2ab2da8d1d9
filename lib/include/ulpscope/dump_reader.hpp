#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "ulpscope/run.hpp"

namespace ulpscope {

/// Opens a dump directory for reading. Nothing in it is trusted: digests are checked, and that
/// counts, offsets and sizes add up; HDF5 is not called. Blocks are read as they are requested.
///
/// `selector` is the part after '@' ("rank=2", "steps=10-19", "rank=0,steps=5"), empty for all.
///
/// @throws Error: not_a_dump (no such directory, no segments of ours), version, incomplete (nothing
///         published), corrupt (which segment and what), usage (selector).
[[nodiscard]] std::unique_ptr<Run> open_dump(const std::filesystem::path& directory,
                                             std::string_view selector = {});

}  // namespace ulpscope
