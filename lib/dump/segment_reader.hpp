#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/files.hpp"
#include "dump/layout.hpp"
#include "dump/row_index.hpp"
#include "dump/segment_attributes.hpp"
#include "dump/segment_tables.hpp"
#include "dump/user_block.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// A published segment in memory: its tables, checked, but not the contents. Immutable, and kept
/// alive by the blocks read from it. Nothing in the file is trusted, and HDF5 never sees it; the
/// memory it takes is in proportion to the size of the file, whatever the file says.
class Segment : public std::enable_shared_from_this<Segment> {
 public:
  /// @throws Error: not_a_dump, version, corrupt (names the file), io.
  [[nodiscard]] static std::shared_ptr<const Segment> open(const std::filesystem::path& path);

  [[nodiscard]] const Tables& tables() const noexcept { return tables_; }
  [[nodiscard]] const SegmentAttributes& attributes() const noexcept { return attributes_; }
  /// The digest that it was sealed with.
  [[nodiscard]] const Digest& seal() const noexcept { return seal_; }
  [[nodiscard]] std::string_view string(std::uint32_t id) const noexcept {
    return text_of(tables_.strings.at(id));
  }

  /// @throws Error with ErrorCode::corrupt.
  [[nodiscard]] Block block(std::size_t index) const;

  /// Empty if the segment has none of that value.
  [[nodiscard]] std::optional<Statistics> statistics(const Digest& digest, Dtype dtype) const;

  /// Empty if the segment does not hold that content. @throws Error with ErrorCode::corrupt.
  [[nodiscard]] std::optional<std::vector<std::byte>> content(const Digest& digest) const;
  /// The same, piece by piece; null if the segment does not hold it.
  [[nodiscard]] std::unique_ptr<ContentReader> open_content(const Digest& digest) const;
  /// Of what content() would read.
  [[nodiscard]] std::optional<std::uint64_t> content_size(const Digest& digest) const;
  /// Of a row of /content/index: a digest may occur there more than once.
  /// @throws Error with ErrorCode::corrupt.
  [[nodiscard]] std::vector<std::byte> content_of(const ContentRow& row) const;
  /// Checks the bytes of a row without holding them. @throws Error with ErrorCode::corrupt if their
  /// digest differs.
  void check_content(const ContentRow& row) const;

  /// The segment's bytes.
  [[nodiscard]] const File& file() const noexcept { return *file_; }
  /// Says that a content is damaged. @throws Error with ErrorCode::corrupt.
  [[noreturn]] void refuse_content(const Digest& digest) const;

  /// The value that a row of /layers shows.
  [[nodiscard]] LayerValue layer_value(const LayerRow& row) const;

 private:
  Segment() = default;
  void read_tables(const File& file, const Directory& directory);
  void check_tables() const;
  void decode_geometries();
  [[nodiscard]] const ContentRow* find_content(const Digest& digest) const;
  [[noreturn]] void refuse(const std::string& what) const;

  std::filesystem::path path_;
  std::uint64_t file_bytes_ = 0;
  std::optional<File> file_;  ///< set as long as the segment lives
  Digest seal_;
  SegmentAttributes attributes_;
  Tables tables_;
  std::vector<Geometry> geometries_;
  RowIndex<Digest> contents_;
  RowIndex<ValueKey> statistics_;
};

}  // namespace ulpscope::dump
