#pragma once

#include <cstdint>
#include <optional>

#include "compare/model/side.hpp"
#include "compare/model/split_lane.hpp"

namespace ulpscope::comparison {

/// What the main threads of two runs do of work that they share with other threads, whoever comes
/// first: of each run's main lane the events that the other run's threads have and its main thread
/// does not, as a second lane of the role `main`. By content, with what differs after them as far
/// as those threads do something of that kind; backward and optimizers aside. Empty: nothing.
///
/// Reads all events of the ranks' threads, and of their main threads if the others differ.
[[nodiscard]] Both<std::optional<LanePart>> shares_of_main(const Both<const Run*>& runs,
                                                           const Both<std::uint32_t>& ranks);

}  // namespace ulpscope::comparison
