#pragma once

#include <cstdint>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The last steps without a partner where the candidate's step 0 + `offset` is the partner of the
/// reference's step 0: setup, and in one run the steps before.
[[nodiscard]] inline Both<std::int64_t> last_before_shifted(std::int64_t offset) noexcept {
  return {offset < 0 ? -offset - 1 : kSetup, offset > 0 ? offset - 1 : kSetup};
}

}  // namespace ulpscope::comparison
