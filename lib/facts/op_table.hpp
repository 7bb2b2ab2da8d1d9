#pragma once

#include <span>

#include "facts/ops.hpp"

namespace ulpscope::facts {

/// All rows, sorted by name.
[[nodiscard]] std::span<const Row> op_table() noexcept;

}  // namespace ulpscope::facts
