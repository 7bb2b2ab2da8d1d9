#pragma once

#include <string>
#include <vector>

#include "compare/experiment/results.hpp"
#include "compare/model/window.hpp"
#include "ulpscope/replay_report.hpp"

namespace ulpscope::comparison::experiment {

/// One run's op: what it was called with, and what it returned.
struct OpCall {
  HeldEvent held;
  std::int64_t step = kSetup;
  ReplayRequest request;  ///< in the recorded state
  ReplayStart start;
  std::string capability;  ///< of ATen's kernels, "AVX2"; empty if not recorded
  Results recorded;        ///< as ReplayRequest::wanted
  std::string failure;     ///< why it cannot be replayed; then the above may be incomplete
  bool lacks_bytes = false;

  [[nodiscard]] const Event& event() const noexcept { return *held.event; }
};

/// @throws Error with ErrorCode::usage if there is no such event, or it is no op.
[[nodiscard]] OpCall op_call(const Run& run, const RecordedPlace& place,
                             const ReplayOptions& options);

/// "aten::sum.dim_IntList"
[[nodiscard]] std::string full_name(const Event& event);

/// What the calls do not have in common: "grad_output (12 of 64 elements by up to 3 ULP)", "eps".
/// An input whose bytes one of them lacks is compared by its digest.
[[nodiscard]] std::vector<std::string> unequal_arguments(const OpCall& a, const OpCall& b);

/// Whether the results of a part of the batch can be compared with those of all of it, as far as
/// shapes show: then tensors with rows are marked in the request and in the results, and the
/// number of rows is returned; else 0.
[[nodiscard]] std::int64_t mark_rows(OpCall& call);

/// "1 thread, ATen capability AVX2, deterministic mode".
[[nodiscard]] std::string settings_words(const Run& run, const RecordedPlace& place,
                                         const OpCall& call);

}  // namespace ulpscope::comparison::experiment
