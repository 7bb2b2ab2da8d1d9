#pragma once

#include "compare/report/checks/check.hpp"

namespace ulpscope::comparison {

/// Whether processes that one rank has created, as workers that load data, use the same numbers one
/// after the other: each has a copy of one generator, or seeds its own as another one does.
[[nodiscard]] Check check_workers(const Run& run);

/// Another rank has created it and it declares no number of its own.
[[nodiscard]] bool is_created(const Run& run, std::uint32_t rank);

}  // namespace ulpscope::comparison
