#pragma once

#include <functional>
#include <optional>

#include "compare/diff/outcomes/outcome.hpp"
#include "compare/diff/rank_state.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Outcomes of both runs that are partners.
using OutcomePair = Both<Outcome>;

/// The finding that explains what the memory of an outcome holds.
[[nodiscard]] std::optional<Source> reason_of(RankState& state, Side side, const Outcome& outcome);

/// A finding has changed an outcome, so that it diverges. One that was not kept leaves it unknown.
void blame(RankState& state, const Source& source, const std::function<void(Record&)>& tell = {});

/// Enters a finding of its own where the runs leave something else: between two slots, or at two
/// places.
void enter_outcomes(
    RankState& state, FindingKind kind, const OutcomePair& outcomes,
    const std::function<void(Finding&)>& describe = [](Finding&) {});

}  // namespace ulpscope::comparison
