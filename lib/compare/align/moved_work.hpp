#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// A trainer did more often than its partner what another one's partner, or the threads that train
/// nothing, did more often in the other run: they take their work from a common store, whoever
/// comes first.
[[nodiscard]] bool has_moved_work(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                                  const std::vector<Both<std::optional<Lane>>>& pairs,
                                  const Both<std::vector<Lane>>& threads);

/// All threads together did the same with the same values, as a set, but the main thread did not:
/// it takes tasks from where others do.
[[nodiscard]] bool has_main_taken_others(const Both<const Run*>& runs,
                                         const Both<std::uint32_t>& ranks);

}  // namespace ulpscope::comparison
