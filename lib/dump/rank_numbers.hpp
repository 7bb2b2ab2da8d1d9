#pragma once

#include <filesystem>
#include <vector>

#include "dump/rank_identity.hpp"

namespace ulpscope::dump {

/// Gives the ranks of a dump that is no longer being written their numbers (numbers_of) by renaming
/// their folders; if it is interrupted, every rank is intact under its old or new number.
/// @returns the numbers that they have now, in the order of `ranks`
std::vector<std::uint32_t> renumber(const std::filesystem::path& directory,
                                    const std::vector<NumberedOrigin>& ranks);

}  // namespace ulpscope::dump
