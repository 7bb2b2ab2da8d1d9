#include "dump/snapshot.hpp"

#include <system_error>

#include "dump/layout.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

namespace fs = std::filesystem;

void require_written(const std::error_code& error, const fs::path& path) {
  if (error)
    throw Error(ErrorCode::io, "'" + path.string() + "' cannot be written: " + error.message());
}

void copy_to(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  require_written(error, to);
}

/// Published files do not change any more.
void link_or_copy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (error) copy_to(from, to);
}

}  // namespace

void take_snapshot(const fs::path& directory, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  require_written(error, to);
  for (const RankFiles& rank : list_ranks(directory)) {
    const fs::path folder = rank_path(to, rank.rank);
    fs::create_directory(folder, error);
    require_written(error, folder);
    for (const std::uint32_t segment : rank.segments)
      link_or_copy(segment_path(rank.directory, segment), segment_path(folder, segment));
    if (const auto journal = rank.live_journal())
      copy_to(journal_path(rank.directory, *journal), journal_path(folder, *journal));
  }
  copy_to(status_path(directory), status_path(to));
}

}  // namespace ulpscope::dump
