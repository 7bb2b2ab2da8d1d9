#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dump/content_file.hpp"
#include "dump/segment_tables.hpp"
#include "dump/user_block.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::dump {

/// What the root attributes of a segment say.
struct SegmentAttributes {
  std::string creator;
  std::string level;
  std::string command;  ///< a JSON list
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
  std::uint32_t segment = 0;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::uint64_t steps = 0;  ///< begun in the run so far
  std::uint64_t events = 0;
  std::uint64_t values = 0;
  bool finished = false;          ///< the recording's last segment
  std::string incomplete_reason;  ///< why the recording ended early; empty if it did not
};

/// Writes one segment: contents while they come, tables at the end. The file stands under
/// `<name>.partial` until it is complete.
class SegmentWriter {
 public:
  explicit SegmentWriter(std::filesystem::path path);
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;
  ~SegmentWriter();

  /// Makes room for `bytes` of content and says where it begins.
  [[nodiscard]] std::uint64_t reserve(std::uint64_t bytes);
  /// Writes into reserved room; every reserved byte is written at most once.
  void write(std::uint64_t at, std::span<const std::byte> bytes);
  /// Bytes reserved so far.
  [[nodiscard]] std::uint64_t content_bytes() const noexcept { return content_bytes_; }

  /// Writes the tables, closes and seals the file; it is still called `<name>.partial`.
  void complete(const Tables& tables, const SegmentAttributes& attributes);
  /// Gives the completed file its name: from here on it is part of the dump.
  void publish();

 private:
  struct Hdf5;
  void open();
  void create_content(std::uint64_t chunk_bytes);
  void allocate(std::uint64_t content_end);
  void place(std::uint64_t at, std::span<const std::byte> bytes);
  void finish_contents();
  [[nodiscard]] std::vector<Extent> content_extents(const Tables& tables) const;

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::unique_ptr<Hdf5> hdf5_;
  std::vector<std::byte> first_;  ///< contents while they would fit into one chunk
  std::optional<ContentFile> content_file_;
  std::vector<std::uint64_t> chunk_offsets_;  ///< in the file
  std::uint64_t content_bytes_ = 0;
  std::uint64_t chunk_bytes_ = 0;
};

/// Digest of all tables in their order: the same whatever the file looks like around them.
[[nodiscard]] Digest root_digest(const Tables& tables);

/// Attribute names, shared with the reader.
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
inline constexpr const char* kFirstStep = "first_step";
inline constexpr const char* kLastStep = "last_step";
inline constexpr const char* kSteps = "steps";
inline constexpr const char* kEvents = "events";
inline constexpr const char* kValues = "values";
inline constexpr const char* kContents = "contents";
inline constexpr const char* kFinished = "finished";
inline constexpr const char* kIncompleteReason = "incomplete_reason";
inline constexpr const char* kRootDigest = "root_digest";
}  // namespace attribute

}  // namespace ulpscope::dump
