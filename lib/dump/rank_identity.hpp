#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dump/rank_origin.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::dump {

struct NumberedOrigin {
  std::uint32_t number = 0;
  RankOrigin origin;
};

/// Who the ranks of a dump are, in the order of `ranks`. A process that only inherits its creator's
/// variable is not that rank, and neither is a launcher that a weaker variable declares.
[[nodiscard]] std::vector<RankIdentity> identify(std::span<const NumberedOrigin> ranks);

/// The numbers that they should have, in the order of `ranks`: what they declare; those that
/// declare nothing, or that were a rank again, come after them, in the order of their creation.
/// Empty if one of them is not known.
[[nodiscard]] std::vector<std::uint32_t> numbers_of(std::span<const NumberedOrigin> ranks);

}  // namespace ulpscope::dump
