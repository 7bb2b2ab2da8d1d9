#pragma once

#include "ulpscope/replay_report.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::cli {

/// As diff, cmp and h5diff have them; the last three are those of `env`, for `record`.
enum class Exit : int {
  same = 0,
  different = 1,
  trouble = 2,
  not_started = 125,
  cannot_execute = 126,
  not_found = 127,
};

[[nodiscard]] constexpr Exit exit_code(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::identical:
    case Verdict::within:
      return Exit::same;
    case Verdict::diverged:
      return Exit::different;
    case Verdict::inconclusive:
      return Exit::trouble;
  }
  return Exit::trouble;
}

[[nodiscard]] constexpr Exit exit_code(ReplayOutcome outcome) noexcept {
  switch (outcome) {
    case ReplayOutcome::same:
      return Exit::same;
    case ReplayOutcome::differs:
      return Exit::different;
    case ReplayOutcome::trouble:
      return Exit::trouble;
  }
  return Exit::trouble;
}

}  // namespace ulpscope::cli
