#include "dump/content_store.hpp"

#include <utility>

#include "dump/layout.hpp"
#include "ring/message.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

// Total space that may be reserved for incomplete contents. It is reserved in the file while they
// arrive, which uses no disk blocks; what does not arrive is released.
constexpr std::uint64_t kMostPromised = 1ULL << 40;

std::string type_key(const ValueShape& shape) {
  ByteWriter key;
  key.put(shape.dtype);
  for (const std::int64_t size : shape.sizes) key.put(size);
  return std::string(text_of(key.bytes()));
}

}  // namespace

ContentStore::ContentStore(std::filesystem::path rank_directory, const RankNames& names,
                           std::uint64_t buffer_bytes, bool segments_go)
    : directory_(std::move(rank_directory)),
      names_(names),
      segments_go_(segments_go),
      recent_(buffer_bytes, buffer_bytes / 8,
              [this](std::span<const RecentContents::Content> contents) { store(contents); }) {}

void ContentStore::begin_segment(SegmentWriter& writer, std::vector<ContentRow>& table) {
  writer_ = &writer;
  table_ = &table;
  rows_.clear();
  datasets_.clear();
  datasets_by_type_.clear();
}

void ContentStore::end_segment(std::uint32_t segment) {
  while (!incoming_.empty()) close_lane(incoming_.begin()->first);
  recent_.clear();
  writer_->close_gaps(*table_);
  for (const auto& [digest, row] : rows_) segments_[digest] = segment;
  before_ = segment;
  earlier_.reset();
}

void ContentStore::forget_segment(std::uint32_t segment) {
  std::erase_if(segments_, [segment](const auto& entry) { return entry.second == segment; });
}

std::uint64_t ContentStore::segment_bytes() const noexcept {
  return writer_->content_bytes() + recent_.waiting_bytes();
}

bool ContentStore::take(std::uint32_t lane, std::span<const std::byte> message) {
  ByteReader reader(message);
  const auto head = reader.get<ring::ContentMessage>();
  const auto bytes = reader.get_bytes(head.length);
  if (!reader.ok()) return false;
  const Digest digest{head.digest[0], head.digest[1]};
  auto found = incoming_.find(lane);
  if (found == incoming_.end()) {
    if (head.offset != 0 || head.total > kMostPromised - promised_bytes_) return false;
    found = incoming_.emplace(lane, begin(digest, head.total)).first;
    promised_bytes_ += head.total;
  }
  Incoming& content = found->second;
  if (content.digest != digest || content.total != head.total || content.received != head.offset ||
      bytes.size() > content.total - content.received) {
    return false;
  }
  if (content.recent) recent_.fill(*content.recent, content.received, bytes);
  if (content.offset) writer_->write(*content.offset + content.received, bytes);
  content.received += bytes.size();
  received_bytes_ += bytes.size();
  if (content.received < content.total) return true;
  if (content.recent) recent_.complete(*content.recent);
  if (content.offset) add_row(digest, *content.offset, content.total);
  promised_bytes_ -= content.total;
  incoming_.erase(found);
  return true;
}

ContentStore::Incoming ContentStore::begin(const Digest& digest, std::uint64_t total) {
  any_came_ = true;
  Incoming content{digest, total, 0, std::nullopt, std::nullopt};
  if (rows_.contains(digest) || recent_.find(digest)) return content;
  content.recent = recent_.reserve(digest, total);
  if (!content.recent) content.offset = writer_->reserve_alone(total);
  return content;
}

void ContentStore::close_lane(std::uint32_t lane) {
  const auto found = incoming_.find(lane);
  if (found == incoming_.end()) return;
  if (found->second.recent) recent_.abandon(*found->second.recent);
  if (found->second.offset) writer_->drop_alone(*found->second.offset);
  promised_bytes_ -= found->second.total;
  incoming_.erase(found);
}

/// Contents that are adjacent in memory are written in one piece.
void ContentStore::store(std::span<const RecentContents::Content> contents) {
  std::uint64_t total = 0;
  for (const auto& content : contents) total += content.bytes.size();
  std::uint64_t offset = writer_->reserve(total);
  std::span<const std::byte> piece;
  std::uint64_t piece_offset = offset;
  for (const auto& [digest, bytes] : contents) {
    if (piece.data() + piece.size() != bytes.data()) {
      writer_->write(piece_offset, piece);
      piece = bytes.first(0);
      piece_offset = offset;
    }
    piece = {piece.data(), piece.size() + bytes.size()};
    add_row(digest, offset, bytes.size());
    offset += bytes.size();
  }
  writer_->write(piece_offset, piece);
}

void ContentStore::add_row(const Digest& digest, std::uint64_t offset, std::uint64_t bytes) {
  rows_.emplace(digest, table_->size());
  table_->push_back({digest, offset, bytes});
}

/// Bytes that are in this segment's file or in that of an earlier one.
std::optional<std::vector<std::byte>> ContentStore::stored_bytes(const Digest& digest) {
  if (const auto row = rows_.find(digest); row != rows_.end()) {
    std::vector<std::byte> bytes((*table_)[row->second].bytes);
    writer_->read((*table_)[row->second].offset, bytes);
    return bytes;
  }
  const auto earlier = segments_.find(digest);
  if (earlier == segments_.end()) return std::nullopt;
  try {
    if (!earlier_ || earlier_->attributes().segment != earlier->second) {
      earlier_ = Segment::open(segment_path(directory_, earlier->second));
    }
    return earlier_->content(digest);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt) throw;
    return std::nullopt;  // the program gave other bytes than it said
  }
}

bool ContentStore::is_near(const Digest& digest) const {
  if (rows_.contains(digest) || recent_.find(digest)) return true;
  const auto earlier = segments_.find(digest);
  return !segments_go_ && earlier != segments_.end() && earlier->second == before_;
}

void ContentStore::require(const Digest& digest) {
  if (is_near(digest)) return;
  const auto bytes = stored_bytes(digest);
  if (!bytes) return;
  const std::uint64_t offset = writer_->reserve(bytes->size());
  writer_->write(offset, *bytes);
  add_row(digest, offset, bytes->size());
}

const std::optional<ValueShape>& ContentStore::shape_of(std::uint32_t geometry) {
  const auto [item, added] = shapes_.try_emplace(geometry);
  if (added && geometry != 0) {
    item->second = value_shape(geometry_of(names_.geometries.at(geometry)));
  }
  return item->second;
}

std::optional<LayerDataset> ContentStore::recent_dataset(const Digest& digest,
                                                         std::uint32_t geometry) {
  const Request request{digest, geometry};
  if (const auto known = datasets_.find(request); known != datasets_.end()) return known->second;
  if (const auto bytes = recent_.find(digest)) return make_dataset(request, *bytes);
  return make_dataset_in_place(request);
}

/// Of a content that was too large to wait in memory.
std::optional<LayerDataset> ContentStore::make_dataset_in_place(const Request& request) {
  const auto row = rows_.find(request.digest);
  const auto& shape = shape_of(request.geometry);
  if (row == rows_.end() || !shape || !shape->row_major) return std::nullopt;
  const auto key = std::pair(type_key(*shape), request.digest);
  if (const auto known = datasets_by_type_.find(key); known != datasets_by_type_.end()) {
    return datasets_.emplace(request, known->second).first->second;
  }
  ContentRow& content = (*table_)[row->second];
  if (content.bytes != shape->bytes) return std::nullopt;
  const auto made = writer_->make_value(content.offset, shape->dtype, shape->sizes, request.digest);
  if (!made) return std::nullopt;
  content.offset = made->offset;
  const LayerDataset dataset{made->number, request.digest};
  datasets_by_type_.emplace(key, dataset);
  datasets_.emplace(request, dataset);
  return dataset;
}

std::optional<LayerDataset> ContentStore::dataset(const Digest& digest, std::uint32_t geometry) {
  if (auto found = recent_dataset(digest, geometry)) return found;
  if (!shape_of(geometry)) return std::nullopt;
  const auto bytes = stored_bytes(digest);
  return bytes ? make_dataset({digest, geometry}, *bytes) : std::nullopt;
}

std::optional<LayerDataset> ContentStore::make_dataset(const Request& request,
                                                       std::span<const std::byte> packed) {
  const auto& shape = shape_of(request.geometry);
  if (!shape || shape->packed_bytes != packed.size()) return std::nullopt;
  std::vector<std::byte> reordered;
  Digest digest = request.digest;
  if (!shape->row_major) {
    reordered = in_row_major_order(*shape, packed);
    digest = ulpscope::digest(reordered);
    packed = reordered;
  }
  const auto [item, added] = datasets_by_type_.try_emplace({type_key(*shape), digest});
  if (added) {
    const auto created = writer_->create_value(shape->dtype, shape->sizes, digest);
    if (!created) {
      datasets_by_type_.erase(item);
      return std::nullopt;
    }
    writer_->write(created->offset, packed);
    add_row(digest, created->offset, packed.size());
    recent_.mark_stored(digest);
    item->second = {created->number, digest};
  }
  datasets_.emplace(request, item->second);
  return item->second;
}

}  // namespace ulpscope::dump
