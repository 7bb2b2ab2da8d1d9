#include "dump/layout.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::string_view kRankPrefix = "rank";
constexpr std::string_view kSegmentPrefix = "segment-";
constexpr std::string_view kSegmentSuffix = ".h5";
constexpr std::string_view kJournalPrefix = "journal-";
constexpr std::string_view kPartialSuffix = ".partial";

std::string padded(std::uint32_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

std::optional<std::uint32_t> number_between(std::string_view name, std::string_view prefix,
                                            std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  if (name.size() <= prefix.size() + suffix.size()) return std::nullopt;
  const auto digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

RankFiles list_rank(const std::filesystem::path& directory, std::uint32_t rank) {
  RankFiles files;
  files.rank = rank;
  files.directory = directory;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (const auto segment = number_between(name, kSegmentPrefix, kSegmentSuffix)) {
      files.segments.push_back(*segment);
    } else if (const auto journal = number_between(name, kJournalPrefix, "")) {
      files.journals.push_back(*journal);
    } else if (name.ends_with(kPartialSuffix)) {
      files.partials.push_back(entry.path());
    }
  }
  std::sort(files.segments.begin(), files.segments.end());
  std::sort(files.journals.begin(), files.journals.end());
  return files;
}

}  // namespace

std::filesystem::path status_path(const std::filesystem::path& directory) {
  return directory / "status.json";
}

std::filesystem::path rank_path(const std::filesystem::path& directory, std::uint32_t rank) {
  return directory / (std::string(kRankPrefix) + padded(rank, 4));
}

std::filesystem::path segment_path(const std::filesystem::path& rank_directory,
                                   std::uint32_t segment) {
  return rank_directory /
         (std::string(kSegmentPrefix) + padded(segment, 6) + std::string(kSegmentSuffix));
}

std::filesystem::path journal_path(const std::filesystem::path& rank_directory,
                                   std::uint32_t segment) {
  return rank_directory / (std::string(kJournalPrefix) + padded(segment, 6));
}

/// A segment is published by its rename: a journal of a published segment is obsolete, and one
/// beyond the next segment was started by a writer that was killed before that rename.
std::optional<std::uint32_t> RankFiles::live_journal() const {
  const std::uint32_t next = segments.empty() ? 0 : segments.back() + 1;
  if (std::find(journals.begin(), journals.end(), next) == journals.end()) return std::nullopt;
  return next;
}

/// A journal is started before the segment that it follows is published, and the journal of that
/// segment is removed after.
std::optional<std::uint32_t> RankFiles::lost_segment() const {
  const std::uint32_t next = segments.empty() ? 0 : segments.back() + 1;
  if (live_journal() || journals.empty() || journals.back() <= next) return std::nullopt;
  return next;
}

/// Segments before `oldest` were about to be removed when the writer was killed.
std::vector<std::uint32_t> RankFiles::gaps(std::uint32_t oldest) const {
  std::vector<std::uint32_t> missing;
  std::uint32_t expected = segments.empty() ? 0 : std::min(oldest, segments.front());
  for (const std::uint32_t number : segments) {
    if (number != expected) missing.push_back(expected);
    expected = number + 1;
  }
  return missing;
}

std::vector<RankFiles> list_ranks(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw Error(ErrorCode::not_a_dump, "'" + directory.string() + "' is not a directory.",
                "A dump is the directory that `ulpscope record -o` wrote.");
  }
  std::vector<RankFiles> ranks;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const auto rank = number_between(entry.path().filename().string(), kRankPrefix, "");
      if (rank && entry.is_directory()) ranks.push_back(list_rank(entry.path(), *rank));
    }
  } catch (const std::filesystem::filesystem_error& failure) {
    throw Error(ErrorCode::io,
                "Cannot list '" + directory.string() + "': " + failure.code().message() + ".");
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const RankFiles& a, const RankFiles& b) { return a.rank < b.rank; });
  return ranks;
}

}  // namespace ulpscope::dump
