#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "dump/files.hpp"
#include "ulpscope/digest.hpp"

/// The first 4096 bytes of a segment, which HDF5 leaves to the user. They locate the tables, so
/// that reading a dump needs no HDF5, which is not safe with untrusted files; and they hold a
/// digest of everything in the file but the contents of values, which have their own.
namespace ulpscope::dump {

inline constexpr std::uint64_t kUserBlockBytes = 4096;

/// Bytes of the file that the user block's digest leaves out.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Where the rows of a table are in the file.
struct TablePlace {
  std::uint64_t offset = 0;  ///< 0 if it has no rows
  std::uint64_t rows = 0;
};

/// The tables in the order of FORMAT.md, and the digest of their rows.
struct Directory {
  static constexpr std::size_t kTables = 23;
  std::array<TablePlace, kTables> tables{};
  Digest root_digest;
};

/// Fills the user block of a finished segment. Extents are sorted and do not touch; where there are
/// too many for the block the smallest are digested with the rest.
/// @returns the digest that it was sealed with.
Digest seal(const std::filesystem::path& segment, const Directory& directory,
            std::vector<Extent> contents);

/// An unmodified user block.
struct Seal {
  Directory directory;
  Digest digest;  ///< of all that the extents leave: no other segment has it
};

/// Its content: the places of tables are not checked, only that they are unmodified.
///
/// @throws Error: not_a_dump (no user block of ours), version (newer), corrupt (says which file).
[[nodiscard]] Seal check_seal(const File& segment);

}  // namespace ulpscope::dump
