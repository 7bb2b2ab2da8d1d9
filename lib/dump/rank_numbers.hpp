#pragma once

#include <filesystem>
#include <vector>

#include "dump/rank_identity.hpp"

namespace ulpscope::dump {

/// Gives the ranks of a dump that nobody writes any more their numbers (numbers_of) by renaming
/// their folders; whatever ends it leaves every rank whole, under one number or the other.
/// @returns the numbers that they have now, in the order of `ranks`
std::vector<std::uint32_t> renumber(const std::filesystem::path& directory,
                                    const std::vector<NumberedOrigin>& ranks);

}  // namespace ulpscope::dump
