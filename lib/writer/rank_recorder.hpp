#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dump/recording.hpp"
#include "ring/server.hpp"
#include "writer/ending.hpp"
#include "writer/stages/before_first_event.hpp"
#include "writer/stages/pipeline.hpp"
#include "writer/written.hpp"

namespace ulpscope::writer {

/// How a process ended, where that can be known.
using EndingOf = std::function<std::optional<Ending>(pid_t)>;

/// Writes what arrives in the rings into one dump, a rank for each process that computes something.
/// Any error of the disk or in what arrives ends the recording of that rank and is reported at the
/// end; the program continues.
class RankRecorder : public ring::Handler {
 public:
  RankRecorder(dump::RecordingOptions options, const Redaction& redaction, ContentBudget& budget,
               ring::Server& server, EndingOf ending_of, Watch watch = {});

  void on_process(ring::SessionId session, const ring::Hello& hello) override;
  void on_ring(ring::SessionId session, std::uint32_t lane, bool is_main,
               std::string_view thread_name) override;
  void on_round(ring::SessionId session) override;
  void on_messages(ring::SessionId session, std::uint32_t lane,
                   std::span<const std::byte> messages) override;
  void on_damaged(ring::SessionId session, std::uint32_t lane, std::string_view why) override;
  void on_lane_closed(ring::SessionId session, std::uint32_t lane, ring::ProducerEnd end) override;
  void on_gave_up(ring::SessionId session, std::string_view why) override;
  void on_process_gone(ring::SessionId session, ring::ProcessEnd how,
                       std::optional<int> wait_status) override;
  void on_refused(std::uint32_t pid, std::string_view why) override;

  /// The socket was removed: processes and threads that started since could not be recorded.
  void on_unreachable();
  /// A process was under a seccomp filter in which a recording might have ended it.
  void on_shut_out();
  /// Ends the recording of every process that still runs; `why` becomes the reason.
  void end_all(const std::string& why);

  /// When all processes have ended: gives ranks their numbers; until then they have free ones. A
  /// recording in which nothing was computed has one rank, the first process.
  void number_ranks();

  [[nodiscard]] std::vector<std::uint32_t> ranks() const;
  /// Of the ranks that have published one, under their numbers.
  [[nodiscard]] std::vector<dump::LastSegment> last_segments() const;
  /// Sums over the ranks; for steps the maximum.
  [[nodiscard]] dump::RecordingCounts counts() const;
  [[nodiscard]] std::uint64_t verified_bytes() const;
  /// Why what was recorded is not all, a sentence each.
  [[nodiscard]] std::vector<std::string> shortcomings() const { return in_words(shortcomings_); }
  /// What the dump says about what was left out on purpose, a sentence each.
  [[nodiscard]] std::vector<std::string> notes() const { return in_words(notes_); }
  /// How long which threads waited for the writer, longest first, a sentence each.
  [[nodiscard]] std::vector<std::string> waits(const std::vector<ring::SessionStats>& stats) const;
  /// Why processes that requested recording did not get it.
  [[nodiscard]] const std::vector<std::string>& refusals() const { return refusals_; }

 private:
  struct Rank {
    ring::SessionId session = 0;
    pid_t pid = 0;
    dump::RankOrigin origin;
    std::uint32_t number = 0;                        ///< of a process that is a rank
    RankIdentity identity;                           ///< when it became one, for who watches
    std::unique_ptr<dump::RankRecording> recording;  ///< null before its first event
    BeforeFirstEvent before;
    std::string ending;                  ///< of a process that was none: why it ended out of order
    std::optional<Pipeline> pipeline;    ///< never empty
    std::vector<std::uint32_t> closing;  ///< lanes that ended while messages were held back
    std::set<std::uint32_t> main_lanes;
    bool main_lane_closed = false;
    bool contents_ended = false;
    std::string trouble;  ///< why its recording stopped early
  };

  /// About a process, or about all of them. Its number may change until the end.
  struct Note {
    std::optional<ring::SessionId> of;
    std::string text;
    friend bool operator==(const Note&, const Note&) = default;
  };

  Rank* find(ring::SessionId session);
  [[nodiscard]] std::vector<std::string> in_words(const std::vector<Note>& notes) const;
  [[nodiscard]] dump::RankOrigin origin_of(ring::SessionId session, const ring::Hello& hello) const;
  [[nodiscard]] std::uint32_t free_number(const dump::RankOrigin& origin) const;
  void begin(Rank& rank);
  [[nodiscard]] RankIdentity identity_of(const Rank& rank) const;
  void record_the_first();
  void stop(ring::SessionId session, Rank& rank, const std::string& why);
  void store(Rank& rank, std::uint32_t lane, std::span<const std::byte> messages);
  void write(Rank& rank, std::uint32_t lane, std::span<const std::byte> messages);
  static void close_lane(Rank& rank, std::uint32_t lane);
  static void close_waiting_lanes(Rank& rank);
  void finish_pending(Rank& rank);
  void note_end_of_contents(Rank& rank, std::uint32_t lane);
  void note_what_was_told(const Rank& rank);
  void finish(Rank& rank, std::string why);
  [[nodiscard]] std::string reason(const Rank& rank, ring::ProcessEnd how,
                                   std::optional<int> wait_status) const;

  dump::RecordingOptions options_;
  const Redaction& redaction_;
  ContentBudget& budget_;
  ring::Server& server_;
  EndingOf ending_of_;
  Watch watch_;
  std::map<ring::SessionId, Rank> ranks_;
  std::vector<Note> shortcomings_;
  std::vector<std::string> refusals_;
  std::vector<Note> notes_;
  std::string ending_everything_;
};

}  // namespace ulpscope::writer
