#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

/// The first 4096 bytes of a segment, which HDF5 leaves to us: they vouch for everything in the
/// file but the contents of values, which have digests of their own. HDF5 itself is not safe on
/// damaged metadata, so this is checked before it sees the file.
namespace ulpscope::dump {

inline constexpr std::uint64_t kUserBlockBytes = 4096;

/// Bytes of the file that the user block's digest leaves out.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Fills the user block of a finished segment. Extents are sorted and do not touch; where there are
/// too many for the block the smallest are digested with the rest.
void seal(const std::filesystem::path& segment, std::vector<Extent> contents);

/// @throws Error: not_a_dump (no user block of ours), version (newer), corrupt (says which file).
void check_seal(const std::filesystem::path& segment);

}  // namespace ulpscope::dump
