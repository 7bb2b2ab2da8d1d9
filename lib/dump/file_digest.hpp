#pragma once

#include <cstdint>

#include "dump/files.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::dump {

/// Feeds bytes of a file to a digest, a piece at a time. What a file has not on the disk, its
/// holes, is not read either, so the time goes with what is there and not with what the file says.
/// @throws Error as File::read_at().
void digest_of_file(const File& file, std::uint64_t offset, std::uint64_t bytes,
                    DigestStream& stream);

}  // namespace ulpscope::dump
