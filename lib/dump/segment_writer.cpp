#include "dump/segment_writer.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <map>
#include <system_error>

#include "dump/bytes.hpp"
#include "dump/files.hpp"
#include "dump/h5.hpp"
#include "dump/h5_value_types.hpp"
#include "dump/schema.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

// Metadata and small values are allocated in pieces of these sizes, so that contents are together
// in few extents.
constexpr hsize_t kMetadataBytes = 64 << 10;
constexpr hsize_t kSmallDataBytes = 256 << 10;
constexpr std::uint64_t kCopiedBytes = 1 << 20;  // at once

// Maximum unused space in a file.
constexpr hssize_t kLargestGaps = 64 << 20;

constexpr const char* kFileDescription =
    "One part of a recording by ulpscope, complete in itself. /steps and /setup hold what layers "
    "computed, where bytes were recorded; /blocks lists every event, step by step; "
    "lib/dump/FORMAT.md of ulpscope describes every table.";

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const auto size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, size};
}

h5::File create_file(const std::filesystem::path& path) {
  remove_file(path);
  const h5::Properties creation(h5::checked("create a file", H5Pcreate(H5P_FILE_CREATE)));
  h5::checked("reserve the user block", H5Pset_userblock(creation.get(), kUserBlockBytes));
  const h5::Properties access(h5::checked("create a file", H5Pcreate(H5P_FILE_ACCESS)));
  h5::checked("choose the file format",
              H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110));
  h5::checked("gather metadata", H5Pset_meta_block_size(access.get(), kMetadataBytes));
  h5::checked("gather small values", H5Pset_small_data_block_size(access.get(), kSmallDataBytes));
  return h5::File(h5::checked("create '" + path.string() + "'",
                              H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get())));
}

/// Where the rows of the index say that contents are; neighbors are one extent.
std::vector<Extent> content_extents(std::vector<ContentRow> contents) {
  std::sort(contents.begin(), contents.end(),
            [](const ContentRow& a, const ContentRow& b) { return a.offset < b.offset; });
  std::vector<Extent> extents;
  for (const ContentRow& content : contents) {
    if (content.bytes == 0) continue;
    if (!extents.empty() && extents.back().offset + extents.back().bytes == content.offset) {
      extents.back().bytes += content.bytes;
    } else {
      extents.push_back({content.offset, content.bytes});
    }
  }
  return extents;
}

}  // namespace

struct SegmentWriter::Hdf5 {
  struct Alone {
    h5::Dataset dataset;
    std::uint64_t bytes;
  };
  h5::File file;
  /// Space is allocated with the dataset, so contents are written without passing through HDF5.
  h5::Properties allocated_early;
  h5::Properties with_parents;
  h5::ValueTypes types;
  struct TypedValue {
    h5::Dataset dataset;
    Dtype dtype;
    std::vector<std::int64_t> sizes;
    Digest digest;
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  std::vector<TypedValue> values;
  std::map<std::uint64_t, Alone> alone;  ///< by offset
};

SegmentWriter::SegmentWriter(std::filesystem::path path)
    : path_(std::move(path)), partial_(path_.string() + ".partial") {}

SegmentWriter::~SegmentWriter() = default;

void SegmentWriter::open() {
  if (hdf5_) return;
  hdf5_ = std::make_unique<Hdf5>();
  hdf5_->file = create_file(partial_);
  for (const char* group : schema::kGroups) {
    h5::Group(h5::checked("create a group", H5Gcreate2(hdf5_->file.get(), group, H5P_DEFAULT,
                                                       H5P_DEFAULT, H5P_DEFAULT)));
  }
  auto& early = hdf5_->allocated_early;
  early = h5::Properties(h5::checked("create the contents", H5Pcreate(H5P_DATASET_CREATE)));
  h5::checked("create the contents", H5Pset_fill_time(early.get(), H5D_FILL_TIME_NEVER));
  h5::checked("create the contents", H5Pset_alloc_time(early.get(), H5D_ALLOC_TIME_EARLY));
  auto& parents = hdf5_->with_parents;
  parents = h5::Properties(h5::checked("create a link", H5Pcreate(H5P_LINK_CREATE)));
  h5::checked("create a link", H5Pset_create_intermediate_group(parents.get(), 1));
  content_file_.emplace(dump::File::open_for_update(partial_));
}

std::string SegmentWriter::next_block_path() {
  return schema::kContentBytes + std::string("/") + std::to_string(blocks_++);
}

std::uint64_t SegmentWriter::reserve(std::uint64_t bytes) {
  if (bytes == 0) return 0;
  const h5::Quiet quiet;
  open();
  const hsize_t size = bytes;
  const h5::Space space = h5::space_of({&size, 1});
  const h5::Dataset block(
      h5::checked("create the contents",
                  H5Dcreate2(hdf5_->file.get(), next_block_path().c_str(), H5T_STD_U8LE,
                             space.get(), H5P_DEFAULT, hdf5_->allocated_early.get(), H5P_DEFAULT)));
  content_bytes_ += bytes;
  return h5::offset_of(block);
}

std::uint64_t SegmentWriter::reserve_alone(std::uint64_t bytes) {
  if (bytes == 0) return 0;
  const h5::Quiet quiet;
  open();
  const hsize_t size = bytes;
  const h5::Space space = h5::space_of({&size, 1});
  h5::Dataset dataset(h5::checked("create the contents",
                                  H5Dcreate_anon(hdf5_->file.get(), H5T_STD_U8LE, space.get(),
                                                 hdf5_->allocated_early.get(), H5P_DEFAULT)));
  content_bytes_ += bytes;
  const std::uint64_t offset = h5::offset_of(dataset);
  hdf5_->alone.emplace(offset, Hdf5::Alone{std::move(dataset), bytes});
  return offset;
}

void SegmentWriter::drop_alone(std::uint64_t offset) {
  if (!hdf5_) return;  // no byte was requested
  const h5::Quiet quiet;
  const auto alone = hdf5_->alone.find(offset);
  if (alone == hdf5_->alone.end()) return;
  content_file_->flush();  // before the space is reused
  content_bytes_ -= alone->second.bytes;
  hdf5_->alone.erase(alone);
}

void SegmentWriter::close_gaps(std::span<ContentRow> contents) {
  const h5::Quiet quiet;
  if (!hdf5_ || H5Fget_freespace(hdf5_->file.get()) <= kLargestGaps) return;
  SegmentWriter compact(partial_);
  std::map<std::uint64_t, Extent> moves;  // by the offset before; where to, and how much
  for (const Hdf5::TypedValue& value : hdf5_->values) {
    const auto made = compact.create_value(value.dtype, value.sizes, value.digest);
    if (value.bytes > 0) moves[value.offset] = {made->offset, value.bytes};
  }
  std::vector<ContentRow> packed;
  std::copy_if(contents.begin(), contents.end(), std::back_inserter(packed),
               [&](const ContentRow& row) { return !moves.contains(row.offset); });
  for (const Extent& extent : content_extents(std::move(packed))) {
    moves[extent.offset] = {compact.reserve(extent.bytes), extent.bytes};
  }
  std::vector<std::byte> piece;
  for (const auto& [from, to] : moves) {
    for (std::uint64_t done = 0; done < to.bytes; done += piece.size()) {
      piece.resize(std::min(to.bytes - done, kCopiedBytes));
      read(from + done, piece);
      compact.write(to.offset + done, piece);
    }
  }
  for (ContentRow& row : contents) {
    if (row.bytes == 0) continue;
    const auto& [from, to] = *std::prev(moves.upper_bound(row.offset));
    row.offset += to.offset - from;
  }
  hdf5_.swap(compact.hdf5_);
  content_file_.swap(compact.content_file_);
  blocks_ = compact.blocks_;
  content_bytes_ = compact.content_bytes_;
  rename_file(compact.partial_, partial_);
}

/// HDF5 cannot change the type of a dataset. It gives the space of a dropped one to the next of the
/// same size, so the bytes stay where they are; should it ever choose a different place, they are
/// copied.
std::optional<SegmentWriter::Value> SegmentWriter::make_value(std::uint64_t offset, Dtype dtype,
                                                              std::span<const std::int64_t> sizes,
                                                              const Digest& digest) {
  const h5::Quiet quiet;
  if (!hdf5_ || hdf5_->types.find(dtype) < 0) return std::nullopt;
  const auto alone = hdf5_->alone.find(offset);
  if (alone == hdf5_->alone.end()) return std::nullopt;
  const std::uint64_t bytes = alone->second.bytes;
  hdf5_->alone.erase(alone);
  content_bytes_ -= bytes;
  const auto value = create_value(dtype, sizes, digest);
  if (value && value->offset != offset) {
    std::vector<std::byte> copy(bytes);
    read(offset, copy);
    write(value->offset, copy);
  }
  return value;
}

std::optional<SegmentWriter::Value> SegmentWriter::create_value(Dtype dtype,
                                                                std::span<const std::int64_t> sizes,
                                                                const Digest& digest) {
  const h5::Quiet quiet;
  open();
  const hid_t type = hdf5_->types.find(dtype);
  if (type < 0) return std::nullopt;
  const std::vector<hsize_t> shape(sizes.begin(), sizes.end());
  const h5::Space space = h5::space_of(shape);
  h5::Dataset dataset(
      h5::checked("create a value", H5Dcreate_anon(hdf5_->file.get(), type, space.get(),
                                                   hdf5_->allocated_early.get(), H5P_DEFAULT)));
  h5::write_attribute(dataset.get(), attribute::kDtype, name(dtype));
  h5::write_attribute(dataset.get(), attribute::kDigest, to_string(digest));
  std::uint64_t bytes = element_size(dtype);
  for (const hsize_t size : shape) bytes *= size;
  content_bytes_ += bytes;
  const std::uint64_t offset = bytes == 0 ? 0 : h5::offset_of(dataset);
  hdf5_->values.push_back(
      {std::move(dataset), dtype, {sizes.begin(), sizes.end()}, digest, offset, bytes});
  return Value{static_cast<std::uint32_t>(hdf5_->values.size() - 1), offset};
}

std::uint32_t SegmentWriter::values() const noexcept {
  return hdf5_ ? static_cast<std::uint32_t>(hdf5_->values.size()) : 0;
}

void SegmentWriter::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!bytes.empty()) content_file_->write(offset, bytes);
}

void SegmentWriter::read(std::uint64_t offset, std::span<std::byte> bytes) {
  if (!bytes.empty()) content_file_->read(offset, bytes);
}

/// Gives values their names. One that gets none, or whose name HDF5 rejects, keeps its bytes under
/// a number: the index of contents refers to them.
void SegmentWriter::link_values(std::span<const Link> links) {
  const hid_t file = hdf5_->file.get();
  std::vector<bool> linked(hdf5_->values.size(), false);
  const auto link = [&](std::uint32_t number, const std::string& path) {
    return H5Olink(hdf5_->values[number].dataset.get(), file, path.c_str(),
                   hdf5_->with_parents.get(), H5P_DEFAULT) >= 0;
  };
  for (const Link& wanted : links) {
    if (link(wanted.number, "/" + wanted.path)) linked[wanted.number] = true;
  }
  for (std::uint32_t number = 0; number < linked.size(); ++number) {
    if (!linked[number] && !link(number, "/content/values/" + std::to_string(number))) {
      h5::fail("name a value");
    }
  }
  for (const auto& [offset, content] : hdf5_->alone) {
    h5::checked("name a content", H5Olink(content.dataset.get(), file, next_block_path().c_str(),
                                          H5P_DEFAULT, H5P_DEFAULT));
  }
}

Digest SegmentWriter::complete(const Tables& tables, std::span<const Link> links,
                               const SegmentAttributes& attributes) {
  const h5::Quiet quiet;
  open();
  content_file_->flush();
  link_values(links);
  const hid_t file = hdf5_->file.get();
  Directory directory;
  directory.root_digest = root_digest(tables);
  std::size_t number_of_table = 0;
  const auto write_table = [&](const TableSchema& table, std::span<const std::byte> rows) {
    directory.tables.at(number_of_table++) = {h5::write_table(file, table, rows),
                                              rows.size() / table.row_size};
  };
  for_each_table(tables, [&](const TableSchema& table, const auto& rows) {
    write_table(table, std::as_bytes(std::span(rows)));
  });
  write_table(schema::kAttributes, encode(attributes));
  const auto number = [&](const char* name, std::integral auto value) {
    h5::write_attribute(file, name, static_cast<std::int64_t>(value));
  };
  const auto text = [&](const char* name, std::string_view value) {
    h5::write_attribute(file, name, value);
  };
  text(attribute::kFormat, attribute::kFormatName);
  number(attribute::kFormatVersion, kFormatVersion);
  text(attribute::kDescription, kFileDescription);
  text(attribute::kCreator, attributes.creator);
  text(attribute::kCreated, utc_now());
  text(attribute::kLevel, attributes.level);
  text(attribute::kCommand, attributes.command);
  number(attribute::kRank, attributes.rank);
  number(attribute::kPid, attributes.pid);
  number(attribute::kSegment, attributes.segment);
  text(attribute::kRun, to_string(attributes.run));
  text(attribute::kPrevious, to_string(attributes.previous));
  number(attribute::kOldestSegment, attributes.oldest_segment);
  number(attribute::kFirstKeptStep, attributes.first_kept_step);
  number(attribute::kFirstStep, attributes.first_step);
  number(attribute::kLastStep, attributes.last_step);
  number(attribute::kSteps, attributes.steps);
  number(attribute::kEvents, attributes.events);
  number(attribute::kValues, attributes.values);
  number(attribute::kContents, tables.contents.size());
  number(attribute::kFinished, attributes.finished ? 1 : 0);
  text(attribute::kIncompleteReason, attributes.incomplete_reason);
  text(attribute::kRootDigest, to_string(directory.root_digest));

  haddr_t end = 0;
  h5::checked("ask for the end of the segment", H5Fget_eoa(file, &end));
  content_file_->close(end);
  content_file_.reset();
  hdf5_->values.clear();
  hdf5_->alone.clear();
  // Closing can fail late on a full disk: do it before the rename, and check the result.
  h5::checked("close the segment", H5Fclose(hdf5_->file.release()));
  hdf5_.reset();
  return seal(partial_, directory, content_extents(tables.contents));
}

void SegmentWriter::publish() { rename_file(partial_, path_); }

}  // namespace ulpscope::dump
