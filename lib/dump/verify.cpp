#include "dump/verify.hpp"

#include <algorithm>

#include "dump/layout.hpp"
#include "dump/segment_reader.hpp"
#include "dump/status.hpp"
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
  Verification(const std::vector<RankFiles>& ranks, const VerifyProgress& progress)
      : progress_(progress) {
    if (!progress_) return;
    for (const RankFiles& files : ranks)
      for (const std::uint32_t segment : files.segments)
        all_bytes_ += bytes_of(segment_path(files.directory, segment));
  }

  void check_segment(const std::filesystem::path& path) {
    ++result.segments;
    attempt([&] {
      const auto segment = Segment::open(path);
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

  /// A last segment that is damaged is told as such, and cannot say which ones belong before it.
  void check_order(const RankFiles& files) {
    if (files.segments.empty()) return;
    const std::uint32_t oldest = oldest_segment(files).value_or(files.segments.front());
    for (const std::uint32_t missing : files.gaps(oldest)) {
      result.problems.push_back("Segment " + std::to_string(missing) + " of rank " +
                                std::to_string(files.rank) + " is missing.");
    }
  }

  /// What only shows when the segments stand side by side.
  void check_together(const std::filesystem::path& directory) {
    attempt([&] { static_cast<void>(open_dump(directory)); });
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
  const auto ranks = list_ranks(directory);
  Verification verification(ranks, progress);
  auto& problems = verification.result.problems;
  for (const RankFiles& files : ranks) {
    verification.check_order(files);
    for (const std::uint32_t segment : files.segments) {
      verification.check_segment(segment_path(files.directory, segment));
    }
    if (files.live_journal()) {
      problems.push_back("Rank " + std::to_string(files.rank) +
                         " has a journal of events that no segment holds; `ulpscope recover` "
                         "publishes them.");
    }
  }
  if (!read_status(directory)) problems.emplace_back("status.json is missing or damaged.");
  if (problems.empty()) verification.check_together(directory);
  return verification.result;
}

}  // namespace ulpscope::dump
