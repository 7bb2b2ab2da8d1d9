#include "dump/recovery.hpp"

#include <memory>
#include <system_error>

#include "dump/bytes.hpp"
#include "dump/journal.hpp"
#include "dump/layout.hpp"
#include "dump/rank_writer.hpp"
#include "dump/segment_reader.hpp"
#include "dump/status.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr const char* kReason =
    "The recording was killed; what follows its last published segment comes from the journal, "
    "without contents of values.";

/// Drives a writer with the records of one journal.
class Replay {
 public:
  Replay(std::filesystem::path directory, const RankFiles& files, std::uint32_t segment)
      : directory_(std::move(directory)),
        rank_(files.rank),
        segment_(segment),
        oldest_segment_(oldest_segment(files).value_or(0)) {}

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

  /// Publishes what was replayed; false where the journal held nothing at all.
  bool finish() {
    if (!writer_) return false;
    writer_->finish(kReason);
    return true;
  }

  [[nodiscard]] RecordingCounts counts() const { return writer_->counts(); }
  [[nodiscard]] const RecordingOptions& options() const noexcept { return options_; }

 private:
  void start(std::span<const std::byte> payload) {
    ByteReader in(payload);
    const auto version = in.get<std::uint32_t>();
    if (version != kJournalVersion) {
      throw Error(ErrorCode::version, "The journal was written by another version of ulpscope.",
                  "Recover it with the ulpscope that recorded it.");
    }
    const auto rank = in.get<std::uint32_t>();
    const auto pid = in.get<std::uint32_t>();
    const auto segment = in.get<std::uint32_t>();
    options_.directory = directory_;
    options_.level = in.get_text();
    options_.creator = in.get_text();
    for (auto words = in.get<std::uint32_t>(); words > 0 && in.ok(); --words) {
      options_.command.emplace_back(in.get_text());
    }
    options_.first_step = in.get_step();
    options_.last_step = in.get<std::int64_t>();
    const RankOrigin origin = get_origin(in);
    const bool is_elsewhere = !origin.known() && rank != rank_;  // else it may have been renumbered
    if (!in.ok() || options_.last_step < options_.first_step || is_elsewhere ||
        segment != segment_) {
      throw Error(ErrorCode::corrupt, "The journal belongs to another rank or segment.");
    }
    writer_ =
        std::make_unique<RankWriter>(options_, rank_, pid, origin, segment_, oldest_segment_, true);
  }

  std::filesystem::path directory_;
  std::uint32_t rank_;
  std::uint32_t segment_;
  std::uint32_t oldest_segment_;
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

void update_status(const std::filesystem::path& directory, const std::vector<RankFiles>& ranks,
                   const RecordingOptions& options, std::uint64_t events) {
  Status status;
  if (auto known = read_status(directory)) {
    status = std::move(*known);
  } else {
    status.command = options.command;
    status.level = options.level;
  }
  status.recorded = true;
  status.complete = false;
  if (status.reason.empty() || events > 0) status.reason = kReason;
  status.ranks.clear();
  for (const RankFiles& files : ranks) status.ranks.push_back(files.rank);
  write_status(directory, status);
}

}  // namespace

Recovery recover(const std::filesystem::path& directory) {
  Recovery recovery;
  RecordingOptions options;
  std::uint64_t events = 0;
  const auto ranks = list_ranks(directory);
  for (const RankFiles& files : ranks) {
    if (std::filesystem::is_symlink(files.directory)) {
      throw Error(ErrorCode::usage, "'" + files.directory.string() + "' is a link.",
                  "Recover the dump that it leads to.");
    }
    if (const auto live = files.live_journal()) {
      Replay replay(directory, files, *live);
      const std::uint64_t unread = read_journal(journal_path(files.directory, *live),
                                                [&](const Record& record) { replay.take(record); });
      if (replay.finish()) {
        recovery.ranks.push_back({files.rank, replay.counts().events, unread});
        events += replay.counts().events;
        options = replay.options();
      }
    }
    remove_leftovers(files);
  }
  if (!recovery.ranks.empty()) update_status(directory, ranks, options, events);
  return recovery;
}

}  // namespace ulpscope::dump
