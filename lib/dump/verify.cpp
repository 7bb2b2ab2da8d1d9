#include "dump/verify.hpp"

#include "dump/layout.hpp"
#include "dump/segment_reader.hpp"
#include "dump/status.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

class Verification {
 public:
  void check_segment(const std::filesystem::path& path) {
    ++result.segments;
    attempt([&] {
      const auto segment = Segment::open(path);
      for (std::size_t i = 0; i < segment->tables().blocks.size(); ++i) {
        attempt([&] { result.events += segment->block(i).events.size(); });
      }
      for (std::size_t i = 0; i < segment->tables().contents.size(); ++i) {
        attempt([&] {
          static_cast<void>(segment->content_at(i));
          ++result.contents;
        });
      }
    });
  }

  /// A last segment that is damaged is told as such, and cannot say which ones belong before it.
  void check_order(const RankFiles& files) {
    if (files.segments.empty()) return;
    std::uint32_t oldest = files.segments.front();
    try {
      oldest = Segment::open(segment_path(files.directory, files.segments.back()))
                   ->attributes()
                   .oldest_segment;
    } catch (const Error&) {
    }
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
  template <class Check>
  void attempt(const Check& check) {
    try {
      check();
    } catch (const Error& error) {
      result.problems.emplace_back(error.what());
    }
  }
};

}  // namespace

VerifyResult verify(const std::filesystem::path& directory) {
  Verification verification;
  auto& problems = verification.result.problems;
  const auto ranks = list_ranks(directory);
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
