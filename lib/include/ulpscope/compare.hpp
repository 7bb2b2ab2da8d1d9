#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ulpscope/replay.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"
#include "ulpscope/tolerance.hpp"

namespace ulpscope {

/// Modules that have different names in the candidate. A '*' matches any characters except dots;
/// the k-th of one pattern corresponds to the k-th of the other. A pattern that matches the
/// beginning of a path up to a dot renames that part.
struct ModuleRename {
  std::string reference;  ///< "encoder.*.attn"
  std::string candidate;  ///< "blocks.*.attention"
};

struct CompareOptions {
  Limits limits;                     ///< for what no rule covers; empty requires bit equality
  std::vector<ToleranceRule> rules;  ///< the first that matches a value decides about it
  /// The day by which rules expire; empty: none has expired.
  std::optional<std::chrono::year_month_day> today;
  /// Checks whether rounding can explain every origin. `limits` and `rules` then allow more for
  /// origins; what follows from them is judged if a `replayer` is given.
  bool budget = false;
  /// replays ops, so that an op whose inputs differ already is judged on its own inputs. Must
  /// outlive the comparison.
  Replayer* replayer = nullptr;
  /// Why there is no `replayer` although a `budget` needs one: then what follows from origins
  /// leaves the verdict open. Empty: origins alone are to be judged.
  std::string no_replayer;
  bool golden = false;                ///< the reference is kept as golden: see Report::golden
  bool allow_longer = false;          ///< steps that one run has after the other's end do not count
  bool any_exit_code = false;         ///< runs that end with other exit codes may be identical
  std::int64_t step_offset = 0;       ///< candidate step = reference step + offset
  std::vector<std::string> ignore;    ///< globs on op and module names left out of the comparison
  std::vector<ModuleRename> renames;  ///< the first that matches a module of the candidate counts
  bool by_layers = false;             ///< compare modules as units, though ops were recorded
  std::size_t context = 3;            ///< neighbors kept on each side of a finding
  std::size_t max_findings = 100;     ///< findings reported in full
  /// Called with how many bytes of values, of both runs, are about to be read for the findings.
  std::function<void(std::uint64_t bytes)> before_values;
};

/// Compares two runs lane by lane, step by step. Digests decide equality; bytes are read only for
/// the tensors of findings. Reads both runs one block at a time.
///
/// @throws Error with ErrorCode::corrupt if a run is inconsistent; with ErrorCode::usage if the two
/// sides of a rename do not have the same number of '*'.
[[nodiscard]] Report compare(const Run& reference, const Run& candidate,
                             const CompareOptions& options = {});

}  // namespace ulpscope
