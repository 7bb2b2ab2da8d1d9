#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "dump/step_seam.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// What the timeline needs to know of an event.
struct TimelineEvent {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  /// Events of the same lane that wrote what it reads and trains: the latest two, else kNone.
  std::array<std::uint64_t, 2> trained_writers{kNone, kNone};
  std::uint64_t object = 0;  ///< optimizer: which one
  std::uint32_t root = 0;    ///< 0: belongs to no root module
  std::uint32_t module = 0;  ///< 0: belongs to no module
  std::uint32_t flags = 0;   ///< event_flag
  std::uint16_t depth = 0;
  EventKind kind = EventKind::op;
  bool is_root_module = false;          ///< `module` is the root itself
  bool uses_trained_parameter = false;  ///< an input is a parameter, and both it and a result train
  /// An input requires a gradient, and so does a result; or torch.compile's function, inside which
  /// that shows of none.
  bool extends_graph = false;
  bool writes_parameter = false;     ///< a mutated input is a parameter
  bool follows_own_forward = false;  ///< backward of an op of the same lane
  std::vector<MemoryUse> uses;       ///< of an op outside of backward and optimizers
};

/// Where the next event of a lane belongs.
struct Placement {
  std::uint32_t lane = 0;
  std::int64_t step = kSetup;
  Phase phase = Phase::setup;
};

/// Derives step and phase of a rank's events while they arrive.
///
/// A step begins with what prepares its forward (step_seam.hpp), as an iteration of a training loop
/// does: its batch, then its forward, backward and optimizer. What the program looks at after the
/// optimizer, as a loss or an evaluation, ends it. The first step begins with its forward: what
/// comes before that is setup.
///
/// One lane leads: the main lane, or, if there is none, the first. The leader's events are read in
/// order; what is not decided yet (does this forward begin a step? are these ops part of the
/// optimizer's work?) is held until it is, at most kMostHeld events. Events of other lanes follow
/// the leader by epoch.
///
/// A leader that runs only forwards without grad mode has one step for each, all in phase eval.
///
/// A program may train tensors that belong to no module: if an optimizer steps before any root's
/// forward, or the program itself writes to tensors that it has trained, its forwards are the ops
/// of the graph that backward then follows.
class Timeline {
 public:
  static constexpr std::size_t kMostHeld = 131072;

  void open(std::uint32_t lane, bool is_main);

  /// Events of a lane in order of position, parents before children. They are examined by advance()
  /// or finish(), not before.
  void add(std::uint32_t lane, TimelineEvent event);

  /// Examines what `lane` has added so far. Called before the lane's next events are added: by then
  /// every other lane has been read, so a backward pass that ran on a different lane is known.
  void advance(std::uint32_t lane);

  /// Nothing more comes from `lane`.
  void close(std::uint32_t lane);

  /// Nothing more comes at all: decides what is left.
  void finish();

  /// Decisions since the last call; for each lane in the order of its events.
  [[nodiscard]] std::vector<Placement> take();

  /// The step at `epoch`, if decided.
  [[nodiscard]] std::int64_t step_at(std::uint64_t epoch) const;
  /// True once nothing can change step_at(epoch).
  [[nodiscard]] bool is_decided(std::uint64_t epoch) const noexcept;
  /// Steps started so far.
  [[nodiscard]] std::uint64_t steps() const noexcept {
    return static_cast<std::uint64_t>(settled_step_ + 1);
  }
  /// The event could belong to a forward of a root in grad mode.
  [[nodiscard]] static bool runs_in_forward(const TimelineEvent& event);
  /// The event could belong to a forward of a program without modules.
  [[nodiscard]] static bool runs_without_root(const TimelineEvent& event);
  /// The event is of a backward pass or of an optimizer.
  [[nodiscard]] static bool trains(const TimelineEvent& event);

  /// The state before the first event that is still undecided, and back: adding the undecided
  /// events again to a restored timeline gives the same decisions.
  [[nodiscard]] std::vector<std::byte> save() const;
  [[nodiscard]] bool restore(std::span<const std::byte> saved);

 private:
  enum class Stretch : std::uint8_t { setup, forward, backward, after_backward, after_optimizer };

  /// An event and everything inside it, open while events are deeper.
  struct Range {
    std::uint16_t depth = 0;
    bool open = false;
  };

  /// The state after reading the leader's events so far.
  struct Reading {
    Stretch stretch = Stretch::setup;
    bool in_setup = true;
    bool explicit_steps = false;      ///< the program calls step()
    bool step_begins = false;         ///< by step(): with the next event
    std::uint64_t step_epoch = 0;     ///< of that step(): what comes later belongs to the new step
    std::uint64_t step_position = 0;  ///< of the first event of the step
    bool optimizer_events = false;    ///< optimizers announce themselves
    bool without_optimizer = false;   ///< given up waiting for one
    bool without_grad = false;        ///< given up waiting for a forward in grad mode
    bool backward_seen = false;       ///< since the last root forward began
    bool optimizer_has_forward = false;
    bool steps_again = false;  ///< an optimizer of an earlier step has stepped in this one
    bool left_first_module = false;
    bool rootless = false;  ///< trains tensors that belong to no module
    bool op_is_pending = false;
    bool op_is_quiet = false;
    Phase op_phase = Phase::setup;
    Range optimizer;
    Range zero_grad;
    Range op;
    Range root_module;
    std::uint64_t optimizer_object = 0;
    std::uint32_t forward_root = 0;
    std::uint32_t forward_module = 0;
    std::vector<std::uint64_t> entered;  ///< roots that run in the forward that began last
    std::vector<std::uint64_t> stepped;  ///< optimizers that have stepped in this step
    std::vector<std::uint64_t> known;    ///< optimizers that have ever stepped
  };

  /// An event of the leader that has been read but is not decided.
  struct Entry {
    std::uint64_t epoch = 0;
    Phase phase = Phase::setup;
    bool pending = false;  ///< its phase waits for what comes next
    bool quiet = false;    ///< grad mode off
    bool begins_step = false;
    bool without_root = false;
    SeamEvent seam;
  };

  /// A forward that may begin a step.
  struct Candidate {
    std::uint64_t forward = 0;  ///< number of its first entry
    std::uint64_t between = 0;  ///< number of the first entry after the optimizer before it
  };

  /// A forward before the first step of a new optimizer, where others step by step train already.
  /// It begins a step if that optimizer has taken over from them.
  struct Newcomer {
    std::uint64_t optimizer = 0;
    Candidate candidate;
  };

  /// Events in consecutive forwards without grad mode.
  struct QuietRun {
    std::uint64_t first_entry = 0;
    std::uint64_t end_entry = 0;
    std::uint64_t first_position = 0;
    std::uint64_t last_position = 0;
  };

  struct Lane {
    std::deque<TimelineEvent> waiting;
    std::size_t readable = 0;  ///< of `waiting`: added before the last advance()
    std::int64_t last_step = kSetup;
    bool closed = false;
  };

  struct Boundary {
    std::uint64_t epoch;
    std::int64_t step;
  };

  void read(TimelineEvent event);
  void place(const TimelineEvent& event, Entry& entry, bool updates_leaf);
  void place_inside_optimizer(const TimelineEvent& event, Entry& entry);
  void note_trained_module(const TimelineEvent& event);
  void note_quiet_run(const TimelineEvent& event);
  void note_trained_reads(const TimelineEvent& event);
  void note_trained_leaves(const TimelineEvent& event);
  [[nodiscard]] bool updates_leaf(const TimelineEvent& event) const;
  [[nodiscard]] bool is_in_forward(const TimelineEvent& event) const;
  void leave_ranges(std::uint16_t depth);
  void note_backward_elsewhere(const TimelineEvent& event);
  [[nodiscard]] bool begins_forward(const TimelineEvent& event) const;
  [[nodiscard]] bool begins_forward_again(const TimelineEvent& event) const;
  [[nodiscard]] bool begins_quiet_forward(const TimelineEvent& event) const;
  [[nodiscard]] bool comes_round_again(const TimelineEvent& event) const;
  void begin_forward(const TimelineEvent& event, std::uint64_t at);
  void begin_quiet_forward(const TimelineEvent& event, std::uint64_t at);
  void remember_forward(const TimelineEvent& event);
  void begin_optimizer(const TimelineEvent& event, std::uint64_t object);
  void end_optimizer();
  void begin_step(std::uint64_t at);
  void begin_step(const Candidate& candidate, std::uint64_t next_forward = kNone);
  void resolve_gap(Phase phase);
  void resolve_candidates(bool begins);
  [[nodiscard]] bool is_newcomer() const;
  void keep_together();
  void resolve_newcomer(std::uint64_t next_optimizer);
  void resolve_quiet_forwards();
  void resolve_rootless_forward();
  void decide_what_is_left(bool more_comes);
  [[nodiscard]] bool expects_new_step() const;
  [[nodiscard]] std::uint64_t first_undecided() const;
  void mark_settled();
  void settle();
  void place_followers();
  void place_followers_of(std::uint32_t lane, bool all);

  std::map<std::uint32_t, Lane> lanes_;
  std::optional<std::uint32_t> leader_;
  bool leader_is_main_ = false;
  bool finished_ = false;

  Reading reading_;
  std::deque<Entry> entries_;
  std::uint64_t first_entry_ = 0;     ///< number of entries_.front()
  std::optional<std::uint64_t> gap_;  ///< entries from here wait for their phase
  std::vector<Candidate> candidates_;
  std::optional<Newcomer> newcomer_;
  /// Forwards without grad mode before any in it: steps if the program never trains.
  std::vector<std::uint64_t> quiet_forwards_;
  /// Where the graph begins that an optimizer may train before any root has run.
  std::optional<std::uint64_t> rootless_forward_;
  /// Storages that it trains, of programs that may have no modules: it reads them and has not made
  /// them.
  std::set<std::uint64_t> leaves_;
  std::set<std::uint64_t> made_by_graph_;
  /// May be evaluation, or the inside of an autograd function that the program defines: the forward
  /// if something trains on what they made.
  std::vector<QuietRun> quiet_runs_;
  using TrainedBy = std::map<std::uint64_t, std::uint64_t>;
  TrainedBy trained_by_;        ///< modules: the optimizer that wrote last
  TrainedBy newly_trained_by_;  ///< the same for what is undecided
  std::uint64_t optimizer_entry_ = 0;
  std::vector<std::uint64_t> backward_elsewhere_;  ///< epochs, a heap with the smallest on top

  Reading settled_;  ///< as `reading_`, before the first undecided event
  std::uint64_t settled_entry_ = 0;
  std::int64_t settled_step_ = kSetup;
  std::uint64_t settled_epoch_ = 0;
  bool any_settled_ = false;
  std::deque<Boundary> boundaries_;
  std::vector<Placement> placements_;
};

}  // namespace ulpscope::dump
