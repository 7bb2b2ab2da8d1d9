#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/align/thread_draws.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The lanes of both runs, each with the one that did the same in the other run; those of the
/// reference first, in their order. Lanes go by role and number, but trainers by what they did:
/// threads that run side by side are numbered as they happen to come. Of those the partners are
/// first the ones that did the same throughout, then those that did the same to the same values for
/// longest, then those that did so to any values. Where that does not decide, threads that the same
/// calls created go before those of the same number. Where all do their own work with
/// numbers that they race for, trainers go by number.
[[nodiscard]] std::vector<Both<std::optional<Lane>>> pair_lanes(
    const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
    const Both<std::vector<Lane>>& lanes, DrawRace race);

}  // namespace ulpscope::comparison
