#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// The lanes of both runs, each with the one that did the same in the other run; those of the
/// reference first, in their order. Lanes go by role and number, but trainers by what they did:
/// threads that run side by side are numbered as they happen to come. Of those the partners are
/// first the ones that did the same throughout, then those that did the same to the same values for
/// longest, then those that did so to any values. Where that does not decide, threads that the same
/// calls created go before those of the same number.
[[nodiscard]] std::vector<Both<std::optional<Lane>>> pair_lanes(
    const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
    const Both<std::vector<Lane>>& lanes);

/// A trainer did more often than its partner what another one's partner, or the threads that train
/// nothing, did more often in the other run: they take their work from a common store, whoever
/// comes first.
[[nodiscard]] bool has_moved_work(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                                  const std::vector<Both<std::optional<Lane>>>& pairs,
                                  const Both<std::vector<Lane>>& threads);

}  // namespace ulpscope::comparison
