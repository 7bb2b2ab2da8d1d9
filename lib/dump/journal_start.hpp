#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dump/rank_origin.hpp"
#include "dump/run_id.hpp"

namespace ulpscope::dump {

/// The beginning of a journal: its owner, and what is recorded.
struct JournalStart {
  RunId run;
  Digest previous;  ///< the seal of the segment before the one that the journal is of, or zeros
  std::uint32_t rank = 0;  ///< when it was started: the name of its folder applies
  std::uint32_t pid = 0;
  std::uint32_t segment = 0;
  std::string level;
  std::string creator;
  std::vector<std::string> command;
  std::int64_t first_step = -1;
  std::int64_t last_step = -1;
  RankOrigin origin;
};

[[nodiscard]] std::vector<std::byte> encode(const JournalStart& start);

/// @throws Error: version, corrupt.
[[nodiscard]] JournalStart decode_journal_start(std::span<const std::byte> payload);

/// Of a journal of this version whose first record is whole; empty of any other.
[[nodiscard]] std::optional<JournalStart> read_journal_start(const std::filesystem::path& journal);

}  // namespace ulpscope::dump
