#include "dump/whole_dump.hpp"

#include <algorithm>

#include "dump/journal_start.hpp"
#include "dump/segment_reader.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

std::string segment_in_words(std::uint32_t rank, std::uint32_t segment) {
  return "Segment " + std::to_string(segment) + " of rank " + std::to_string(rank);
}

/// The run that the dump is of: what status.json says, unless no segment is of that run.
std::optional<RunId> run_of(std::span<const RankMarks> ranks, const std::optional<Status>& status) {
  std::optional<RunId> first;
  for (const RankMarks& rank : ranks) {
    for (const SegmentMark& mark : rank.segments) {
      if (!first) first = mark.run;
      if (status && mark.run == status->run) return status->run;
    }
  }
  if (!first && status) return status->run;
  return first;
}

class RankCheck {
 public:
  RankCheck(const RankMarks& rank, const std::optional<RunId>& run, WholeDump& found)
      : rank_(rank), number_(rank.files.rank), run_(run), found_(found) {}

  void segments() {
    const SegmentMark* before = nullptr;
    for (const SegmentMark& mark : rank_.segments) {
      const bool fits = stands_where_it_was(mark);
      if (fits && before != nullptr && before->file + 1 == mark.file &&
          before->seal != mark.previous) {
        foreign(segment_in_words(number_, mark.file) + " does not follow segment " +
                std::to_string(before->file) + ".");
      }
      before = fits ? &mark : nullptr;
    }
  }

  void gaps() {
    if (const auto lost = rank_.files.lost_segment()) missing(*lost);
    if (rank_.files.segments.empty()) return;
    // A last segment that is damaged cannot say which ones belong before it.
    const SegmentMark* last = rank_.last();
    const auto& files = rank_.files;
    for (const std::uint32_t gap :
         files.gaps(last != nullptr ? last->oldest_segment : files.segments.front())) {
      missing(gap);
    }
  }

  void journal() {
    const auto live = rank_.files.live_journal();
    if (!live) return;
    const auto start = read_journal_start(journal_path(rank_.files.directory, *live));
    if (!start) return;
    const auto before =
        std::find_if(rank_.segments.begin(), rank_.segments.end(),
                     [&](const SegmentMark& mark) { return mark.file + 1 == *live; });
    const bool follows = before == rank_.segments.end() ? *live > 0 || start->previous == Digest{}
                                                        : start->previous == before->seal;
    if (start->segment != *live || (run_ && start->run != *run_) || !follows) {
      foreign("The journal of rank " + std::to_string(number_) +
              " does not belong to its segments.");
    }
  }

  /// @param last what status.json says; null if it says nothing
  void end(const LastSegment* last, bool complete) {
    const auto& files = rank_.files.segments;
    if (last == nullptr || files.back() > last->segment) {
      // A recovery that was killed has published a segment that status.json does not list.
      if (complete)
        foreign("Rank " + std::to_string(number_) +
                " has segments that status.json does not know of.");
    } else if (files.back() < last->segment) {
      missing(files.back() + 1);
    }
    if (last == nullptr) return;
    for (const SegmentMark& mark : rank_.segments) {
      if (mark.file == last->segment && mark.seal != last->seal && stands_where_it_was(mark)) {
        foreign(segment_in_words(number_, mark.file) + " is not the one that status.json names.");
      }
    }
  }

 private:
  bool stands_where_it_was(const SegmentMark& mark) {
    if (mark.run != run_)
      foreign(segment_in_words(number_, mark.file) + " is from a different run.");
    else if (mark.number != mark.file)
      foreign("The file of segment " + std::to_string(mark.file) + " of rank " +
              std::to_string(number_) + " holds segment " + std::to_string(mark.number) + ".");
    else
      return true;
    return false;
  }

  void missing(std::uint32_t segment) {
    add(found_.missing, segment_in_words(number_, segment) + " is missing.");
  }
  void foreign(std::string sentence) { add(found_.foreign, std::move(sentence)); }
  /// Every sentence once.
  static void add(std::vector<std::string>& sentences, std::string sentence) {
    if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
      sentences.push_back(std::move(sentence));
  }

  const RankMarks& rank_;
  std::uint32_t number_;
  const std::optional<RunId>& run_;
  WholeDump& found_;
};

bool names(const Status& status, std::uint32_t rank) {
  return std::find(status.ranks.begin(), status.ranks.end(), rank) != status.ranks.end();
}

void check_named_ranks(std::span<const RankMarks> ranks, const Status& status, WholeDump& found) {
  for (const std::uint32_t named : status.ranks) {
    const auto there = std::find_if(ranks.begin(), ranks.end(), [&](const RankMarks& rank) {
      return rank.files.rank == named && !rank.files.segments.empty();
    });
    if (there == ranks.end())
      found.missing.push_back("Rank " + std::to_string(named) + " has no segments.");
  }
}

const LastSegment* last_segment(const Status& status, std::uint32_t rank) {
  const auto last = std::find_if(status.last_segments.begin(), status.last_segments.end(),
                                 [&](const LastSegment& segment) { return segment.rank == rank; });
  return last == status.last_segments.end() ? nullptr : &*last;
}

}  // namespace

SegmentMark mark_of(const Segment& segment, std::uint32_t file) {
  const SegmentAttributes& says = segment.attributes();
  return {file, says.segment, says.oldest_segment, says.run, segment.seal(), says.previous};
}

const SegmentMark* RankMarks::last() const noexcept {
  const bool is_read =
      !segments.empty() && !files.segments.empty() && segments.back().file == files.segments.back();
  return is_read ? &segments.back() : nullptr;
}

RankMarks read_marks(const RankFiles& files) {
  RankMarks marks{files, {}};
  for (const std::uint32_t number : files.segments) {
    try {
      const auto segment = Segment::open(segment_path(files.directory, number));
      marks.segments.push_back(mark_of(*segment, number));
    } catch (const Error&) {
      // Its user reports what is wrong with it.
    }
  }
  return marks;
}

WholeDump check_whole(std::span<const RankMarks> ranks, const std::optional<Status>& status) {
  WholeDump found;
  const std::optional<RunId> run = run_of(ranks, status);
  const bool is_of_run = status && run == status->run;
  if (status && !is_of_run)
    found.foreign.emplace_back("status.json is from a different run than the segments.");
  if (is_of_run) check_named_ranks(ranks, *status, found);
  for (const RankMarks& rank : ranks) {
    const std::uint32_t number = rank.files.rank;
    RankCheck check(rank, run, found);
    check.gaps();
    check.segments();
    check.journal();
    // During a recording status.json names no rank yet.
    if (!is_of_run || !status->recorded || rank.files.segments.empty()) continue;
    if (names(*status, number))
      check.end(last_segment(*status, number), status->complete);
    else
      found.foreign.push_back("Rank " + std::to_string(number) +
                              " is none of those that status.json names.");
  }
  return found;
}

}  // namespace ulpscope::dump
