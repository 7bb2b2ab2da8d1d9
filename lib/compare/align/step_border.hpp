#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compare/model/window.hpp"

namespace ulpscope::comparison {

/// What comes between an optimizer's step and the next forward ends the one step or begins the next
/// one, and where it is cut depends on what comes after (lib/dump/step_seam.hpp): a validation pass
/// of one run alone has what comes before it end the step there, as a loader's last draw.
///
/// @param window the step in the run in which it has more
/// @param first of the window's items at its end that have no partner
/// @param begins the next step of the other run
/// @param begins_beside that of the run in which this one has more
/// @return how many events of `begins`, from its first one on, belong to this step: up to the last
/// op of which the other run has an equal at the end of this step, and not at the beginning of the
/// next one
[[nodiscard]] std::size_t events_before_border(const Window& window, std::uint32_t first,
                                               const std::vector<HeldEvent>& begins,
                                               const std::vector<HeldEvent>& begins_beside);

/// The same where an update that one run alone makes has moved the border of all steps after it:
/// what ends the step of the one, with its forward, begins the next step of the other, op by op,
/// and uses the same data. Only the update may be missing there. None if that step has no more than
/// that: whole steps are joined (joined_steps.hpp).
[[nodiscard]] std::size_t events_carried_over(const Window& window, std::uint32_t first,
                                              const std::vector<HeldEvent>& begins,
                                              const std::vector<HeldEvent>& begins_beside);

}  // namespace ulpscope::comparison
