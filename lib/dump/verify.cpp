#include "dump/verify.hpp"

#include <algorithm>

#include "dump/empty_dump.hpp"
#include "dump/layout.hpp"
#include "dump/segment_reader.hpp"
#include "dump/status.hpp"
#include "dump/whole_dump.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

[[nodiscard]] std::uint64_t bytes_of(const std::filesystem::path& file) {
  std::error_code gone;
  const std::uintmax_t bytes = std::filesystem::file_size(file, gone);
  return gone ? 0 : bytes;
}

class Verification {
 public:
  Verification(std::span<const RankMarks> ranks, const VerifyProgress& progress)
      : progress_(progress) {
    if (!progress_) return;
    for (const RankMarks& rank : ranks)
      for (const std::uint32_t segment : rank.files.segments)
        all_bytes_ += bytes_of(segment_path(rank.files.directory, segment));
  }

  void check_segment(RankMarks& rank, std::uint32_t number) {
    const auto path = segment_path(rank.files.directory, number);
    ++result.segments;
    attempt([&] {
      const auto segment = Segment::open(path);
      rank.segments.push_back(mark_of(*segment, number));
      for (std::size_t i = 0; i < segment->tables().blocks.size(); ++i) {
        attempt([&] { result.events += segment->block(i).events.size(); });
      }
      for (const ContentRow& row : segment->tables().contents) {
        attempt([&] {
          segment->check_content(row);
          ++result.contents;
        });
        tell(done_bytes_ + row.offset);
      }
    });
    done_bytes_ += bytes_of(path);
    tell(done_bytes_);
  }

  /// Checks across segments, and that `status` has the same counts.
  void check_together(const std::filesystem::path& directory, const Status& status) {
    attempt([&] {
      const RunInfo info = open_dump(directory)->info();
      if (!status.complete) return;
      const auto expect = [&](const char* what, std::uint64_t there, std::uint64_t counted) {
        if (there == counted) return;
        result.problems.push_back("status.json counts " + std::to_string(counted) + " " + what +
                                  ", but there are " + std::to_string(there) + ".");
      };
      expect("events", info.events, status.counts.events);
      expect("values", info.values, status.counts.values);
    });
  }

  VerifyResult result;

 private:
  void tell(std::uint64_t done) const {
    if (progress_) progress_(std::min(done, all_bytes_), all_bytes_);
  }

  template <class Check>
  void attempt(const Check& check) {
    try {
      check();
    } catch (const Error& error) {
      result.problems.emplace_back(error.what());
    }
  }

  const VerifyProgress& progress_;
  std::uint64_t all_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;  ///< of the segments before this one
};

}  // namespace

VerifyResult verify(const std::filesystem::path& directory, const VerifyProgress& progress) {
  std::vector<RankMarks> ranks;
  for (RankFiles& files : list_ranks(directory)) ranks.push_back({std::move(files), {}});
  if (ranks.empty() && !std::filesystem::exists(status_path(directory))) {
    throw Error(ErrorCode::not_a_dump, "'" + directory.string() + "' is not a dump.",
                "A dump is the directory that `ulpscope record -o` wrote.");
  }
  Verification verification(ranks, progress);
  auto& [problems, empty, incomplete, segments, events, contents] = verification.result;
  for (RankMarks& rank : ranks) {
    for (const std::uint32_t segment : rank.files.segments) {
      verification.check_segment(rank, segment);
    }
  }
  const auto status = read_status(directory);
  const WholeDump whole = check_whole(ranks, status);
  problems.insert(problems.end(), whole.missing.begin(), whole.missing.end());
  problems.insert(problems.end(), whole.foreign.begin(), whole.foreign.end());
  if (!status) problems.emplace_back("status.json is missing or damaged.");
  if (problems.empty()) {
    if (auto why = why_empty(ranks, *status)) {
      empty = std::move(*why);
      return verification.result;
    }
  }
  for (const RankMarks& rank : ranks) {
    if (rank.files.live_journal()) {
      problems.push_back("Rank " + std::to_string(rank.files.rank) +
                         " has a journal of events that no segment holds; `ulpscope recover` "
                         "publishes them.");
    }
  }
  if (!problems.empty()) return verification.result;
  verification.check_together(directory, *status);
  if (problems.empty() && !status->complete) incomplete = status->reason;
  return verification.result;
}

}  // namespace ulpscope::dump
