#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dump/rank_origin.hpp"
#include "dump/run_id.hpp"
#include "ulpscope/digest.hpp"

/// The writing side of a dump: takes the message streams of recorded processes (ring/message.hpp)
/// and writes segments and journals to disk. Its callers do not see HDF5.
namespace ulpscope::dump {

struct RecordingOptions {
  std::filesystem::path directory = {};
  RunId run = {};  ///< of all ranks, and of status.json
  std::vector<std::string> command = {};
  std::string level = "digest";
  std::string creator = {};                    ///< "ulpscope 0.1.0"
  std::uint64_t segment_bytes = 256ULL << 20;  ///< content bytes after which a segment is published
  /// Memory in which contents wait for the layer that they may belong to.
  std::uint64_t content_buffer_bytes = 8ULL << 20;
  std::uint32_t segment_steps = 0;    ///< steps after which one is published; 0: only by size
  std::uint32_t segment_seconds = 0;  ///< likewise; checked when events come
  std::uint32_t keep_last = 0;   ///< steps: segments of earlier ones are removed; 0: all are kept
  std::int64_t first_step = -1;  ///< of those that are written; -1 is setup
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();  ///< inclusive
  /// Says where in the program a return address is ("train.cpp:41 main"): the path of a mapped
  /// object and the virtual address in it. If there is none, or it says nothing, the stack has
  /// "object+0x1234".
  std::function<std::string(std::string_view object, std::uint64_t offset)> resolve_frame = {};
};

struct RecordingCounts {
  std::uint64_t events = 0;      ///< written
  std::uint64_t values = 0;      ///< digested values written
  std::uint64_t bytes = 0;       ///< content bytes received
  std::uint64_t steps = 0;       ///< started, of those that are written
  std::uint64_t segments = 0;    ///< published
  std::int64_t first_step = -1;  ///< the first one kept; -1: from setup on, or as requested
};

/// The last segment that a rank has published. Each says which one it follows, so this one
/// identifies all.
struct LastSegment {
  std::uint32_t rank = 0;
  std::uint32_t segment = 0;
  Digest seal;
};

/// One process's recording: a rank of the dump. Not thread-safe; all calls from one thread.
class RankRecording {
 public:
  RankRecording(const RecordingOptions& options, std::uint32_t rank, std::uint32_t pid,
                const RankOrigin& origin = {});
  RankRecording(const RankRecording&) = delete;
  RankRecording& operator=(const RankRecording&) = delete;
  ~RankRecording();

  /// A thread of the process opened ring `lane`. Lanes are numbered from 0 in order of opening.
  void open_lane(std::uint32_t lane, bool is_main, std::string_view thread_name);

  /// Whole messages in the order they were committed to the ring of `lane`. Appended to the
  /// journal before this returns. Malformed input ends the recording of the rank with a reason
  /// (see stopped()), it never throws for it.
  /// @throws Error with ErrorCode::io if writing fails.
  void consume(std::uint32_t lane, std::span<const std::byte> messages);

  /// All lanes have been read since the last such call. What a lane has sent before then is placed
  /// in its step after it: by then it is known what other lanes did meanwhile. Without such calls
  /// it is placed with the lane's next messages.
  void end_round();

  /// The lane's thread has ended or its process is gone: nothing more comes from it.
  void close_lane(std::uint32_t lane);

  /// Publishes what is left and removes the journal; if writing a part of it has failed before,
  /// leaves the journal for recover() instead. `reason` says why a recording is incomplete; empty
  /// if the process ended normally.
  void finish(std::string_view reason);

  [[nodiscard]] RecordingCounts counts() const noexcept;
  /// The newest step of a lane that has begun for certain, as the dump counts them: what has come
  /// last may belong to a later one.
  [[nodiscard]] std::int64_t begun_step(std::uint32_t lane) const noexcept;
  /// The lane has steps of its own.
  [[nodiscard]] bool is_trainer(std::uint32_t lane) const;
  /// Empty before the first is published.
  [[nodiscard]] const std::optional<LastSegment>& last_segment() const noexcept;
  /// Why recording of this rank stopped early; empty while it continues.
  [[nodiscard]] const std::string& stopped() const noexcept;
  /// What the program has reported about its recording without ending it: what it cannot see.
  [[nodiscard]] std::vector<std::string> notices() const;
  /// Whether the program has told a setting.
  [[nodiscard]] bool has_setting(std::string_view key) const;
  /// Whether its main thread has done nothing since it sent what the program leaves.
  [[nodiscard]] bool ends_with_outcomes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What `DUMP/status.json` says. Written when recording starts and when it ends.
struct Status {
  RunId run;
  std::vector<std::string> command;
  std::string level;
  bool recorded = false;  ///< at least one process was recorded
  bool complete = false;
  std::string reason;              ///< why not, as a sentence; empty when complete
  std::vector<std::string> notes;  ///< what was left out on purpose, a sentence each
  std::optional<int> exit_code;    ///< of the command; empty: not known, or not yet
  std::vector<std::uint32_t> ranks;
  std::vector<LastSegment> last_segments;  ///< of the ranks that have published one
  RecordingCounts counts;
};
void write_status(const std::filesystem::path& directory, const Status& status);

}  // namespace ulpscope::dump
