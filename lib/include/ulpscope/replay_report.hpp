#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ulpscope/replay.hpp"
#include "ulpscope/run.hpp"

/// Why an op gives different bits: it is replayed with its recorded inputs, first as it was
/// recorded, then with one condition changed at a time.
namespace ulpscope {

/// An event of a run.
struct RecordedPlace {
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint64_t position = 0;  ///< Event::position
};

/// What a variant changes.
enum class ReplayFactor : std::uint8_t {
  none,               ///< nothing: as the run was recorded
  other_run,          ///< everything that differs in the other run
  threads,            ///< of one op
  cpu_capability,     ///< the level of ATen's kernels
  onednn_isa,         ///< the newest instruction set that oneDNN may use
  deterministic,      ///< deterministic algorithms, with or without filling uninitialized memory
  mkldnn,             ///< whether oneDNN is used
  device,             ///< the CPU instead of a GPU, or the reverse
  tf32,               ///< whether a GPU rounds float32 inputs to TF32
  reduced_precision,  ///< whether a GPU adds products of 16 bits in 16 bits
  cudnn,              ///< whether cuDNN is used
  algorithm,          ///< how cuDNN chooses among its algorithms
  flags,              ///< other flags of LibTorch that the other run had
  layout,             ///< strides of the inputs
  alignment,          ///< where in memory the inputs begin
  rows,               ///< a part of the batch
  precision,          ///< float64
};
/// "threads", "cpu_capability": as JSON has it.
[[nodiscard]] std::string_view name(ReplayFactor factor) noexcept;

/// How far results are from the op in float64, over all its floating-point results.
struct TrueDistance {
  std::uint64_t ulp_max = 0;  ///< steps in the result's dtype to the float64 result, rounded to it
  double scaled_max = 0;      ///< max|d| / max|float64 result|
  double scaled_rms = 0;      ///< root mean square of d / max|float64 result|
  std::uint64_t nan = 0;      ///< elements that are NaN on one side only; not in the others
};

/// One way to replay the op.
struct ReplayVariant {
  ReplayFactor factor = ReplayFactor::none;
  std::string words;       ///< "with 2 threads"
  std::string base_words;  ///< the same of what it is compared with: "with 1 thread"
  unsigned repeats = 0;
  unsigned results = 0;  ///< different ones among the repeats
  /// In how many repeats all bits are those that a run has recorded; empty: not compared.
  std::array<std::optional<unsigned>, 2> same_as;
  std::optional<TrueDistance> distance;  ///< of the first repeat; empty where float64 is unknown
  std::string failure;                   ///< why there are no results, or why they mean nothing
  bool recorded_by_other = false;        ///< the other run was recorded so
  ReplayConditions conditions;           ///< in which it was replayed
  ReplayStart start;                     ///< and how its process was started
  std::vector<ReplayTensor> inputs;      ///< how they lay in memory, without their bytes
};

/// One run's op.
struct ReplayedRun {
  std::string path;
  std::int64_t step = kSetup;
  RecordedPlace place;
  std::string settings;  ///< "1 thread, ATen capability AVX2, oneDNN on"
  std::string failure;   ///< why it does not give its recorded bits; empty if it does
  bool lacks_bytes = false;
  std::optional<TrueDistance> distance;  ///< of the recorded results

  [[nodiscard]] bool proved() const noexcept { return failure.empty(); }
};

enum class ReplayOutcome : std::uint8_t {
  same,     ///< the runs' results are equal, or there is one run, and it gives its recorded bits
  differs,  ///< the runs' results differ, and at least one run gives its recorded bits
  trouble,  ///< no run gives its recorded bits
};

struct ReplayReport {
  std::string op;                    ///< "aten::sum.dim_IntList"
  std::vector<ReplayedRun> runs;     ///< one or two: A and B
  std::vector<std::string> unequal;  ///< inputs and arguments that the runs do not have in common
  std::size_t base = 0;              ///< the run whose conditions the variants change
  std::vector<ReplayVariant> variants;
  std::string mechanism;  ///< what makes the difference, a sentence; empty if it is not known
  ReplayFactor factor = ReplayFactor::none;  ///< the one that the mechanism names
  bool deterministic = true;          ///< no variant in a run's own conditions gave several results
  std::string summary;                ///< the answer, a sentence
  std::optional<std::size_t> nearer;  ///< the run that is nearer to float64; empty: neither, or
                                      ///< not known
  std::vector<std::string> notes;
  ReplayOutcome outcome = ReplayOutcome::trouble;
};

struct ReplayOptions {
  unsigned repeats = 5;  ///< in the conditions of a run
  std::vector<std::string> libraries;
  std::chrono::seconds patience{120};  ///< for one call of the op
  int most_threads = 0;                ///< tried; 0: as many as this machine has, at least 2
};

/// Replays the op at `place` of run `a`, and the one at `place_b` of `b` unless that is null. Finds
/// what makes their bits differ or, with one run, what changes its bits. Never throws because of an
/// op; takes seconds, since several processes are started one after another.
///
/// @throws Error with ErrorCode::usage if there is no such event, it is no op, the two ops are not
/// the same one, or `factory` makes no replayer; with ErrorCode::corrupt if a dump is damaged.
[[nodiscard]] ReplayReport explain(const Run& a, const RecordedPlace& place, const Run* b,
                                   const RecordedPlace& place_b, const ReplayerFactory& factory,
                                   const ReplayOptions& options = {});

}  // namespace ulpscope
