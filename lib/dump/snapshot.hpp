#pragma once

#include <filesystem>

namespace ulpscope::dump {

/// Puts into `to`, which must not exist, what a recording has written into `directory` so far:
/// published segments as links, the journals as they are. recover() makes a dump of it, the open
/// step included. Called by the process that records, between two calls of it: the recording goes
/// on and is not changed.
///
/// @throws Error with ErrorCode::io, not_a_dump.
void take_snapshot(const std::filesystem::path& directory, const std::filesystem::path& to);

}  // namespace ulpscope::dump
