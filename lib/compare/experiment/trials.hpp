#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compare/experiment/op_call.hpp"
#include "ulpscope/replay_report.hpp"

namespace ulpscope::comparison::experiment {

/// One row of the experiment: in which process and with which request the op is replayed.
struct Trial {
  ReplayVariant variant;  ///< its words; nothing has been replayed yet
  ReplayStart start;
  std::function<void(ReplayRequest&)> change;  ///< of a request in the base's conditions
  bool with_other_inputs = false;  ///< as the other run had them in memory, where they are equal
};

/// What the trials are planned for.
struct Plan {
  const OpCall& base;  ///< whose conditions are changed
  const OpCall* other = nullptr;
  bool same_inputs = false;
  std::int64_t rows = 0;        ///< of mark_rows()
  std::string capability;       ///< of the kernels in the base's process: "AVX2"
  std::string base_name = "A";  ///< of the runs, in words
  std::string other_name = "B";
};

/// The op as it was recorded in the base, and as in the other run if anything differs there.
[[nodiscard]] std::vector<Trial> trials_as_recorded(const Plan& plan, const ReplayOptions& options);

/// One condition changed in each.
[[nodiscard]] std::vector<Trial> trials_with_changes(const Plan& plan,
                                                     const ReplayOptions& options);

}  // namespace ulpscope::comparison::experiment
