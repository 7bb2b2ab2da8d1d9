#include "cli/record/rank_recorder.hpp"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "cli/term/numbers.hpp"
#include "dump/kept_steps.hpp"
#include "ring/message.hpp"

namespace ulpscope::cli {

RankRecorder::RankRecorder(dump::RecordingOptions options, const Redaction& redaction,
                           ContentBudget& budget, ring::Server& server, EndingOf ending_of)
    : options_(std::move(options)),
      redaction_(redaction),
      budget_(budget),
      server_(server),
      ending_of_(std::move(ending_of)) {}

RankRecorder::Rank* RankRecorder::find(ring::SessionId session) {
  const auto found = ranks_.find(session);
  return found == ranks_.end() ? nullptr : &found->second;
}

std::uint32_t RankRecorder::free_number(const ring::RankHints& hints) const {
  const auto is_free = [this](std::uint32_t number) {
    return std::none_of(ranks_.begin(), ranks_.end(),
                        [number](const auto& entry) { return entry.second.number == number; });
  };
  if (const auto hint = hints.first(); hint && is_free(*hint)) return *hint;
  std::uint32_t number = 0;
  while (!is_free(number)) ++number;
  return number;
}

void RankRecorder::stop(ring::SessionId session, Rank& rank, const std::string& why) {
  if (!rank.trouble.empty()) return;
  rank.trouble = why;
  server_.end_session(session);
}

void RankRecorder::on_process(ring::SessionId session, const ring::Hello& hello) {
  Rank rank;
  rank.number = free_number(hello.ranks);
  rank.pid = static_cast<pid_t>(hello.pid);
  rank.redacted.emplace(redaction_);
  rank.contents.emplace(budget_);
  std::string trouble;
  try {
    rank.recording = std::make_unique<dump::RankRecording>(options_, rank.number, hello.pid);
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  ranks_.erase(session);
  Rank& kept = ranks_.emplace(session, std::move(rank)).first->second;
  if (!trouble.empty()) stop(session, kept, trouble);
}

void RankRecorder::on_ring(ring::SessionId session, std::uint32_t lane, bool is_main,
                           std::string_view thread_name) {
  Rank* rank = find(session);
  if (rank == nullptr || !rank->trouble.empty()) return;
  if (is_main) rank->main_lanes.insert(lane);
  try {
    rank->recording->open_lane(lane, is_main, thread_name);
  } catch (const std::exception& error) {
    stop(session, *rank, error.what());
  }
}

void RankRecorder::on_round(ring::SessionId session) {
  Rank* rank = find(session);
  if (rank == nullptr || !rank->trouble.empty()) return;
  try {
    rank->pending.take_round([rank] { rank->recording->end_round(); });
  } catch (const std::exception& error) {
    stop(session, *rank, error.what());
  }
}

void RankRecorder::on_messages(ring::SessionId session, std::uint32_t lane,
                               std::span<const std::byte> messages) {
  Rank* rank = find(session);
  if (rank == nullptr || !rank->trouble.empty()) return;
  try {
    rank->pending.take(lane, messages, [&](std::uint32_t from, std::span<const std::byte> ready) {
      store(*rank, from, ready);
    });
    close_waiting_lanes(*rank);
  } catch (const std::exception& error) {
    stop(session, *rank, error.what());
    return;
  }
  rank->verified.read(lane, messages);
  if (!rank->recording->stopped().empty()) stop(session, *rank, rank->recording->stopped());
}

void RankRecorder::store(Rank& rank, std::uint32_t lane, std::span<const std::byte> messages) {
  rank.recording->consume(lane, rank.contents->apply(lane, rank.redacted->apply(lane, messages)));
  budget_.settle();
  if (rank.contents->left_out()) note_end_of_contents(rank, lane);
}

void RankRecorder::close_lane(Rank& rank, std::uint32_t lane) {
  try {
    rank.recording->close_lane(lane);
  } catch (const std::exception& error) {
    if (rank.trouble.empty()) rank.trouble = error.what();
  }
}

void RankRecorder::close_waiting_lanes(Rank& rank) {
  if (rank.pending.holds_back()) return;
  for (const std::uint32_t lane : std::exchange(rank.closing, {})) close_lane(rank, lane);
}

/// The process has ended: what a device has not told by now is not known.
void RankRecorder::finish_pending(Rank& rank) {
  try {
    rank.pending.finish([&](std::uint32_t from, std::span<const std::byte> ready) {
      if (rank.trouble.empty()) store(rank, from, ready);
    });
  } catch (const std::exception& error) {
    rank.trouble = error.what();
  }
  close_waiting_lanes(rank);
  if (rank.pending.given_up() > 0)
    notes_.push_back(fmt::format("rank {}: {} on a device have no digest: recording ended first",
                                 rank.number, counted(rank.pending.given_up(), "value")));
}

/// Once a rank, in the dump's own notices and for status.json.
void RankRecorder::note_end_of_contents(Rank& rank, std::uint32_t lane) {
  if (rank.contents_ended) return;
  rank.contents_ended = true;
  const std::uint64_t steps = rank.recording->counts().steps;
  const std::string note = fmt::format(
      "rank {}: the bytes of values end {}, where the dump had reached {} (--max-bytes)",
      rank.number, steps == 0 ? "in setup" : fmt::format("in step {}", steps - 1),
      byte_size(budget_.limit()));
  notes_.push_back(note);
  ring::NoticeMessage row{};
  row.header = {ring::padded(sizeof row + note.size()), ring::MessageKind::notice, 0};
  row.length = static_cast<std::uint32_t>(note.size());
  std::vector<std::byte> message(row.header.size);
  std::memcpy(message.data(), &row, sizeof row);
  std::memcpy(message.data() + sizeof row, note.data(), note.size());
  rank.recording->consume(lane, message);
}

/// What the program itself told of its recording; every notice once.
void RankRecorder::note_what_was_told(const Rank& rank) {
  for (const std::string& notice : rank.recording->notices()) {
    const std::string note = fmt::format("rank {}: {}", rank.number, notice);
    const bool known = std::any_of(notes_.begin(), notes_.end(), [&](const std::string& other) {
      return other == note || other == notice;
    });
    if (!known) notes_.push_back(note);
  }
}

void RankRecorder::on_damaged(ring::SessionId session, std::uint32_t lane, std::string_view why) {
  Rank* rank = find(session);
  if (rank == nullptr) return;
  stop(session, *rank, fmt::format("lane {} was damaged: {}", lane, why));
}

void RankRecorder::on_lane_closed(ring::SessionId session, std::uint32_t lane,
                                  ring::ProducerEnd end) {
  Rank* rank = find(session);
  if (rank == nullptr) return;
  if (end == ring::ProducerEnd::closed && rank->main_lanes.contains(lane)) {
    rank->main_lane_closed = true;
  }
  if (rank->trouble.empty() && end == ring::ProducerEnd::writer_stuck) {
    rank->trouble = "the program waited too long for the disk and went on without recording";
  }
  if (rank->trouble.empty() && end == ring::ProducerEnd::damaged) {
    rank->trouble = fmt::format("lane {} was damaged", lane);
  }
  if (!rank->recording) return;
  if (rank->pending.holds_back())
    rank->closing.push_back(lane);
  else
    close_lane(*rank, lane);
}

void RankRecorder::on_gave_up(ring::SessionId session, std::string_view why) {
  Rank* rank = find(session);
  if (rank == nullptr || !rank->trouble.empty()) return;
  rank->trouble = fmt::format("process {} went on without recording: {}", rank->pid, why);
}

std::string RankRecorder::reason(const Rank& rank, ring::ProcessEnd how,
                                 std::optional<int> wait_status) const {
  if (!rank.trouble.empty()) return rank.trouble;
  if (how == ring::ProcessEnd::stopped) return ending_everything_;
  if (how == ring::ProcessEnd::replaced || how == ring::ProcessEnd::left) return {};
  if (rank.main_lane_closed) return {};
  std::optional<Ending> ending = ending_of_(rank.pid);
  if (!ending && wait_status) ending = ending_from(*wait_status);
  if (ending && ending->signal != 0) {
    const char* name = sigabbrev_np(ending->signal);
    return fmt::format("process {} was ended by signal {} (SIG{})", rank.pid, ending->signal,
                       name == nullptr ? "?" : name);
  }
  if (ending) return {};  // _exit(): everything it did was committed before
  return fmt::format(
      "process {} ended by _exit() or a signal: only its parent learns which, and after a signal "
      "its last events may be missing",
      rank.pid);
}

void RankRecorder::on_process_gone(ring::SessionId session, ring::ProcessEnd how,
                                   std::optional<int> wait_status) {
  Rank* rank = find(session);
  if (rank == nullptr) return;
  if (rank->recording) finish_pending(*rank);
  std::string why = reason(*rank, how, wait_status);
  if (rank->recording) {
    try {
      rank->recording->finish(why);
    } catch (const std::exception& error) {
      if (why.empty()) why = error.what();
    }
  }
  if (rank->recording) note_what_was_told(*rank);
  const std::int64_t first = rank->recording ? rank->recording->counts().first_step : -1;
  if (first > 0) notes_.push_back(dump::not_kept(rank->number, first));
  if (!why.empty()) shortcomings_.push_back(fmt::format("rank {}: {}", rank->number, why));
}

void RankRecorder::on_inlined(std::string_view object, std::uint64_t address,
                              ring::InlinedCalls& answer) {
  inlined_.read(object, address, answer);
}

void RankRecorder::on_refused(std::uint32_t pid, std::string_view why) {
  refusals_.push_back(fmt::format("process {}: {}", pid, why));
}

void RankRecorder::on_unreachable() {
  shortcomings_.emplace_back(
      "the socket for processes and threads that begin was removed while this recording went on, "
      "so "
      "some may be missing");
}

void RankRecorder::end_all(const std::string& why) {
  ending_everything_ = why;
  for (const auto& [session, rank] : ranks_) server_.end_session(session);
}

std::vector<std::uint32_t> RankRecorder::ranks() const {
  std::vector<std::uint32_t> numbers;
  for (const auto& [session, rank] : ranks_) {
    if (rank.recording) numbers.push_back(rank.number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

dump::RecordingCounts RankRecorder::counts() const {
  dump::RecordingCounts sum;
  for (const auto& [session, rank] : ranks_) {
    if (!rank.recording) continue;
    const dump::RecordingCounts one = rank.recording->counts();
    sum.events += one.events;
    sum.values += one.values;
    sum.bytes += one.bytes;
    sum.segments += one.segments;
    sum.steps = std::max(sum.steps, one.steps);
  }
  return sum;
}

std::uint64_t RankRecorder::verified_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [session, rank] : ranks_) bytes += rank.verified.bytes();
  return bytes;
}

}  // namespace ulpscope::cli
