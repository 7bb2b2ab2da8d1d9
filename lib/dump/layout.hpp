#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Where things are in a dump directory.
namespace ulpscope::dump {

[[nodiscard]] std::filesystem::path status_path(const std::filesystem::path& directory);
/// DIRECTORY/rank0002
[[nodiscard]] std::filesystem::path rank_path(const std::filesystem::path& directory,
                                              std::uint32_t rank);
/// RANK/segment-000017.h5
[[nodiscard]] std::filesystem::path segment_path(const std::filesystem::path& rank_directory,
                                                 std::uint32_t segment);
/// RANK/journal-000017
[[nodiscard]] std::filesystem::path journal_path(const std::filesystem::path& rank_directory,
                                                 std::uint32_t segment);

/// What a rank's folder holds; numbers ascending.
struct RankFiles {
  std::uint32_t rank = 0;
  std::filesystem::path directory;
  std::vector<std::uint32_t> segments;
  std::vector<std::uint32_t> journals;
  std::vector<std::filesystem::path> partials;

  /// The journal of what was recorded after the last published segment.
  [[nodiscard]] std::optional<std::uint32_t> live_journal() const;
  /// The first segment that is missing after all others: a journal that follows it exists.
  [[nodiscard]] std::optional<std::uint32_t> lost_segment() const;
  /// Missing numbers between its segments, one for each gap. `oldest` is the first segment of the
  /// dump according to the last one.
  [[nodiscard]] std::vector<std::uint32_t> gaps(std::uint32_t oldest) const;
};

/// Ranks ascending; empty if the directory holds none.
/// @throws Error with ErrorCode::not_a_dump if it is no directory.
[[nodiscard]] std::vector<RankFiles> list_ranks(const std::filesystem::path& directory);

}  // namespace ulpscope::dump
