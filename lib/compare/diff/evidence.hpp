#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compare/diff/picks.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What was recorded of one tensor of a finding, in both runs.
struct TensorEvidence {
  Both<std::uint64_t> storage{kNone, kNone};  ///< of a tensor without a name
  Both<Digest> digest;
  Both<Geometry> geometry;
  Both<std::uint32_t> flags;  ///< slot_flag
  Both<std::uint8_t> alignment;
  bool compared = false;  ///< digests were compared
  // From the bytes, where both dumps hold them:
  bool rows_permuted = false;     ///< the same rows of the first dimension in a different order
  bool numbers_permuted = false;  ///< the same numbers in a different order
  std::optional<bool> repeats;    ///< a number occurs in it more than once
  std::optional<double> ratio;    ///< candidate / reference, where that is one number throughout
  std::optional<Budget> budget;   ///< of a result
};

/// A random draw that only one run made.
struct Draw {
  Side side = Side::reference;
  std::string op;
  std::int64_t step = kSetup;
  std::uint64_t event = kNone;
  std::string where;  ///< in the program: "train.cpp:41"; empty if not known
};

/// What a process reads past its own recorded ops, where another process of its run has written it.
struct SharedMemory {
  std::string writes;       ///< "0.weight is what rank 1 wrote by ..."; empty if no run shows it
  bool of_siblings = true;  ///< neither of the processes has created the other
};

/// What the diagnosis rules use in addition to the finding itself.
struct Evidence {
  bool seeded = false;
  bool explicit_generator = false;
  Both<RngState> rng;
  std::vector<Draw> draws;                   ///< one-sided draws since both streams were last equal
  std::uint64_t more_draws = 0;              ///< those beyond the ones kept
  std::string last_common_draw;              ///< the last op that drew from equal states, in words
  std::optional<std::uint32_t> drawn_alone;  ///< the finding of the last of `draws`
  bool seeded_lanes_share = false;           ///< several threads draw from one generator

  bool layers_only = false;  ///< ops were not recorded
  Both<std::uint16_t> threads;
  Both<bool> on_gpu{false, false};
  Both<std::uint32_t> event_flags;      ///< event_flag
  std::string not_compared;             ///< an input laid out too differently to be compared
  bool inside_differs = false;          ///< the op called other ops, or with other shapes
  std::vector<TensorEvidence> tensors;  ///< as Finding::tensors
  BudgetSummary budget;                 ///< origin: of all its occurrences

  std::string unreadable;           ///< origin: an input that could not be read
  std::vector<std::string> blamed;  ///< data, parameter, write: inputs that differ for that reason;
                                    ///< empty if all that differ do
  bool looks_ahead = false;         ///< arguments: a loader may do the same at a different time
  bool same_tensors = false;        ///< the op reads the same values, reordered
  std::string reordered;            ///< an input whose elements are read in a different order
  bool left_by_ops = false;         ///< data: what is read is what recorded ops have left
  bool left_in_part = false;        ///< data: recorded ops have last written a part of it
  std::string factory;             ///< the op that returned the memory that nothing wrote, in words
  bool for_data = false;           ///< it was allocated where programs prepare their data
  bool written_otherwise = false;  ///< write: the last recorded write covered other bytes
  bool changed_in_both = false;    ///< `changed` in both runs
  bool uninitialised = false;      ///< reads memory that no recorded op wrote
  bool wrapped_number = false;     ///< the argument travelled as a tensor without dimensions
  bool may_follow = false;         ///< arguments: perhaps from what differed before
  Picks picks;                     ///< arguments: of all its occurrences
  bool returned = false;           ///< arguments: a module returns another one of equal tensors
  bool named_otherwise = false;    ///< parameter: the same values belong to other names
  bool same_set_of_data = false;   ///< over the whole run both read the same data, reordered

  Both<std::vector<std::string>> alone;        ///< sequence: the ops that one run has
  Both<std::vector<std::string>> alone_names;  ///< sequence: names of the tensors they touch
  Both<std::vector<std::uint64_t>>
      alone_storages;                            ///< sequence: of what they write, without a name
  Both<std::vector<std::string>> alone_written;  ///< sequence: its name in the model, if it has one
  Both<std::vector<std::string>> alone_updates;  ///< sequence: names of the parameters they update
  /// sequence: what they read and no op wrote: its name, else its storage
  Both<std::vector<std::string>> alone_unwritten;
  Both<std::size_t> alone_casts{};  ///< sequence: those that change the floating-point dtype
  std::string overwritten;          ///< sequence: the copy that one run alone makes keeps what is
                                    ///< overwritten in the other before it is read, in words
  std::string left_alone;           ///< sequence: what one run has more of at its end, in words
  bool moved = false;               ///< sequence: the other run has these updates later or before
  bool whole_step = false;          ///< sequence: the other run has no such step
  bool updated_again = false;       ///< sequence: both runs have just updated them
  bool among_updates = false;       ///< sequence: next to an update that both runs make
  bool alone_draws = false;         ///< sequence: one of them draws random numbers
  bool missing_steps = false;       ///< sequence: whole steps are missing

  std::optional<std::uint32_t> contributor;  ///< origin at a collective: the rank, by the
                                             ///< reference's number, that gave it something else

  // origin, where the op was replayed on each run's own inputs:
  Both<bool> own_outside{};    ///< a run's result is not what its inputs explain
  Both<std::string> operands;  ///< with operands rounded so they do; "" where none are known

  // Of each run by itself, for the first finding (each_run.hpp):
  Both<std::vector<std::string>> recomputed;  ///< ops that backward recomputed with other results
  Both<std::string> epochs;                   ///< how many of how many steps; empty if unknown
  Both<bool> begins_epoch{};                  ///< one begins with the batch of the finding
  std::string
      write_order;  ///< a parameter that threads write in a different order (write_order.hpp)
  SharedMemory shared_memory;
};

/// The runs accumulate gradients a different number of times in a step.
struct OtherAccumulation {
  std::int64_t step = kSetup;
  std::size_t parameters = 0;   ///< for which that is so
  Both<std::uint32_t> times;    ///< of one of them
  std::optional<double> ratio;  ///< candidate / reference at the end, where it is one number
};

/// Parameters that get a gradient in one run only.
struct OtherGradients {
  std::int64_t step = kSetup;  ///< the first in which that is so
  Both<std::vector<std::string>> only;
};

/// A recording that does not begin with its program's first step.
struct LateBegin {
  std::int64_t step = 0;  ///< the first that is recorded in both runs
  Both<bool> runs;        ///< whose recording begins late
};

/// A container of the program that has the same elements in both runs, in another order.
struct OtherOrder {
  std::string container;  ///< "set classes of __main__"
  Both<std::string> elements;
};

/// What the runs as a whole show.
struct RunEvidence {
  Both<std::uint32_t> threads;  ///< of the program besides the main one: workers that load data
  Both<std::set<std::uint32_t>> created;  ///< ranks that another rank created, likewise
  std::optional<OtherAccumulation> accumulation;
  std::optional<OtherGradients> gradients;
  std::vector<ModelDifference> models;
  bool other_batch = false;                       ///< a tensor differs only in its first dimension
  bool other_start = false;                       ///< a parameter differs in the first forward
  bool random_hashes = false;                     ///< strings have other hashes in each process
  std::vector<OtherOrder> other_orders;           ///< of the program's own containers
  std::map<std::uint32_t, LateBegin> late_begin;  ///< by rank of the reference
};

/// One tensor of a finding and the evidence about it.
struct ReportedTensor {
  TensorReport report;
  TensorEvidence evidence;
};

/// The first value that turned out to differ after something that might have been harmless.
struct Effect {
  std::string place;  ///< "aten::mm at event 12 (step 3)"
  ReportedTensor tensor;
  bool of_data = false;  ///< the program may have filled its memory past recorded ops
  bool drawn = false;    ///< drawn from a generator in a different state
};

/// A finding with its evidence during the comparison.
struct Record {
  Finding finding;
  Evidence evidence;
  std::optional<Effect> effect;
  Both<std::uint32_t> ranks;
  std::optional<std::uint32_t> copy_of;    ///< the finding whose other occurrences were harmless
  bool listed = true;                      ///< false: kept only in case its effect is read
  std::int64_t candidate_step = kSetup;    ///< of its event there; finding.step is the reference's
  std::optional<std::int64_t> order_step;  ///< the step of what it follows from, where later
  std::uint8_t lane_order = 0;             ///< main, autograd, workers, other threads
  /// Of a finding in backward that has its own lane: the position in the forward's lane after which
  /// it ran.
  std::optional<std::uint64_t> after_forward;
  std::uint64_t order_event = 0;   ///< position that it takes in the reference lane
  bool after_order_event = false;  ///< it follows that event rather than being it
  std::uint64_t more_in_step = 0;  ///< further occurrences in the same step
  std::vector<std::pair<std::int64_t, std::int64_t>> repeats;  ///< later steps, closed ranges
  std::set<std::uint32_t> more_ranks;  ///< further processes of which it is true
};

/// As a report has it: empty in setup.
[[nodiscard]] inline std::optional<std::int64_t> reported_step(std::int64_t step) noexcept {
  return step == kSetup ? std::nullopt : std::optional(step);
}

[[nodiscard]] inline std::int64_t step_of(const Finding& finding) noexcept {
  return finding.step.value_or(kSetup);
}

/// The step whose place it takes in a report.
[[nodiscard]] inline std::int64_t order_step(const Record& record) {
  return record.order_step.value_or(step_of(record.finding));
}

}  // namespace ulpscope::comparison
