#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compare/align/storage_pairs.hpp"
#include "compare/align/window_cut.hpp"
#include "compare/diff/absorption.hpp"
#include "compare/diff/accumulations.hpp"
#include "compare/diff/finding_book.hpp"
#include "compare/diff/ledger.hpp"
#include "compare/diff/lone_copies.hpp"
#include "compare/diff/optimizer_options.hpp"
#include "compare/diff/other_parameters.hpp"
#include "compare/diff/outcomes/alone_memory.hpp"
#include "compare/diff/outcomes/last_options.hpp"
#include "compare/diff/outcomes/lone_gradients.hpp"
#include "compare/diff/outcomes/numbers_read.hpp"
#include "compare/diff/own_draws.hpp"
#include "compare/diff/rng_tracker.hpp"
#include "compare/measure/value_judge.hpp"
#include "compare/model/data_reads.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/shown_models.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::comparison {

/// In which steps each op of the program gave identical results until the first time it did not.
class History {
 public:
  struct Past {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::uint64_t steps = 0;
    bool broken = false;
  };

  /// The op with this key occurs (again) in `step`. Returns its number among those of the step.
  std::uint64_t occurrence(std::uint64_t key, std::int64_t step);
  [[nodiscard]] const Past* past(std::uint64_t occurrence) const;
  void equal(std::uint64_t occurrence, std::int64_t step);
  void differs(std::uint64_t occurrence);

 private:
  struct Count {
    std::int64_t step = kSetup;
    std::uint64_t count = 0;
  };
  std::unordered_map<std::uint64_t, Count> counts_;
  std::unordered_map<std::uint64_t, Past> pasts_;
};

/// What comparing the outcomes of both runs gave, their differences aside: those are findings.
struct OutcomeTotals {
  Both<bool> known{true, true};  ///< what the run left was recorded when it ended
  std::uint64_t compared = 0;
  std::uint64_t unknown = 0;   ///< may differ: their content at the end is not known
  std::uint64_t unfilled = 0;  ///< differ in memory that no recorded op has filled
  Both<std::uint64_t> extra;   ///< that one run alone leaves
  Both<std::vector<std::string>> extra_names;  ///< of the first of these that have one
  Both<std::uint64_t> extra_numbers;           ///< that one run alone has computed and read
  Both<std::uint64_t> extra_saves;             ///< tensors that one run alone saves
  Both<std::uint64_t> unread;                  ///< that one run alone has made, and no op reads
  Both<std::uint64_t> extra_draws;  ///< of one run alone, from generators of the program's threads
  /// That end in different states, where threads may have drawn from them.
  std::vector<std::string> shared_generators;
  std::uint64_t exchanged = 0;  ///< that hold in each run what others hold in the other one
  bool raced = false;           ///< which threads got which of a generator's numbers differs
  bool touched_alone = false;   ///< ops that one run has alone wrote something
  bool too_many = false;        ///< more than can be followed
};

/// What the whole comparison adds up.
struct Totals {
  Coverage coverage;
  Propagated propagated;
  Both<std::uint64_t> ops;               ///< outermost ops of the steps that both runs have
  std::uint64_t aligned_ops = 0;         ///< outermost ops with a partner
  std::uint64_t values = 0;              ///< digests that were compared
  std::uint64_t given_up = 0;            ///< items in stretches too different to be searched
  std::uint64_t lone_trainers = 0;       ///< lanes that train in one run and have no partner
  Both<std::uint64_t> lone_backwards{};  ///< times that one run alone runs backward in a step
  bool work_moved = false;               ///< a trainer did what the partner of a different one did
  std::uint64_t cut_off = 0;             ///< stretches that continue where an incomplete run ended
  Both<std::uint64_t> reads;             ///< inputs with a digest
  Both<std::uint64_t> verified;          ///< those hashed again at the read
  Both<Digest> data;                     ///< order-free sum of the data that differed
  std::uint64_t data_values = 0;         ///< how many values are in it
  std::uint64_t operations = 0;          ///< steps that alignment took
  std::vector<OpBudget> op_budgets;
  ReplaySummary replay;
  OutcomeTotals outcomes;
  RunEvidence evidence;
};

/// Adds those of a further rank.
void add(Totals& to, const Totals& more);

/// Ops of this step, and what they call, that both runs have and that call other ops inside.
/// Autograd then has other nodes for them, which do the same.
class OtherwiseComputed {
 public:
  void begin_step() {
    ranges_.clear();
    count_ = 0;
  }
  /// Everything from the first position to the last, in a lane, is one op. `number` is the same for
  /// the other run's.
  void add(std::uint32_t lane, std::uint64_t first, std::uint64_t last, std::uint64_t number) {
    ranges_[lane][last] = {first, number};
    ++count_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// The number of the op at a place, empty if it is not one of these.
  [[nodiscard]] std::optional<std::uint64_t> find(EventPlace place) const {
    const auto lane = ranges_.find(place.lane);
    if (place.position == kNone || lane == ranges_.end()) return std::nullopt;
    const auto range = lane->second.lower_bound(place.position);
    if (range == lane->second.end() || range->second.first > place.position) return std::nullopt;
    return range->second.number;
  }

 private:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t number = 0;
  };
  std::map<std::uint32_t, std::map<std::uint64_t, Range>> ranges_;  ///< of each lane, by last
  std::size_t count_ = 0;
};

/// What a thread freed while the run went on, where no event of the other run is its partner: a
/// thread that shares work (which piece of it that belongs to is known by the content alone), or
/// one that freed something more.
struct Freed {
  HeldEvent event;
  Lane lane;
};

/// A tensor that one run alone saves, and the finding of that.
struct SavedAlone {
  Content content;
  Source source;
};

/// How the runs of a rank are compared.
struct Mode {
  bool only_layers = false;  ///< one of the runs has no ops: both are compared by layers
  bool injected = false;     ///< recording gave a run values of another one
  /// Several trainers, or threads that share work: they are not compared in the order in which they
  /// ran.
  bool lanes_run_apart = false;
  std::optional<Side> longer;  ///< the run that merely goes on where the other one has ended
  WindowLimits windows;
};

/// Memory that one run alone has made, changed or freed, that nothing has filled, or that differs.
struct DifferingMemory {
  Both<AloneMemory> alone;
  Both<LoneGradients> gradients;
  Absorption absorption;
  Both<std::unordered_set<std::uint64_t>> made_ahead;  ///< storages of samples that none has taken
  /// Storages that no op has filled, with different bytes when an op handed them back, and that no
  /// op has computed with since.
  Both<std::unordered_set<std::uint64_t>> handed_back;
  /// Storages of which an op of one run alone saw that they had changed outside of recorded ops.
  Both<std::unordered_set<std::uint64_t>> seen_changed;
  Both<std::vector<Freed>> freed;
};

/// Random numbers that the runs draw.
struct Draws {
  RngTracker rng;
  OwnDraws own_draws;
  bool race = false;  ///< threads drew from one generator in another order
};

/// Which memory, parameters and ops of the runs are partners, beyond what a window shows.
struct Partners {
  StoragePairs storages;
  StoragePairs made_equal;  ///< of these, what was made with equal content
  LoneCopies copies;
  /// Memory of the reference that an op has read, and its partner memory that is not its partner,
  /// by the position of its last write: the runs have only made them in another order.
  std::map<std::uint64_t, std::uint64_t> read_as_partners;
  OtherParameters other_parameters;
  Both<OtherwiseComputed> otherwise_computed;
};

/// What the programs set, read and save from step to step.
struct ProgramState {
  OptionKeys option_keys;
  LastOptions last_options;
  Accumulations accumulations;
  Both<ShownModels> models;
  Both<DataReads> data_reads;
  NumbersRead numbers_read;
  Both<std::vector<SavedAlone>> saved_alone;
  History history;
};

/// What the lanes of one rank share while they are compared.
struct RankState {
  RankState(const Run& reference, const Run& candidate, const Both<std::uint32_t>& rank_numbers,
            const CompareOptions& compare_options, FindingBook& findings, Totals& sums,
            ValueJudge& value_judge)
      : runs{&reference, &candidate},
        ranks(rank_numbers),
        options(compare_options),
        book(findings),
        totals(sums),
        judge(value_judge),
        random{.rng = {}, .own_draws = OwnDraws(runs, ranks)} {}

  Both<const Run*> runs;
  Both<std::uint32_t> ranks;
  const CompareOptions& options;
  FindingBook& book;
  Totals& totals;
  ValueJudge& judge;
  Mode mode;
  Ledger ledger;
  DifferingMemory memory;
  Draws random;
  Partners partners;
  ProgramState program;
};

}  // namespace ulpscope::comparison
