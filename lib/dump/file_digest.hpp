#pragma once

#include <cstdint>

#include "dump/files.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::dump {

/// Feeds bytes of a file to a digest, a piece at a time. Holes of the file are not read, so the
/// time depends on the blocks on disk, not on the file's size.
/// @throws Error as File::read_at().
void digest_of_file(const File& file, std::uint64_t offset, std::uint64_t bytes,
                    DigestStream& stream);

}  // namespace ulpscope::dump
