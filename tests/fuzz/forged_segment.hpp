#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

#include "dump/files.hpp"
#include "dump/layout.hpp"
#include "dump/recording.hpp"
#include "dump/schema.hpp"
#include "dump/segment_attributes.hpp"
#include "dump/segment_tables.hpp"
#include "dump/user_block.hpp"
#include "tests/support/dump_builder.hpp"

/// Segments forged by someone who knows the format: any tables, every digest correct.
namespace ulpscope::test {

/// What a reader uses of a segment: contents, then tables, then attributes.
struct SegmentParts {
  std::vector<std::byte> contents;  ///< begin in the file after the user block
  dump::Tables tables;
  std::vector<std::byte> attributes;
};

/// Lengths and rows in sequence, so that a fuzzer's changes stay inside one table.
inline std::vector<std::byte> flattened(const SegmentParts& parts) {
  dump::ByteWriter out;
  const auto put = [&out](std::uint64_t rows, std::span<const std::byte> bytes) {
    out.put(static_cast<std::uint32_t>(rows));
    out.put_bytes(bytes);
  };
  put(parts.contents.size(), parts.contents);
  dump::for_each_table(parts.tables, [&](const dump::TableSchema&, const auto& rows) {
    put(rows.size(), std::as_bytes(std::span(rows)));
  });
  put(parts.attributes.size(), parts.attributes);
  return {out.bytes().begin(), out.bytes().end()};
}

/// The inverse for any bytes: a table that is longer than the remaining bytes has the remaining
/// rows.
inline SegmentParts parts_of(std::span<const std::byte> flat) {
  dump::ByteReader in(flat);
  const auto take = [&in](auto& rows) {
    using Row = typename std::remove_reference_t<decltype(rows)>::value_type;
    const std::size_t wanted = in.left() < 4 ? 0 : in.get<std::uint32_t>();
    rows.resize(std::min(wanted, in.left() / sizeof(Row)));
    const auto bytes = in.get_bytes(rows.size() * sizeof(Row));
    if (!bytes.empty()) std::memcpy(rows.data(), bytes.data(), bytes.size());
  };
  SegmentParts parts;
  take(parts.contents);
  dump::for_each_table(parts.tables, [&](const dump::TableSchema&, auto& rows) { take(rows); });
  take(parts.attributes);
  return parts;
}

/// Writes the parts as a sealed file. It is not an HDF5 file: readers of a dump must not notice.
/// @returns its seal
inline Digest write_segment(const std::filesystem::path& path, const SegmentParts& parts) {
  std::vector<std::byte> file(dump::kUserBlockBytes);
  dump::Directory directory;
  std::size_t next = 0;
  const auto append = [&file](std::span<const std::byte> bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
  };
  append(parts.contents);
  dump::for_each_table(parts.tables, [&](const dump::TableSchema&, const auto& rows) {
    directory.tables.at(next++) = {file.size(), rows.size()};
    append(std::as_bytes(std::span(rows)));
  });
  directory.tables.at(next) = {file.size(), parts.attributes.size()};
  append(parts.attributes);
  directory.root_digest = dump::root_digest(parts.tables);
  dump::File::create(path).append(file);
  return dump::seal(path, directory, {});
}

/// Writes a dump of that one segment, whose status.json says that it is complete.
inline void write_forged(const std::filesystem::path& directory, const SegmentParts& parts) {
  dump::Status status;
  if (const auto says = dump::decode_attributes(parts.attributes)) status.run = says->run;
  status.command = {"./train"};
  status.level = "full";
  status.recorded = true;
  status.complete = true;
  status.ranks = {0};
  for (const dump::BlockRow& block : parts.tables.blocks) {
    status.counts.events += block.events;
    status.counts.values += block.values;
  }
  const auto rank = dump::rank_path(directory, 0);
  std::filesystem::create_directories(rank);
  status.last_segments = {{0, 0, write_segment(dump::segment_path(rank, 0), parts)}};
  dump::write_status(directory, status);
}

/// A place for a dump of one segment that can be written again and again.
class ForgedDump {
 public:
  ForgedDump() { std::filesystem::create_directories(segment().parent_path()); }
  void write(const SegmentParts& parts) const { write_forged(path(), parts); }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return dir_.path(); }
  [[nodiscard]] std::filesystem::path segment() const {
    return dump::segment_path(dump::rank_path(dir_.path(), 0), 0);
  }

 private:
  TempDir dir_;
};

}  // namespace ulpscope::test
