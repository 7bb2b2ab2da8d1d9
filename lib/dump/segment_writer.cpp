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
  if (bytes.empty()) return;
  if (!content_file_ && content_bytes_ <= kChunkBytes) {
    if (first_.size() < at + bytes.size()) first_.resize(at + bytes.size());
    std::memcpy(first_.data() + at, bytes.data(), bytes.size());
    return;
  }
  const h5::Quiet quiet;
  if (!content_file_) create_content(kChunkBytes);
  place(at, bytes);
}

void SegmentWriter::create_content(std::uint64_t chunk_bytes) {
  open();
  chunk_bytes_ = chunk_bytes;
  const hsize_t size = 0;
  const hsize_t most = H5S_UNLIMITED;
  const hsize_t chunk = chunk_bytes;
  const h5::Space space(h5::checked("create the contents", H5Screate_simple(1, &size, &most)));
  const h5::Properties creation(h5::checked("create the contents", H5Pcreate(H5P_DATASET_CREATE)));
  h5::checked("create the contents", H5Pset_chunk(creation.get(), 1, &chunk));
  h5::checked("create the contents", H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER));
  // Chunks have their addresses as soon as the dataset is extended, so contents can be written
  // there without passing through HDF5's buffers.
  h5::checked("create the contents", H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY));
  const h5::Properties access(h5::checked("create the contents", H5Pcreate(H5P_DATASET_ACCESS)));
  h5::checked("create the contents", H5Pset_chunk_cache(access.get(), 0, 0, 0));
  hdf5_->content = h5::Dataset(h5::checked(
      "create the contents", H5Dcreate2(hdf5_->file.get(), schema::kContentBytes, H5T_STD_U8LE,
                                        space.get(), H5P_DEFAULT, creation.get(), access.get())));
  h5::write_attribute(hdf5_->content.get(), attribute::kDescription,
                      "bytes of values in memory order, packed; /content/index says where each is");
  content_file_.emplace(dump::File::open_for_update(partial_));
  if (!first_.empty()) place(0, first_);
  first_ = {};
}

void SegmentWriter::allocate(std::uint64_t content_end) {
  const std::uint64_t chunks = (content_end + chunk_bytes_ - 1) / chunk_bytes_;
  if (chunks <= chunk_offsets_.size()) return;
  const hsize_t size = chunks * chunk_bytes_;
  h5::checked("extend the contents", H5Dset_extent(hdf5_->content.get(), &size));
  while (chunk_offsets_.size() < chunks) {
    const hsize_t at = chunk_offsets_.size() * chunk_bytes_;
    unsigned filters = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t stored = 0;
    h5::checked("locate the contents",
                H5Dget_chunk_info_by_coord(hdf5_->content.get(), &at, &filters, &address, &stored));
    if (address == HADDR_UNDEF) {
      throw Error(ErrorCode::io, "HDF5 gave the contents no room in '" + partial_.string() + "'.");
    }
    // HDF5 counts addresses from the end of the user block.
    chunk_offsets_.push_back(kUserBlockBytes + address);
  }
}

void SegmentWriter::place(std::uint64_t at, std::span<const std::byte> bytes) {
  allocate(at + bytes.size());
  while (!bytes.empty()) {
    const std::uint64_t inside = at % chunk_bytes_;
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), chunk_bytes_ - inside));
    content_file_->write(chunk_offsets_[at / chunk_bytes_] + inside, bytes.first(count));
    at += count;
    bytes = bytes.subspan(count);
  }
}

/// Contents that fit into one chunk make it just as large.
void SegmentWriter::finish_contents() {
  if (!content_file_) {
    create_content(std::clamp<std::uint64_t>(content_bytes_, 1, kChunkBytes));
  }
  content_file_->flush();
}

std::vector<Extent> SegmentWriter::content_extents(const Tables& tables) const {
  std::vector<ContentRow> contents = tables.contents;
  std::sort(contents.begin(), contents.end(),
            [](const ContentRow& a, const ContentRow& b) { return a.offset < b.offset; });
  std::vector<Extent> extents;
  for (const ContentRow& content : contents) {
    for (std::uint64_t done = 0; done < content.bytes;) {
      const std::uint64_t at = content.offset + done;
      const std::uint64_t inside = at % chunk_bytes_;
      const std::uint64_t count = std::min(content.bytes - done, chunk_bytes_ - inside);
      const std::uint64_t offset = chunk_offsets_[at / chunk_bytes_] + inside;
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
  finish_contents();
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
  content_file_.reset();
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
