#include "dump/segment_writer.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <system_error>

#include "dump/bytes.hpp"
#include "dump/files.hpp"
#include "dump/h5.hpp"
#include "dump/schema.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::uint64_t kChunkBytes = 4ULL << 20;
constexpr hsize_t kAlignedFrom = 65536;
constexpr hsize_t kAlignment = 4096;

constexpr const char* kFileDescription =
    "One part of a recording by ulpscope, complete in itself. /blocks lists what was recorded, "
    "step "
    "by step; lib/dump/FORMAT.md of ulpscope describes every table.";

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const auto size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, size};
}

h5::File create_file(const std::filesystem::path& path) {
  const h5::Properties creation(h5::checked("create a file", H5Pcreate(H5P_FILE_CREATE)));
  h5::checked("reserve the user block", H5Pset_userblock(creation.get(), kUserBlockBytes));
  const h5::Properties access(h5::checked("create a file", H5Pcreate(H5P_FILE_ACCESS)));
  h5::checked("choose the file format",
              H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110));
  h5::checked("choose the alignment", H5Pset_alignment(access.get(), kAlignedFrom, kAlignment));
  return h5::File(
      h5::checked("create '" + path.string() + "'",
                  H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get())));
}

template <class T>
std::span<const std::byte> bytes_of_rows(const std::vector<T>& rows) {
  return std::as_bytes(std::span(rows));
}

}  // namespace

struct SegmentWriter::Hdf5 {
  h5::File file;
  h5::Dataset content;
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
}

std::uint64_t SegmentWriter::reserve(std::uint64_t bytes) {
  const std::uint64_t at = content_bytes_;
  if (bytes > (std::uint64_t{1} << 56)) {
    throw Error(ErrorCode::usage, "A content cannot be larger than 64 PiB.");
  }
  content_bytes_ += bytes;
  return at;
}

void SegmentWriter::write(std::uint64_t at, std::span<const std::byte> bytes) {
  const h5::Quiet quiet;
  while (!bytes.empty()) {
    const std::uint64_t number = at / kChunkBytes;
    const std::uint64_t inside = at % kChunkBytes;
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), kChunkBytes - inside));
    Chunk& chunk = chunks_[number];
    if (chunk.bytes.size() < inside + count) chunk.bytes.resize(inside + count);
    std::memcpy(chunk.bytes.data() + inside, bytes.data(), count);
    chunk.written += count;
    if (chunk.written == kChunkBytes) {
      write_chunk(number, chunk.bytes);
      chunks_.erase(number);
    }
    at += count;
    bytes = bytes.subspan(count);
  }
}

void SegmentWriter::read(std::uint64_t at, std::span<std::byte> bytes) {
  const h5::Quiet quiet;
  while (!bytes.empty()) {
    const std::uint64_t number = at / kChunkBytes;
    const std::uint64_t inside = at % kChunkBytes;
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), kChunkBytes - inside));
    if (const auto open_chunk = chunks_.find(number); open_chunk != chunks_.end()) {
      std::memcpy(bytes.data(), open_chunk->second.bytes.data() + inside, count);
    } else {
      const hsize_t start = at;
      const hsize_t size = count;
      const h5::Space file_space(
          h5::checked("read content back", H5Dget_space(hdf5_->content.get())));
      h5::checked("read content back", H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, &start,
                                                           nullptr, &size, nullptr));
      const h5::Space memory(h5::checked("read content back", H5Screate_simple(1, &size, nullptr)));
      h5::checked("read content back", H5Dread(hdf5_->content.get(), H5T_NATIVE_UINT8, memory.get(),
                                               file_space.get(), H5P_DEFAULT, bytes.data()));
    }
    at += count;
    bytes = bytes.subspan(count);
  }
}

void SegmentWriter::create_content(std::uint64_t chunk_bytes) {
  chunk_bytes_ = chunk_bytes;
  const hsize_t size = 0;
  const hsize_t most = H5S_UNLIMITED;
  const hsize_t chunk = chunk_bytes;
  const h5::Space space(h5::checked("create the contents", H5Screate_simple(1, &size, &most)));
  const h5::Properties creation(h5::checked("create the contents", H5Pcreate(H5P_DATASET_CREATE)));
  h5::checked("create the contents", H5Pset_chunk(creation.get(), 1, &chunk));
  h5::checked("create the contents", H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER));
  const h5::Properties access(h5::checked("create the contents", H5Pcreate(H5P_DATASET_ACCESS)));
  h5::checked("create the contents", H5Pset_chunk_cache(access.get(), 0, 0, 0));
  hdf5_->content = h5::Dataset(h5::checked(
      "create the contents", H5Dcreate2(hdf5_->file.get(), schema::kContentBytes, H5T_STD_U8LE,
                                        space.get(), H5P_DEFAULT, creation.get(), access.get())));
  h5::write_attribute(hdf5_->content.get(), attribute::kDescription,
                      "bytes of values in memory order, packed; /content/index says where each is");
}

void SegmentWriter::write_chunk(std::uint64_t number, std::span<const std::byte> bytes) {
  open();
  if (!hdf5_->content) create_content(bytes.size());
  const hsize_t at = number * chunk_bytes_;
  const h5::Space space(h5::checked("extend the contents", H5Dget_space(hdf5_->content.get())));
  hsize_t size = 0;
  h5::checked("extend the contents", H5Sget_simple_extent_dims(space.get(), &size, nullptr));
  if (const hsize_t end = at + chunk_bytes_; end > size) {
    h5::checked("extend the contents", H5Dset_extent(hdf5_->content.get(), &end));
  }
  h5::checked("write content", H5Dwrite_chunk(hdf5_->content.get(), H5P_DEFAULT, 0, &at,
                                              chunk_bytes_, bytes.data()));
}

/// Writes what has not filled its chunk. Contents that fit into one chunk make it just as large.
void SegmentWriter::flush_chunks() {
  open();
  const bool single = !hdf5_->content && chunks_.size() <= 1 && content_bytes_ <= kChunkBytes;
  if (!hdf5_->content) {
    const auto needed = std::max<std::uint64_t>(chunks_.empty() ? 0 : content_bytes_, 1);
    create_content(single ? needed : kChunkBytes);
  }
  for (auto& [number, chunk] : chunks_) {
    chunk.bytes.resize(chunk_bytes_);
    write_chunk(number, chunk.bytes);
  }
  chunks_.clear();
}

std::vector<Extent> SegmentWriter::content_extents(const Tables& tables) const {
  std::vector<ContentRow> contents = tables.contents;
  std::sort(contents.begin(), contents.end(),
            [](const ContentRow& a, const ContentRow& b) { return a.offset < b.offset; });
  std::vector<Extent> extents;
  for (const ContentRow& content : contents) {
    for (std::uint64_t done = 0; done < content.bytes;) {
      const std::uint64_t at = content.offset + done;
      const hsize_t chunk_start = at / chunk_bytes_ * chunk_bytes_;
      const std::uint64_t count =
          std::min<std::uint64_t>(content.bytes - done, chunk_bytes_ - (at - chunk_start));
      unsigned filters = 0;
      haddr_t address = HADDR_UNDEF;
      hsize_t size = 0;
      h5::checked("locate content", H5Dget_chunk_info_by_coord(hdf5_->content.get(), &chunk_start,
                                                               &filters, &address, &size));
      // HDF5 counts addresses from the end of the user block.
      const std::uint64_t offset = kUserBlockBytes + address + (at - chunk_start);
      if (!extents.empty() && extents.back().offset + extents.back().bytes == offset) {
        extents.back().bytes += count;
      } else {
        extents.push_back({offset, count});
      }
      done += count;
    }
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  return extents;
}

void SegmentWriter::complete(const Tables& tables, const SegmentAttributes& attributes) {
  const h5::Quiet quiet;
  open();
  flush_chunks();
  const hid_t file = hdf5_->file.get();
  for_each_table(tables, [&](const TableSchema& table, const auto& rows) {
    h5::write_table(file, table, bytes_of_rows(rows));
  });
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
  number(attribute::kFirstStep, attributes.first_step);
  number(attribute::kLastStep, attributes.last_step);
  number(attribute::kSteps, attributes.steps);
  number(attribute::kEvents, attributes.events);
  number(attribute::kValues, attributes.values);
  number(attribute::kContents, tables.contents.size());
  number(attribute::kFinished, attributes.finished ? 1 : 0);
  text(attribute::kIncompleteReason, attributes.incomplete_reason);
  text(attribute::kRootDigest, to_string(root_digest(tables)));

  const auto extents = content_extents(tables);
  hdf5_->content = {};
  // Closing can fail late on a full disk: do it before the rename, and look at the answer.
  h5::checked("close the segment", H5Fclose(hdf5_->file.release()));
  hdf5_.reset();
  seal(partial_, extents);
}

void SegmentWriter::publish() { rename_file(partial_, path_); }

Digest root_digest(const Tables& tables) {
  DigestStream stream;
  for_each_table(tables, [&](const TableSchema& table, const auto& rows) {
    stream.update(bytes_of(std::string_view(table.path)));
    stream.update(bytes_of(static_cast<std::uint64_t>(rows.size())));
    stream.update(bytes_of_rows(rows));
  });
  return stream.finish();
}

}  // namespace ulpscope::dump
