#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/measure/budget/allowance.hpp"
#include "compare/measure/budget/models.hpp"
#include "compare/measure/budget/operands.hpp"
#include "ulpscope/replay.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison::budget {

/// One run's results of an op next to the op's replayed results for the inputs that this run had.
struct Replayed {
  struct Result {
    Role role = Role::output;
    std::uint16_t index = 0;
    std::uint16_t element = 0;
    Allowance allowance;
    bool inside = false;
    std::optional<double> used;  ///< as Budget::used
  };
  std::vector<Result> results;
  std::string failure;  ///< why there are none
  bool lacks_bytes = false;

  [[nodiscard]] bool inside() const noexcept;
  /// The largest share; infinite where a result has none.
  [[nodiscard]] double used() const noexcept;
};

/// Replays the op in double precision on its recorded inputs, first rounded to `operands`; an op
/// that does not round, or rounds each result once, is replayed in the recorded precision. A
/// recorded result may be off by what `model` allows. Positions in the result of an op that returns
/// numbers and their positions are left out: equal numbers have no order.
[[nodiscard]] Replayed replayed(Replayer& replayer, const Run& run, std::uint32_t rank,
                                const Event& event, Model model,
                                Operands operands = Operands::recorded);

}  // namespace ulpscope::comparison::budget
