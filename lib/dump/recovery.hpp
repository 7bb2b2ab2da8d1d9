#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ulpscope::dump {

struct RecoveredRank {
  std::uint32_t rank = 0;
  std::uint64_t events = 0;        ///< brought back from the journal
  std::uint64_t unread_bytes = 0;  ///< of the journal: a truncated last record, or damage
};

struct Recovery {
  std::vector<RecoveredRank> ranks;  ///< those that had something to recover
};

/// Publishes what the journals of a killed recording hold as one more segment per rank (contents
/// excepted, which journals do not hold), removes the journals and unpublished parts, and says so
/// in status.json. Run again after being killed itself, it continues. Must not run while the
/// recording runs.
///
/// @throws Error: not_a_dump, io, version (a journal of a newer ulpscope).
Recovery recover(const std::filesystem::path& directory);

}  // namespace ulpscope::dump
