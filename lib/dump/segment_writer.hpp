#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dump/content_file.hpp"
#include "dump/segment_attributes.hpp"
#include "dump/segment_tables.hpp"
#include "dump/user_block.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/dtype.hpp"

namespace ulpscope::dump {

/// Writes one segment: contents as they come, tables at the end. The file is `<name>.partial` until
/// it is complete.
class SegmentWriter {
 public:
  explicit SegmentWriter(std::filesystem::path path);
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;
  ~SegmentWriter();

  /// Room for `bytes` of contents, packed: its offset in the file.
  [[nodiscard]] std::uint64_t reserve(std::uint64_t bytes);

  /// The same for one content, which may become a value later.
  [[nodiscard]] std::uint64_t reserve_alone(std::uint64_t bytes);

  /// Releases the space of a content that is a separate dataset there and will not become complete.
  void drop_alone(std::uint64_t offset);

  /// Moves everything written to a new file if too much space was released before other contents:
  /// HDF5 would leave it empty. `contents` are the segment's, all complete.
  void close_gaps(std::span<ContentRow> contents);

  struct Value {
    std::uint32_t number;
    std::uint64_t offset;  ///< in the file
  };
  /// Room for the elements of one value in row-major order, as a dataset that shows them. Empty
  /// if HDF5 has no type for the dtype.
  [[nodiscard]] std::optional<Value> create_value(Dtype dtype, std::span<const std::int64_t> sizes,
                                                  const Digest& digest);

  /// Makes a value from the separate content at that offset: its bytes, written before, are
  /// elements in row-major order. Empty if there is no separate content, or as above.
  [[nodiscard]] std::optional<Value> make_value(std::uint64_t offset, Dtype dtype,
                                                std::span<const std::int64_t> sizes,
                                                const Digest& digest);

  /// Writes into reserved space; every reserved byte is written at most once.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Reads what was written.
  void read(std::uint64_t offset, std::span<std::byte> bytes);
  /// Bytes reserved so far.
  [[nodiscard]] std::uint64_t content_bytes() const noexcept { return content_bytes_; }
  /// Values created so far.
  [[nodiscard]] std::uint32_t values() const noexcept;

  /// A name of a value in the layer tree, relative to the root.
  struct Link {
    std::string path;
    std::uint32_t number;
  };
  /// Writes the tables, closes and seals the file; it is still called `<name>.partial`.
  /// @returns the seal's digest
  Digest complete(const Tables& tables, std::span<const Link> links,
                  const SegmentAttributes& attributes);
  /// Gives the completed file its name: from here on it is part of the dump.
  void publish();

 private:
  struct Hdf5;
  void open();
  void link_values(std::span<const Link> links);
  [[nodiscard]] std::string next_block_path();

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::unique_ptr<Hdf5> hdf5_;
  std::optional<ContentFile> content_file_;
  std::uint32_t blocks_ = 0;  ///< of packed contents
  std::uint64_t content_bytes_ = 0;
};

/// Names of attributes.
namespace attribute {
inline constexpr const char* kFormat = "format";
inline constexpr const char* kFormatName = "ulpscope-dump";
inline constexpr const char* kFormatVersion = "format_version";
inline constexpr const char* kDescription = "description";
inline constexpr const char* kCreator = "creator";
inline constexpr const char* kCreated = "created_utc";
inline constexpr const char* kLevel = "level";
inline constexpr const char* kCommand = "command";
inline constexpr const char* kRank = "rank";
inline constexpr const char* kPid = "pid";
inline constexpr const char* kSegment = "segment";
inline constexpr const char* kRun = "run";
inline constexpr const char* kPrevious = "previous_segment";
inline constexpr const char* kFirstStep = "first_step";
inline constexpr const char* kLastStep = "last_step";
inline constexpr const char* kSteps = "steps";
inline constexpr const char* kEvents = "events";
inline constexpr const char* kValues = "values";
inline constexpr const char* kContents = "contents";
inline constexpr const char* kOldestSegment = "oldest_segment";
inline constexpr const char* kFirstKeptStep = "first_kept_step";
inline constexpr const char* kFinished = "finished";
inline constexpr const char* kIncompleteReason = "incomplete_reason";
inline constexpr const char* kRootDigest = "root_digest";
inline constexpr const char* kDtype = "dtype";
inline constexpr const char* kDigest = "digest";
}  // namespace attribute

}  // namespace ulpscope::dump
