#include "writer/rank_recorder.hpp"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <span>
#include <utility>

#include "core/counts.hpp"
#include "dump/kept_steps.hpp"
#include "dump/rank_identity.hpp"
#include "dump/rank_numbers.hpp"
#include "ring/message.hpp"
#include "writer/process_path.hpp"

namespace ulpscope::writer {
namespace {

/// A process of a pool says so (lib/python/hooks/pools.py). Its pool ends it by a signal once it
/// has the results that it wants.
constexpr std::string_view kGivenTasks = "process.tasks";

}  // namespace

RankRecorder::RankRecorder(dump::RecordingOptions options, const Redaction& redaction,
                           ContentBudget& budget, ring::Server& server, EndingOf ending_of,
                           Watch watch)
    : options_(std::move(options)),
      redaction_(redaction),
      budget_(budget),
      server_(server),
      ending_of_(std::move(ending_of)),
      watch_(std::move(watch)) {}

RankRecorder::Rank* RankRecorder::find(ring::SessionId session) {
  const auto found = ranks_.find(session);
  return found == ranks_.end() ? nullptr : &found->second;
}

std::vector<std::string> RankRecorder::in_words(const std::vector<Note>& notes) const {
  std::vector<std::string> words;
  for (const Note& note : notes) {
    const auto found = note.of ? ranks_.find(*note.of) : ranks_.end();
    if (found == ranks_.end())
      words.push_back(note.text);
    else if (found->second.recording)
      words.push_back(fmt::format("rank {}: {}", found->second.number, note.text));
    else
      words.push_back(fmt::format("process {}: {}", found->second.pid, note.text));
  }
  return words;
}

std::vector<std::string> RankRecorder::waits(const std::vector<ring::SessionStats>& stats) const {
  constexpr std::size_t kMostNamed = 16;
  std::vector<std::pair<ring::SessionId, ring::LaneWait>> all;
  for (const ring::SessionStats& session : stats)
    for (const ring::LaneWait& wait : session.waits) all.emplace_back(session.session, wait);
  std::stable_sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
    return one.second.stalled > other.second.stalled;
  });
  std::vector<Note> notes;
  for (const auto& [session, wait] : std::span(all).first(std::min(all.size(), kMostNamed)))
    notes.push_back({session, fmt::format("lane {} waited {} for the disk", wait.lane,
                                          core::duration(wait.stalled))});
  if (all.size() > kMostNamed)
    notes.push_back(
        {std::nullopt, fmt::format("{} waited less for the disk",
                                   core::counted(all.size() - kMostNamed, "other lane"))});
  return in_words(notes);
}

/// A forked child says which recorded process its creator was, which may have ended by now.
dump::RankOrigin RankRecorder::origin_of(ring::SessionId session, const ring::Hello& hello) const {
  const ring::RankHints& hints = hello.ranks;
  dump::RankOrigin origin;
  origin.session = session;
  origin.declared = {hints.rank, hints.ompi_comm_world_rank, hints.pmi_rank, hints.slurm_procid,
                     hints.local_rank};
  origin.forking_thread = hello.forking_thread;
  origin.path = process_path(hello);
  const auto creator = ranks_.find(hello.parent_session);
  if (creator == ranks_.end()) return origin;
  const auto& creators_path = creator->second.origin.path;
  if (std::find(origin.path.begin(), origin.path.end(), creators_path.back()) == origin.path.end())
    origin.path.insert(origin.path.begin(), creators_path.begin(), creators_path.end());
  return origin;
}

std::uint32_t RankRecorder::free_number(const dump::RankOrigin& origin) const {
  const auto is_free = [this](std::uint32_t number) {
    return std::none_of(ranks_.begin(), ranks_.end(), [number](const auto& entry) {
      return entry.second.recording && entry.second.number == number;
    });
  };
  const auto declared = std::find_if(origin.declared.begin(), origin.declared.end(),
                                     [](const auto& rank) { return rank.has_value(); });
  if (declared != origin.declared.end() && is_free(**declared)) return **declared;
  std::uint32_t number = 0;
  while (!is_free(number)) ++number;
  return number;
}

/// The process is a rank from now on.
void RankRecorder::begin(Rank& rank) {
  rank.number = free_number(rank.origin);
  rank.recording = std::make_unique<dump::RankRecording>(
      options_, rank.number, static_cast<std::uint32_t>(rank.pid), rank.origin);
  rank.before.give(*rank.recording);
  if (watch_) rank.identity = identity_of(rank);
}

/// As far as those that have begun before it show.
RankIdentity RankRecorder::identity_of(const Rank& rank) const {
  std::vector<dump::NumberedOrigin> origins{{rank.number, rank.origin}};
  for (const auto& [session, other] : ranks_)
    if (other.recording && session != rank.session) origins.push_back({other.number, other.origin});
  return dump::identify(origins).front();
}

void RankRecorder::stop(ring::SessionId session, Rank& rank, const std::string& why) {
  if (!rank.trouble.empty()) return;
  rank.trouble = why;
  server_.end_session(session);
}

void RankRecorder::on_process(ring::SessionId session, const ring::Hello& hello) {
  Rank& rank = ranks_[session];
  rank.session = session;
  rank.pid = static_cast<pid_t>(hello.pid);
  rank.origin = origin_of(session, hello);
  rank.pipeline.emplace(redaction_, budget_);
}

void RankRecorder::on_ring(ring::SessionId session, std::uint32_t lane, bool is_main,
                           std::string_view thread_name) {
  Rank* rank = find(session);
  if (rank == nullptr || !rank->trouble.empty()) return;
  if (is_main) rank->main_lanes.insert(lane);
  if (!rank->recording) return rank->before.open_lane(lane, is_main, thread_name);
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
    rank->pipeline->take_round([rank] {
      if (rank->recording) rank->recording->end_round();
    });
  } catch (const std::exception& error) {
    stop(session, *rank, error.what());
  }
}

void RankRecorder::on_messages(ring::SessionId session, std::uint32_t lane,
                               std::span<const std::byte> messages) {
  Rank* rank = find(session);
  if (rank == nullptr || !rank->trouble.empty()) return;
  try {
    rank->pipeline->take(lane, messages, [&](std::uint32_t from, std::span<const std::byte> ready) {
      store(*rank, from, ready);
    });
    close_waiting_lanes(*rank);
  } catch (const std::exception& error) {
    stop(session, *rank, error.what());
    return;
  }
  if (rank->recording && !rank->recording->stopped().empty())
    stop(session, *rank, rank->recording->stopped());
}

void RankRecorder::store(Rank& rank, std::uint32_t lane, std::span<const std::byte> messages) {
  write(rank, lane, messages);
  budget_.settle();
  if (rank.pipeline->left_out_contents()) note_end_of_contents(rank, lane);
}

void RankRecorder::write(Rank& rank, std::uint32_t lane, std::span<const std::byte> messages) {
  if (!rank.recording && rank.before.take(lane, messages)) return;
  if (!rank.recording) begin(rank);
  const std::int64_t before = rank.recording->begun_step(lane);
  rank.recording->consume(lane, messages);
  if (!watch_) return;
  const std::uint32_t trainer = rank.recording->is_trainer(lane) ? 1 + lane : 0;
  watch_(
      {rank.session, trainer, rank.identity, {before, rank.recording->begun_step(lane)}, messages});
}

void RankRecorder::close_lane(Rank& rank, std::uint32_t lane) {
  if (!rank.recording) return rank.before.close_lane(lane);
  try {
    rank.recording->close_lane(lane);
  } catch (const std::exception& error) {
    if (rank.trouble.empty()) rank.trouble = error.what();
  }
}

void RankRecorder::close_waiting_lanes(Rank& rank) {
  if (rank.pipeline->holds_back()) return;
  for (const std::uint32_t lane : std::exchange(rank.closing, {})) close_lane(rank, lane);
}

/// The process has ended: digests that a device has not delivered by now are unknown.
void RankRecorder::finish_pending(Rank& rank) {
  try {
    rank.pipeline->finish([&](std::uint32_t from, std::span<const std::byte> ready) {
      if (rank.trouble.empty()) store(rank, from, ready);
    });
  } catch (const std::exception& error) {
    rank.trouble = error.what();
  }
  close_waiting_lanes(rank);
  if (rank.pipeline->without_digest() > 0)
    notes_.push_back(
        {rank.session,
         fmt::format("{} on a device or from a collective have no digest: recording ended "
                     "before they were there",
                     core::counted(rank.pipeline->without_digest(), "value"))});
}

/// Once a rank, in the dump's own notices and for status.json.
void RankRecorder::note_end_of_contents(Rank& rank, std::uint32_t lane) {
  if (rank.contents_ended) return;
  rank.contents_ended = true;
  const std::uint64_t steps = rank.recording->counts().steps;
  const std::string text =
      fmt::format("the bytes of values end {}, where the dump had reached {} (--max-bytes)",
                  steps == 0 ? "in setup" : fmt::format("in step {}", steps - 1),
                  core::byte_size(budget_.limit()));
  notes_.push_back({rank.session, text});
  const std::string note = fmt::format("rank {}: {}", rank.number, text);
  ring::NoticeMessage row{};
  row.header = {ring::padded(sizeof row + note.size()), ring::MessageKind::notice, 0};
  row.length = static_cast<std::uint32_t>(note.size());
  std::vector<std::byte> message(row.header.size);
  std::memcpy(message.data(), &row, sizeof row);
  std::memcpy(message.data() + sizeof row, note.data(), note.size());
  rank.recording->consume(lane, message);
}

/// What the program itself reported about its recording; every notice once.
void RankRecorder::note_what_was_told(const Rank& rank) {
  for (const std::string& notice : rank.recording->notices()) {
    Note note{rank.session, notice};
    const bool known = std::any_of(notes_.begin(), notes_.end(), [&](const Note& other) {
      return other == note || (other.of == note.of && notice.ends_with(": " + other.text));
    });
    if (!known) notes_.push_back(std::move(note));
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
  if (rank->trouble.empty() && end == ring::ProducerEnd::no_memory) {
    rank->trouble = "there was no memory for the program's ring and it went on without recording";
  }
  if (rank->trouble.empty() && end == ring::ProducerEnd::damaged) {
    rank->trouble = fmt::format("lane {} was damaged", lane);
  }
  if (rank->pipeline->holds_back())
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
  const bool is_between_tasks = rank.recording && rank.recording->has_setting(kGivenTasks) &&
                                rank.recording->ends_with_outcomes();
  if (is_between_tasks && (!ending || ending->signal == SIGTERM)) return {};
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
  finish_pending(*rank);
  std::string why = reason(*rank, how, wait_status);
  if (!rank->recording) {
    if (rank->trouble.empty())
      rank->ending = why;
    else
      shortcomings_.push_back({session, why});
    return;
  }
  finish(*rank, why);
}

void RankRecorder::finish(Rank& rank, std::string why) {
  try {
    rank.recording->finish(why);
  } catch (const std::exception& error) {
    if (why.empty()) why = error.what();
  }
  note_what_was_told(rank);
  const std::int64_t first = rank.recording->counts().first_step;
  if (first > 0) notes_.push_back({rank.session, dump::not_kept(first)});
  if (!why.empty()) shortcomings_.push_back({rank.session, why});
}

/// Nothing was computed: the dump says what ran nevertheless.
void RankRecorder::record_the_first() {
  if (ranks_.empty()) return;
  Rank& first = ranks_.begin()->second;
  try {
    begin(first);
    first.recording->finish(first.trouble.empty() ? first.ending : first.trouble);
  } catch (const std::exception& error) {
    shortcomings_.push_back({first.session, error.what()});
  }
  if (!first.ending.empty()) shortcomings_.push_back({first.session, first.ending});
}

void RankRecorder::number_ranks() {
  const auto is_rank = [](const auto& entry) { return entry.second.recording != nullptr; };
  if (std::none_of(ranks_.begin(), ranks_.end(), is_rank)) record_the_first();
  std::vector<dump::NumberedOrigin> origins;
  for (const auto& [session, rank] : ranks_)
    if (rank.recording) origins.push_back({rank.number, rank.origin});
  const std::vector<std::uint32_t> numbers = dump::renumber(options_.directory, origins);
  auto next = numbers.begin();
  for (auto& [session, rank] : ranks_)
    if (rank.recording) rank.number = *next++;
}

void RankRecorder::on_refused(std::uint32_t pid, std::string_view why) {
  refusals_.push_back(fmt::format("process {}: {}", pid, why));
}

void RankRecorder::on_unreachable() {
  shortcomings_.push_back(
      {std::nullopt,
       "the socket for processes and threads that begin was removed while this recording went on, "
       "so some may be missing"});
}

void RankRecorder::on_shut_out() {
  refusals_.emplace_back(
      "a process was started under a seccomp filter, and what a recording does might have ended "
      "it");
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

std::vector<dump::LastSegment> RankRecorder::last_segments() const {
  std::vector<dump::LastSegment> segments;
  for (const auto& [session, rank] : ranks_) {
    if (!rank.recording || !rank.recording->last_segment()) continue;
    segments.push_back(*rank.recording->last_segment());
    segments.back().rank = rank.number;
  }
  std::sort(segments.begin(), segments.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return segments;
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
  for (const auto& [session, rank] : ranks_) bytes += rank.pipeline->verified_bytes();
  return bytes;
}

}  // namespace ulpscope::writer
