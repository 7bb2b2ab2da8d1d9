#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ulpscope/difference.hpp"
#include "ulpscope/run.hpp"
#include "ulpscope/tolerance.hpp"

/// What a comparison answers. Every renderer prints this value and computes nothing.
namespace ulpscope {

enum class Verdict : std::uint8_t {
  identical,     ///< every compared bit is equal
  within,        ///< bits differ, all inside the requested tolerance
  diverged,      ///< the runs diverge
  inconclusive,  ///< the runs cannot be aligned, or not enough of them was recorded
};
[[nodiscard]] std::string_view name(Verdict verdict) noexcept;

enum class FindingKind : std::uint8_t {
  origin,     ///< same op, inputs and arguments; an output differs
  arguments,  ///< inputs equal, an argument differs
  sequence,   ///< an op that exists in one run only
  rng,        ///< a generator's state before the op differs
  data,       ///< a tensor that no recorded op produced differs
  parameter,  ///< a parameter or buffer differs at its first use
  write,      ///< content changed since its last recorded write, in one run only
  metadata,   ///< dtype or shape differs
};
[[nodiscard]] std::string_view name(FindingKind kind) noexcept;

template <class T>
struct Both {
  T reference{};
  T candidate{};
};

/// Whether a difference is inside the requested tolerance.
struct ToleranceResult {
  bool inside = false;
  std::optional<std::size_t> rule;  ///< index into Report::rules; empty: the limits for all others
};

struct TensorReport {
  Role role = Role::input;
  std::uint16_t index = 0;
  std::uint16_t element = 0;
  std::string name;
  Dtype dtype = Dtype::undefined;
  Both<std::vector<std::int64_t>> shape;
  bool equal = true;
  std::optional<Difference> difference;      ///< empty if the bytes are not in the dumps
  std::optional<ToleranceResult> tolerance;  ///< empty if none was requested, or without bytes
};

struct ArgumentReport {
  std::string name;
  std::optional<std::string> reference;  ///< empty if that run's op has no such argument
  std::optional<std::string> candidate;
  std::string of = {};  ///< "SGD": of the optimizer around the op; empty: of the op
};

/// Where the models of the runs differ.
enum class ModelAspect : std::uint8_t {
  type,    ///< class of a module
  tensor,  ///< a parameter or buffer that one model has
  shape,
  dtype,
  requires_grad,
};
[[nodiscard]] std::string_view name(ModelAspect aspect) noexcept;

struct ModelDifference {
  std::string root;  ///< the reference's
  std::string path;  ///< of a parameter, buffer or module; "" the root
  ModelAspect what = ModelAspect::shape;
  std::optional<std::string> reference;  ///< empty if that run's model has no such tensor
  std::optional<std::string> candidate;
};

/// An op next to the finding, for the report's list of neighbors.
struct Neighbour {
  std::uint64_t event = kNone;  ///< position in the reference (candidate if only it has it)
  std::string op;
  std::string module;
  bool equal = true;
  bool finding = false;  ///< it is the finding itself
  std::string note;      ///< "only in candidate", "propagated", or empty
};

/// The op after which nothing differs any more because of a finding.
struct Absorbed {
  std::string op;
  std::optional<std::int64_t> step;          ///< empty in setup; the reference's, if it has the op
  Both<std::optional<std::uint64_t>> event;  ///< position, in the runs that have it
};

struct Finding {
  FindingKind kind = FindingKind::origin;
  bool diverges = true;
  std::optional<Absorbed> absorbed;  ///< values differ because of it, and no outcome does
  bool in_outcome = false;  ///< an outcome is known to differ because of it: it cannot be absorbed
  bool goes_on = false;     ///< sequence: here one run goes on, where the other one has ended
  bool shifts_draws = false;  ///< sequence: later ops draw other numbers because of it
  /// Of files of tensors: it has no op, lane, step and phase, and one tensor. `parameter`: its
  /// values differ; `metadata`: its dtype or shape; `sequence`: one file alone has it. `event` is
  /// the tensor's place in each file.
  bool of_file = false;
  std::uint32_t rank = 0;
  std::string lane;                  ///< "main", "autograd", "worker 0", "thread 3"
  std::optional<std::int64_t> step;  ///< empty in setup
  Phase phase = Phase::setup;
  std::string root;
  std::optional<std::string> module;  ///< dotted path, "" the root; empty: unattributed
  std::string module_type;
  std::optional<Both<std::string>> between;  ///< unattributed: neighbors named (before, after)
  std::string op;
  std::string overload;
  std::string meaning;  ///< what happened, in the words of the program: "lr of SGD is 0.05 and
                        ///< 0.06"; empty where nothing is known beyond the op
  std::vector<std::string> parents;  ///< outermost first
  Both<std::vector<std::string>> children;
  Both<std::vector<std::string>> kernels;  ///< launched on a GPU, in order, if recorded
  std::string forward_op;
  std::string device;
  std::string where;   ///< "train.py:41": of a backward op, where its forward op was called
  std::string source;  ///< that line's text, if it was recorded
  std::string file;    ///< "models/train.py", from where recording was started, if it is below that
  Both<std::optional<std::uint64_t>> event;
  std::vector<TensorReport> tensors;
  std::vector<ArgumentReport> arguments;
  std::vector<Neighbour> neighbours;
  std::vector<std::string> notes;  ///< facts in words: writer named, equal in steps 0-16, ...
};

struct RunSummary {
  std::string path;
  std::vector<std::string> command;
  bool complete = false;
  std::uint32_t ranks = 0;
  std::uint64_t steps = 0;
  std::uint64_t events = 0;
  std::uint64_t values = 0;
  std::string level;
  std::string format;  ///< of a file of tensors: "safetensors"; empty: a dump
  /// Where recording gave the program the values of another run: "op", "module" or "origins";
  /// empty: its results are its own.
  std::string injected;
};

struct NotCompared {
  std::uint64_t uninitialised = 0;
  std::uint64_t handle = 0;
  std::uint64_t layout = 0;
  std::uint64_t no_bytes = 0;
  std::uint64_t ignored = 0;
  std::uint64_t opaque = 0;
};

/// True for an origin whose inputs differ already: it was replayed, on each run's own inputs, and
/// is outside its error budget.
[[nodiscard]] bool judged_on_own_inputs(const Finding& finding);

/// The argument says which tensor the op is given, rather than a number.
[[nodiscard]] bool gives_tensor(const Finding& finding, const ArgumentReport& argument);

/// True if values differ and all of them are inside the tolerance.
[[nodiscard]] bool inside_tolerance(const Finding& finding);

struct Coverage {
  std::uint64_t aligned = 0;
  std::uint64_t moved = 0;  ///< of those, what the candidate has in another order
  std::uint64_t only_reference = 0;
  std::uint64_t only_candidate = 0;
  NotCompared not_compared;
  /// Parameters, buffers and other memory that both runs left when they ended, and that were
  /// compared.
  std::uint64_t outcomes = 0;
  bool outcomes_recorded = true;    ///< recorded in both runs
  std::uint64_t roots = 0;          ///< models with parameters, in the run and rank that has most
  std::vector<std::string> unseen;  ///< what the recordings could not observe, in words
};

inline constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

struct EnvironmentDifference {
  std::string key;
  std::optional<std::string> reference;
  std::optional<std::string> candidate;
  bool can_change_bits = false;
  /// Closed ranges of the reference's steps in which they differ, kSetup among them, kNoEnd the end
  /// of one that stays open; empty: throughout. The values are those of the first one.
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
};

struct GrowthPoint {
  std::int64_t step = 0;
  std::optional<double> scaled_max;
  std::optional<std::uint64_t> ulp_max;
  std::optional<Both<double>> loss;
};

/// How far apart an op's first unequal result is.
struct PathPoint {
  std::uint64_t event = kNone;  ///< position in the reference
  std::string op;
  std::string module;
  std::optional<double> scaled_max;
  std::uint64_t ulp_max = 0;
};

/// From the first difference to the loss of its step; if it comes after the loss, to the end of the
/// backward pass or of the optimizer's step. Empty if bytes were not recorded.
struct Path {
  std::int64_t step = 0;
  std::vector<PathPoint> points;
};

enum class Confidence : std::uint8_t { certain, likely, possible };
[[nodiscard]] std::string_view name(Confidence confidence) noexcept;

struct Cause {
  std::string id;  ///< one of the public ids
  Confidence confidence = Confidence::possible;
  std::size_t finding = 0;  ///< index into Report::findings
  std::vector<std::string> evidence;
  std::vector<std::string> against;
  std::vector<std::string> attempt;  ///< commands to try ("try" in JSON)
  bool tested = false;  ///< an experiment has shown the cause, and that the commands help
};

struct Propagated {
  std::uint64_t events = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  ///< closed ranges
  std::string note;  ///< what cannot be determined about them, and what would; empty without events
};

/// A value that differs by more than the tolerance allows.
struct OutsideValue {
  std::int64_t step = kSetup;
  std::uint64_t event = kNone;  ///< position in the reference
  std::string op;
  std::optional<std::string> module;  ///< dotted path, "" the root; empty: unattributed
  std::string tensor;                 ///< "fc.weight", "out 0"
  std::uint64_t ulp_max = 0;          ///< how far apart it is, as in Difference
  double absolute_max = 0;
  std::optional<double> scaled_max;
  Limits limits;  ///< those that held for it
};

/// A rule of the tolerance, and what it decided.
struct RuleUse {
  ToleranceRule rule;
  bool expired = false;      ///< it was not applied
  std::uint64_t passed = 0;  ///< differing values that it let pass, a pair of contents counted once
  std::uint64_t failed = 0;  ///< those that were outside it
};

/// The shares of their error budgets that the results of one op have used, wherever it was judged.
struct OpBudget {
  std::string op;
  std::uint64_t results = 0;
  std::uint64_t outside = 0;
  std::optional<double> largest_used;
  std::string why;  ///< the budget of the result that took most
};

/// Ops whose inputs differ already, each compared with the op replayed on its own inputs.
struct ReplaySummary {
  std::uint64_t inside = 0;   ///< ops, counted in pairs
  std::uint64_t outside = 0;  ///< in one run or both
  std::uint64_t unjudged = 0;
  std::vector<std::pair<std::string, std::uint64_t>> reasons;  ///< why those were not, how often
};

/// Differing results against their error budgets, each occurrence counted: of origins, and of ops
/// that were replayed and are outside.
struct BudgetSummary {
  std::uint64_t inside = 0;
  std::uint64_t allowed = 0;  ///< outside, but the tolerance allows it
  std::uint64_t outside = 0;
  std::uint64_t without_bytes = 0;  ///< not all bytes that it needs are in the dumps
  std::uint64_t without_model = 0;  ///< nothing is known of how the op computes
  std::optional<double> largest_used;
};

/// The conditions under which a golden run was recorded. Its bits hold for one instruction set,
/// thread count and library version; if these differ, bits may differ without a fault of the
/// program.
struct GoldenConditions {
  std::vector<EnvironmentDifference> differ;
};

/// How it is known that two ranks are partners.
enum class RankMatch : std::uint8_t {
  number,    ///< they have the same number, or are the only ones
  declared,  ///< a variable says which rank they are
  creation,  ///< by creator and order of creation
  content,   ///< by what they compute
};
[[nodiscard]] std::string_view name(RankMatch match) noexcept;

/// Ranks that are compared with each other.
struct RankPair {
  Both<std::uint32_t> numbers;
  RankMatch by = RankMatch::number;
  RankIdentity identity;  ///< in the reference
};

/// Of files of tensors: how many that both have were compared, and what came of it. Those that only
/// one has are in Coverage.
struct TensorTotals {
  std::uint64_t compared = 0;
  std::uint64_t differing = 0;   ///< of these
  std::uint64_t inside = 0;      ///< of those that differ, inside the tolerance
  std::uint64_t other_type = 0;  ///< not compared: another dtype or shape
};

struct Report {
  Verdict verdict = Verdict::inconclusive;
  std::string summary;                     ///< one sentence
  std::optional<GoldenConditions> golden;  ///< to be reported first; empty if not requested
  RunSummary reference;
  RunSummary candidate;
  std::vector<RankPair> rank_pairs;  ///< by the reference's number
  Coverage coverage;
  std::vector<Finding> findings;  ///< diverging ones in order, then those with diverges = false
  Propagated propagated;
  std::vector<GrowthPoint> growth;
  Path path;
  std::vector<EnvironmentDifference> environment;
  std::vector<ModelDifference> models;
  std::vector<Cause> causes;
  std::vector<RuleUse> rules;                 ///< as CompareOptions::rules
  std::optional<OutsideValue> first_outside;  ///< the earliest; empty: none, or no tolerance
  std::optional<BudgetSummary> budget;        ///< empty if none was requested
  std::vector<OpBudget> op_budgets;           ///< largest share of its budget first
  std::optional<ReplaySummary> replay;        ///< empty if ops could not be replayed
  std::optional<TensorTotals> tensors;        ///< of files of tensors; empty: of dumps

  /// The earliest diverging finding, or null. With a budget, the earliest that rounding does not
  /// explain comes before those that it does; with a tolerance, one that explains the first value
  /// outside before those that are inside.
  [[nodiscard]] const Finding* first() const noexcept {
    return findings.empty() || !findings.front().diverges ? nullptr : &findings.front();
  }
  /// The first finding because of which values differ, and no outcome; null if there is none.
  [[nodiscard]] const Finding* first_absorbed() const noexcept {
    for (const Finding& finding : findings)
      if (finding.absorbed) return &finding;
    return nullptr;
  }
};

}  // namespace ulpscope
