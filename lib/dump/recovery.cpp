#include "dump/recovery.hpp"

#include <memory>
#include <system_error>

#include "dump/bytes.hpp"
#include "dump/journal.hpp"
#include "dump/journal_start.hpp"
#include "dump/layout.hpp"
#include "dump/rank_writer.hpp"
#include "dump/status.hpp"
#include "dump/whole_dump.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr const char* kReason =
    "The recording was killed; what follows its last published segment comes from the journal, "
    "without contents of values.";

/// Drives a writer with the records of one journal.
class Replay {
 public:
  Replay(std::filesystem::path directory, const RankMarks& marks, std::uint32_t segment)
      : directory_(std::move(directory)), rank_(marks.files.rank) {
    from_.segment = segment;
    if (marks.last() != nullptr) from_.oldest_segment = marks.last()->oldest_segment;
  }

  void take(const Record& record) {
    if (record.kind == RecordKind::start) return start(record.payload);
    if (!writer_) return;
    switch (record.kind) {
      case RecordKind::open_lane: {
        ByteReader in(record.payload);
        const bool is_main = in.get<bool>();
        return writer_->open_lane(record.lane, is_main, in.get_text());
      }
      case RecordKind::messages:
        return writer_->consume(record.lane, record.payload);
      case RecordKind::close_lane:
        return writer_->close_lane(record.lane);
      default:
        return writer_->restore(record);
    }
  }

  /// Publishes what was replayed; false if the journal held nothing at all.
  bool finish() {
    if (!writer_) return false;
    writer_->finish(kReason);
    return true;
  }

  [[nodiscard]] RecordingCounts counts() const { return writer_->counts(); }
  [[nodiscard]] std::optional<LastSegment> last_segment() const { return writer_->last_segment(); }
  [[nodiscard]] const RecordingOptions& options() const noexcept { return options_; }

 private:
  void start(std::span<const std::byte> payload) {
    JournalStart start = decode_journal_start(payload);
    // Else the rank may have been given a new number since.
    const bool is_elsewhere = !start.origin.known() && start.rank != rank_;
    if (is_elsewhere || start.segment != from_.segment) {
      throw Error(ErrorCode::corrupt, "The journal belongs to a different rank or segment.");
    }
    options_.directory = directory_;
    options_.run = start.run;
    options_.level = std::move(start.level);
    options_.creator = std::move(start.creator);
    options_.command = std::move(start.command);
    options_.first_step = start.first_step;
    options_.last_step = start.last_step;
    from_.previous = start.previous;
    writer_ =
        std::make_unique<RankWriter>(options_, rank_, start.pid, std::move(start.origin), from_);
  }

  std::filesystem::path directory_;
  std::uint32_t rank_;
  ContinuedRank from_;
  RecordingOptions options_;
  std::unique_ptr<RankWriter> writer_;
};

void remove_leftovers(const RankFiles& files) {
  std::error_code ignored;
  for (const std::uint32_t journal : files.journals) {
    std::filesystem::remove(journal_path(files.directory, journal), ignored);
  }
  for (const auto& partial : files.partials) std::filesystem::remove(partial, ignored);
}

/// Nothing is added to files that do not belong together.
void require_whole(std::span<const RankMarks> ranks, const std::optional<Status>& status) {
  const WholeDump whole = check_whole(ranks, status);
  if (!whole.foreign.empty()) {
    throw Error(ErrorCode::corrupt, whole.foreign.front(),
                "Run `ulpscope verify` on the dump to see what else does not fit.");
  }
  for (const RankMarks& rank : ranks) {
    if (const auto lost = rank.files.lost_segment()) {
      throw Error(ErrorCode::corrupt,
                  "Segment " + std::to_string(*lost) + " of rank " +
                      std::to_string(rank.files.rank) + " is missing, and the journal follows it.",
                  "Take the segment from a copy.");
    }
  }
}

void update_status(const std::filesystem::path& directory, std::optional<Status> known,
                   std::span<const RankMarks> ranks, const RecordingOptions& options,
                   const std::vector<LastSegment>& published, std::uint64_t events) {
  Status status;
  if (known) {
    status = std::move(*known);
  } else {
    status.run = options.run;
    status.command = options.command;
    status.level = options.level;
    for (const RankMarks& rank : ranks) {
      if (const SegmentMark* last = rank.last())
        status.last_segments.push_back({rank.files.rank, last->file, last->seal});
    }
  }
  status.recorded = true;
  status.complete = false;
  if (status.reason.empty() || events > 0) status.reason = kReason;
  status.ranks.clear();
  for (const RankMarks& rank : ranks) status.ranks.push_back(rank.files.rank);
  for (const LastSegment& last : published) {
    std::erase_if(status.last_segments,
                  [&](const LastSegment& before) { return before.rank == last.rank; });
    status.last_segments.push_back(last);
  }
  write_status(directory, status);
}

}  // namespace

Recovery recover(const std::filesystem::path& directory) {
  Recovery recovery;
  RecordingOptions options;
  std::uint64_t events = 0;
  std::vector<RankMarks> ranks;
  for (const RankFiles& files : list_ranks(directory)) ranks.push_back(read_marks(files));
  auto status = read_status(directory);
  require_whole(ranks, status);
  std::vector<LastSegment> published;
  for (const RankMarks& rank : ranks) {
    const RankFiles& files = rank.files;
    if (std::filesystem::is_symlink(files.directory)) {
      throw Error(ErrorCode::usage, "'" + files.directory.string() + "' is a link.",
                  "Recover the dump that it leads to.");
    }
    if (const auto live = files.live_journal()) {
      Replay replay(directory, rank, *live);
      const std::uint64_t unread = read_journal(journal_path(files.directory, *live),
                                                [&](const Record& record) { replay.take(record); });
      if (replay.finish()) {
        recovery.ranks.push_back({files.rank, replay.counts().events, unread});
        events += replay.counts().events;
        published.push_back(replay.last_segment().value());
        options = replay.options();
      }
    }
    remove_leftovers(files);
  }
  if (!recovery.ranks.empty())
    update_status(directory, std::move(status), ranks, options, published, events);
  return recovery;
}

}  // namespace ulpscope::dump
