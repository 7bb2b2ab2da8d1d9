#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/batch.hpp"
#include "dump/content_store.hpp"
#include "dump/journal.hpp"
#include "dump/kept_steps.hpp"
#include "dump/layer_links.hpp"
#include "dump/layer_tree.hpp"
#include "dump/names.hpp"
#include "dump/recording.hpp"
#include "dump/segment_tables.hpp"
#include "dump/segment_writer.hpp"
#include "dump/statistics_store.hpp"
#include "dump/timelines.hpp"

namespace ulpscope::dump {

/// Where a recovery continues.
struct ContinuedRank {
  std::uint32_t segment = 0;         ///< the one that it publishes
  std::uint32_t oldest_segment = 0;  ///< the first that exists
  Digest previous;                   ///< the seal of the one before `segment`
};

/// Turns the message streams of one process into segments. RankRecording drives it while a program
/// runs, recover() from the journal that a killed recording left.
class RankWriter {
 public:
  /// A recovery keeps no journal and publishes once, at the end: until then the journal it reads
  /// from stays the only truth.
  RankWriter(const RecordingOptions& options, std::uint32_t rank, std::uint32_t pid,
             RankOrigin origin, const std::optional<ContinuedRank>& recovery = {});
  ~RankWriter();

  void open_lane(std::uint32_t lane, bool is_main, std::string_view thread_name);
  void consume(std::uint32_t lane, std::span<const std::byte> messages);
  void end_round();
  void close_lane(std::uint32_t lane);
  void finish(std::string_view reason);

  /// A record that a journal opens with; those of other kinds are replayed by the calls above.
  void restore(const Record& record);

  [[nodiscard]] RecordingCounts counts() const noexcept;
  [[nodiscard]] std::int64_t begun_step(std::uint32_t lane) const noexcept {
    return static_cast<std::int64_t>(timelines_.steps(lane)) - 1;
  }
  [[nodiscard]] bool is_trainer(std::uint32_t lane) const { return timelines_.is_trainer(lane); }
  [[nodiscard]] const std::optional<LastSegment>& last_segment() const noexcept { return last_; }
  [[nodiscard]] const std::string& stopped() const noexcept { return stopped_; }
  /// What the program has reported about its recording without ending it.
  [[nodiscard]] std::vector<std::string> notices() const;
  [[nodiscard]] bool has_setting(std::string_view key) const;
  /// Whether a main lane has done nothing since it sent what the program leaves.
  [[nodiscard]] bool ends_with_outcomes() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// An event whose place in its lane is known.
  struct Ordered {
    HeldEvent event;
    bool after_gap;  ///< events before it are still to come, because they have not ended
    std::uint64_t content_bytes;  ///< of the lane, when the event's tree began
  };

  /// Positions that were passed over because their events had not ended.
  struct Gap {
    std::uint64_t first;
    std::uint64_t last;
    std::int64_t step;
    Phase phase;
  };

  struct Lane {
    explicit Lane(RankNames& rank_names) : names(rank_names) {}

    RingNames names;
    std::string thread_name;
    bool is_main = false;
    bool closed = false;
    bool runs_backward = false;
    bool ends_with_outcomes = false;
    std::uint64_t advanced = 0;            ///< the round in which the timeline last examined it
    std::vector<HeldEvent> open_tree;      ///< events inside one that has not ended
    std::uint64_t content_bytes = 0;       ///< received
    std::uint64_t tree_content_bytes = 0;  ///< received when `open_tree` began
    bool tree_was_cut = false;
    std::uint64_t next_position = 0;  ///< above all positions put in order
    std::deque<Ordered> ordered;      ///< waiting for their step
    std::vector<PlacedEvent> block;   ///< waiting for their block to be complete
    std::int64_t step = kSetup;
    Phase phase = Phase::setup;
    std::uint64_t placed_position = 0;      ///< above all positions placed
    std::optional<std::uint16_t> op_depth;  ///< of the outermost op that was placed last
    std::uint64_t events = 0;
    std::vector<Gap> gaps;
    std::vector<HeldEvent> late;  ///< ended after events inside them were placed
  };

  struct Setting {
    std::uint64_t epoch = 0;
    std::int64_t step = kSetup;
    std::string key;
    std::string value;
  };

  struct Notice {
    bool fatal = false;
    std::string text;
  };

  void stop(std::string_view what);
  template <class Change>
  void change_segment(Change change);
  std::shared_ptr<Batch> take_messages(std::uint32_t id, Lane& lane,
                                       std::span<const std::byte> messages);
  void process(std::uint32_t id, Lane& lane, const std::shared_ptr<const Batch>& batch,
               std::size_t from);
  [[nodiscard]] bool take_event(std::uint32_t id, Lane& lane, HeldEvent event,
                                std::size_t message_bytes);
  [[nodiscard]] bool take_setting(const Lane& lane, std::span<const std::byte> message);
  [[nodiscard]] bool take_notice(std::span<const std::byte> message);

  void order_tree(std::uint32_t id, Lane& lane, bool complete);
  void enter(std::uint32_t id, Lane& lane, Ordered event);
  void end_lane(std::uint32_t id, Lane& lane);
  void place_decided();
  void place(std::uint32_t id, Lane& lane, std::int64_t step, Phase phase);
  void place_late(std::uint32_t id, Lane& lane, bool last_chance);
  void close_block(std::uint32_t id, Lane& lane);
  [[nodiscard]] bool is_written(std::int64_t step) const noexcept {
    return options_.first_step <= step && step <= options_.last_step;
  }
  void make_recent_datasets(const Lane& lane, const HeldEvent& event);
  void add_block(std::uint32_t id, Lane& lane, std::int64_t step,
                 std::span<const PlacedEvent> events);
  void place_settings(bool all);

  void require_statistics(const Lane& lane, const ring::SlotRow& slot);
  void add_layers(std::uint32_t id, const Lane& lane, std::int64_t step, const PlacedEvent& placed);

  [[nodiscard]] std::uint64_t waiting_bytes() const;
  [[nodiscard]] bool has_enough_contents() const;
  void publish_if_due();
  /// Whether it is over or not.
  [[nodiscard]] std::int64_t newest_step() const noexcept;
  void publish(bool finished, std::string_view reason);
  void remove_files(std::uint32_t journal, const std::vector<std::uint32_t>& segments);
  void fill_carried_tables();
  void begin_segment();
  void begin_journal(std::uint32_t segment);
  void write_start();
  void write_checkpoint();
  [[nodiscard]] std::vector<std::byte> save_state() const;
  [[nodiscard]] bool restore_state(std::span<const std::byte> saved);
  void restore_events(std::uint32_t lane, const Record& record);

  RecordingOptions options_;
  std::filesystem::path directory_;
  std::uint32_t rank_;
  std::uint32_t pid_;
  RankOrigin origin_;
  std::uint32_t segment_;
  Digest previous_;  ///< the seal of the segment before it
  std::optional<LastSegment> last_;
  KeptSteps kept_;
  bool recovering_;
  bool done_ = false;
  bool malformed_ = false;
  bool segment_is_whole_ = true;  ///< false once writing a part of it has failed
  std::string stopped_;
  RecordingCounts counts_;

  RankNames names_;
  StatisticsStore statistics_;
  ContentStore contents_;
  LayerTree layers_;
  LayerLinks links_;
  Timelines timelines_;
  std::uint64_t round_ = 0;             ///< 0: rounds are not used
  std::vector<std::uint32_t> closing_;  ///< lanes that end with the round
  std::uint32_t root_module_ = 0;       ///< the id of the empty module path
  std::map<std::uint32_t, Lane> lanes_;
  std::vector<Setting> settings_;
  std::vector<Setting> waiting_settings_;
  std::vector<Notice> notices_;

  std::unique_ptr<SegmentBuilder> builder_;
  std::unique_ptr<SegmentWriter> writer_;
  std::optional<JournalWriter> journal_;
  std::int64_t passed_step_ = kSetup;     ///< the last step that a lane has left
  std::int64_t published_step_ = kSetup;  ///< `passed_step_` when the last segment was published
  Clock::time_point published_at_ = Clock::now();
};

}  // namespace ulpscope::dump
