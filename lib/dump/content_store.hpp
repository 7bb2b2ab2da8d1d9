#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dump/names.hpp"
#include "dump/recent_contents.hpp"
#include "dump/segment_reader.hpp"
#include "dump/segment_tables.hpp"
#include "dump/segment_writer.hpp"
#include "dump/value_shape.hpp"

namespace ulpscope::dump {

/// A dataset of the layer tree of the current segment.
struct LayerDataset {
  std::uint32_t number = 0;  ///< SegmentWriter's
  Digest digest;             ///< of its bytes, which are in row-major order
};

/// The bytes of a rank's values: receives them as they come and moves each to its place in the
/// segment, as a typed dataset if a layer needs it in time, else packed with others.
class ContentStore {
 public:
  /// `buffer_bytes`: how much waits in memory for the events that may need it.
  /// `segments_go`: segments are removed while later ones stay.
  ContentStore(std::filesystem::path rank_directory, const RankNames& names,
               std::uint64_t buffer_bytes, bool segments_go);

  /// Contents go to this segment from here on.
  void begin_segment(SegmentWriter& writer, std::vector<ContentRow>& table);
  /// Brings what waits in memory into the segment, which is number `segment` of the rank.
  void end_segment(std::uint32_t segment);
  /// The file of an earlier segment was removed, and with it what only it had.
  void forget_segment(std::uint32_t segment);

  /// `message` is a whole ContentMessage of a ring. False if it cannot be right.
  [[nodiscard]] bool take(std::uint32_t lane, std::span<const std::byte> message);
  /// Nothing more comes from the lane: the part of an unfinished content is dropped.
  void close_lane(std::uint32_t lane);
  [[nodiscard]] bool is_receiving() const noexcept { return !incoming_.empty(); }
  /// Content bytes of the segment, those that wait included.
  [[nodiscard]] std::uint64_t segment_bytes() const noexcept;
  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return received_bytes_; }

  /// An event of this segment has that content. It is here or in the previous segment, because
  /// contents often come before their event; here, if segments are removed. From elsewhere it is
  /// copied.
  void require(const Digest& digest);

  /// Whether any value's bytes have arrived: without them there are no datasets.
  [[nodiscard]] bool holds_any() const noexcept {
    return any_came_ || !rows_.empty() || !segments_.empty();
  }

  /// The dataset of a value with that geometry (RankNames' id); from bytes that are still in
  /// memory, or from any that the dump holds. Empty if there are none or no dataset can show it.
  [[nodiscard]] std::optional<LayerDataset> recent_dataset(const Digest& digest,
                                                           std::uint32_t geometry);
  [[nodiscard]] std::optional<LayerDataset> dataset(const Digest& digest, std::uint32_t geometry);

 private:
  struct Incoming {
    Digest digest;
    std::uint64_t total = 0;
    std::uint64_t received = 0;
    std::optional<std::uint64_t> recent;  ///< its number there
    std::optional<std::uint64_t> offset;  ///< in the file, where it does not wait in memory
  };
  struct Request {
    Digest digest;
    std::uint32_t geometry;
    friend bool operator==(const Request&, const Request&) = default;
  };
  struct RequestHash {
    std::size_t operator()(const Request& request) const noexcept {
      return DigestHash{}(request.digest) + request.geometry;
    }
  };

  [[nodiscard]] bool is_near(const Digest& digest) const;
  [[nodiscard]] Incoming begin(const Digest& digest, std::uint64_t total);
  void store(std::span<const RecentContents::Content> contents);
  void add_row(const Digest& digest, std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] std::optional<std::vector<std::byte>> stored_bytes(const Digest& digest);
  [[nodiscard]] const std::optional<ValueShape>& shape_of(std::uint32_t geometry);
  [[nodiscard]] std::optional<LayerDataset> make_dataset_in_place(const Request& request);
  [[nodiscard]] std::optional<LayerDataset> make_dataset(const Request& request,
                                                         std::span<const std::byte> packed);

  std::filesystem::path directory_;
  const RankNames& names_;
  bool segments_go_;
  RecentContents recent_;
  SegmentWriter* writer_ = nullptr;
  std::vector<ContentRow>* table_ = nullptr;
  std::map<std::uint32_t, Incoming> incoming_;  ///< by lane
  bool any_came_ = false;
  std::uint64_t promised_bytes_ = 0;  ///< of incomplete contents
  std::uint64_t received_bytes_ = 0;
  std::unordered_map<Digest, std::size_t, DigestHash> rows_;        ///< of this segment
  std::unordered_map<Digest, std::uint32_t, DigestHash> segments_;  ///< where earlier ones are
  std::uint32_t before_ = 0;                                        ///< the one that ended last
  std::shared_ptr<const Segment> earlier_;
  std::unordered_map<std::uint32_t, std::optional<ValueShape>> shapes_;
  std::unordered_map<Request, LayerDataset, RequestHash> datasets_;
  std::map<std::pair<std::string, Digest>, LayerDataset> datasets_by_type_;  ///< dtype and shape
};

}  // namespace ulpscope::dump
