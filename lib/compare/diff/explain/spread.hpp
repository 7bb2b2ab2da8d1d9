#pragma once

#include <cstdint>

#include "compare/diff/explain/op_pair.hpp"

namespace ulpscope::comparison {

/// Enters into the ledger what the pair leaves: memory that differs from now on, and memory that is
/// equal again.
void spread(OpPair& ops);

/// An op that only `side` has: what it writes differs from now on, because of `source`.
void write_alone(RankState& state, const Scene& scene, Side side, std::uint32_t event,
                 const Source& source);
/// The views that such an op takes, and the memory that it hands out, are known to their readers.
void view_alone(RankState& state, const Scene& scene, Side side, std::uint32_t event,
                const Source& source);

}  // namespace ulpscope::comparison
