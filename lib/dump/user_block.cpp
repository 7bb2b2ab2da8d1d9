#include "dump/user_block.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "dump/bytes.hpp"
#include "dump/file_digest.hpp"
#include "dump/files.hpp"
#include "dump/rows.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::array<char, 8> kMagic = {'U', 'L', 'P', 'S', 'C', 'O', 'P', 'E'};
constexpr std::size_t kMostExtents = 229;

struct UserBlock {
  std::array<char, 8> magic = kMagic;
  std::uint32_t format_version = kFormatVersion;
  std::uint32_t extents = 0;
  std::uint64_t file_bytes = 0;
  Digest digest;  ///< of this block with zeros here, then of all bytes outside the extents
  Digest root_digest;
  std::uint64_t reserved = 0;
  std::array<TablePlace, Directory::kTables> table{};
  std::array<Extent, kMostExtents> extent{};
};
static_assert(sizeof(UserBlock) == kUserBlockBytes);

[[noreturn]] void refuse(const std::filesystem::path& segment, std::string_view what) {
  throw Error(
      ErrorCode::corrupt,
      "The segment '" + segment.string() + "' is damaged: " + std::string(what) + ".",
      "Run `ulpscope verify` on the dump to see what else is damaged; record again, or take "
      "the segment from a copy.");
}

Digest digest_outside(const File& file, UserBlock block) {
  block.digest = {};
  DigestStream stream;
  stream.update(bytes_of(block));
  std::uint64_t at = kUserBlockBytes;
  for (const Extent& extent : std::span(block.extent).first(block.extents)) {
    digest_of_file(file, at, extent.offset - at, stream);
    at = extent.offset + extent.bytes;
  }
  digest_of_file(file, at, block.file_bytes - at, stream);
  return stream.finish();
}

}  // namespace

Digest seal(const std::filesystem::path& segment, const Directory& directory,
            std::vector<Extent> contents) {
  if (contents.size() > kMostExtents) {
    const auto rest = contents.begin() + kMostExtents;
    std::nth_element(contents.begin(), rest, contents.end(),
                     [](const Extent& a, const Extent& b) { return a.bytes > b.bytes; });
    contents.erase(rest, contents.end());
    std::sort(contents.begin(), contents.end(),
              [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  }
  auto file = File::open_for_update(segment);
  UserBlock block;
  block.root_digest = directory.root_digest;
  block.table = directory.tables;
  block.file_bytes = file.size();
  block.extents = static_cast<std::uint32_t>(contents.size());
  std::copy_n(contents.begin(), block.extents, block.extent.begin());
  block.digest = digest_outside(file, block);
  file.write_at(0, bytes_of(block));
  file.close();
  return block.digest;
}

Seal check_seal(const File& file) {
  const std::filesystem::path& segment = file.path();
  const std::uint64_t size = file.size();
  UserBlock block;
  if (size < sizeof block) refuse(segment, "it is too short");
  file.read_at(0, std::as_writable_bytes(std::span(&block, 1)));
  if (block.magic != kMagic) {
    throw Error(ErrorCode::not_a_dump, "'" + segment.string() + "' is not a segment of a dump.");
  }
  if (block.format_version > kFormatVersion) {
    throw Error(ErrorCode::version,
                "'" + segment.string() + "' was written in format " +
                    std::to_string(block.format_version) + "; this ulpscope reads up to format " +
                    std::to_string(kFormatVersion) + ".",
                "Read it with the ulpscope that recorded it, or a newer one.");
  }
  if (block.format_version < kFormatVersion) {
    throw Error(ErrorCode::version,
                "'" + segment.string() + "' was written in format " +
                    std::to_string(block.format_version) + ", which was never released.",
                "Record the run again.");
  }
  if (block.file_bytes != size) refuse(segment, "its size is not the one it was published with");
  if (block.extents > kMostExtents) refuse(segment, "its list of contents is too long");
  std::uint64_t end = kUserBlockBytes;
  for (const Extent& extent : std::span(block.extent).first(block.extents)) {
    if (extent.offset < end || extent.offset > size || extent.bytes > size - extent.offset) {
      refuse(segment, "its list of contents does not fit the file");
    }
    end = extent.offset + extent.bytes;
  }
  if (digest_outside(file, block) != block.digest) {
    refuse(segment, "its metadata do not have the digest they were published with");
  }
  return {{block.table, block.root_digest}, block.digest};
}

}  // namespace ulpscope::dump
