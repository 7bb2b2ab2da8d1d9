#pragma once

#include <cstdint>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Threads that draw from one generator race for its numbers: each gets those that are next when it
/// comes.
enum class DrawRace : std::uint8_t {
  none,       ///< known to make a difference
  any_work,   ///< threads drew in another order: which of them got which numbers differs
  fixed_work  ///< they did, each doing what it does in the other run, with other values
};

/// Of the threads that a program has created itself, a loader's in Python aside. They drew in
/// another order if one drew numbers that a different one drew in the other run, from a generator
/// whose state a draw elsewhere had led to that it does not wait for (DataOrder). Role and order of
/// creation identify a thread, so threads of unknown creators are left out, as are draws beyond the
/// first million.
[[nodiscard]] DrawRace race_for_draws(const Both<const Run*>& runs,
                                      const Both<std::uint32_t>& ranks);

}  // namespace ulpscope::comparison
