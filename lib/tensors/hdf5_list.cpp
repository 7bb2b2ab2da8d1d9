#include "tensors/hdf5_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "dump/h5.hpp"
#include "tensors/hdf5_chunks.hpp"
#include "tensors/hdf5_source.hpp"
#include "tensors/hdf5_text.hpp"
#include "tensors/hdf5_types.hpp"
#include "tensors/zip_archive.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::tensors {
namespace {

namespace h5 = dump::h5;

constexpr std::size_t kMostObjects = std::size_t{1} << 20;
constexpr std::size_t kDeepestGroup = 256;
constexpr std::size_t kDeepestRecord = 16;
constexpr std::size_t kMostText = std::size_t{1} << 19;  // in bytes, of a dataset
constexpr std::size_t kMostTextOfAll = std::size_t{1} << 24;

/// HDF5 locks a file that it writes, and marks those of newer forms; it advises `h5clear -s`, which
/// may cut the file off.
[[nodiscard]] h5::File open_path(const std::filesystem::path& path) try {
  return h5::File(h5::checked("open the file", H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)));
} catch (const Error& error) {
  const std::string_view what = error.what();
  const std::string locked = std::generic_category().message(EAGAIN);
  if (what.find(locked) == what.npos && what.find("already open for") == what.npos) throw;
  throw Error(ErrorCode::version,
              "a program has it open for writing, or was killed before it had closed it");
}

[[nodiscard]] h5::File open_file(const Hdf5Place& place) {
  if (place.member.empty()) return open_path(place.path);
  auto archive = std::make_shared<ZipArchive>(place.path);
  const ZipMember* const member = archive->find(place.member);
  if (member == nullptr) throw Error(ErrorCode::corrupt, "it has changed");
  return open_hdf5_source(member_of(archive, *member));
}

void set_space(const h5::Dataset& dataset, Hdf5Entry& entry) {
  const h5::Space space(h5::checked("read a dataspace", H5Dget_space(dataset.get())));
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
    entry.shape.push_back(0);
    return;
  }
  hsize_t sizes[H5S_MAX_RANK] = {};
  const int dimensions =
      h5::checked("read a shape", H5Sget_simple_extent_dims(space.get(), sizes, nullptr));
  for (int d = 0; d < dimensions; ++d) entry.shape.push_back(static_cast<std::int64_t>(sizes[d]));
}

/// The first filter of a dataset that HDF5 cannot apply; empty if it has all.
[[nodiscard]] std::string missing_filter(const h5::Properties& creation) {
  const int count = std::max(H5Pget_nfilters(creation.get()), 0);
  for (unsigned number = 0; number < static_cast<unsigned>(count); ++number) {
    char name[64] = {};
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation.get(), number, nullptr, &values, nullptr,
                                               sizeof(name) - 1, name, nullptr);
    if (filter >= 0 && H5Zfilter_avail(filter) > 0) continue;
    return *name != '\0' ? name : fmt::format("filter {}", filter);
  }
  return {};
}

void set_layout(const h5::Dataset& dataset, Hdf5Entry& entry) {
  const h5::Properties creation(
      h5::checked("read a dataset's properties", H5Dget_create_plist(dataset.get())));
  switch (H5Pget_layout(creation.get())) {
    case H5D_VIRTUAL:
      entry.unreadable = "is put together from other datasets, which are not followed";
      return;
    case H5D_CHUNKED: {
      hsize_t sizes[H5S_MAX_RANK] = {};
      const int dimensions =
          h5::checked("read chunks", H5Pget_chunk(creation.get(), H5S_MAX_RANK, sizes));
      for (int d = 0; d < dimensions; ++d)
        entry.chunk.push_back(static_cast<std::int64_t>(sizes[d]));
      if (const std::string filter = missing_filter(creation); !filter.empty())
        entry.unreadable = fmt::format(
            "is compressed by {}, which HDF5 has no plugin for (HDF5_PLUGIN_PATH)", filter);
      else if (packed_chunks(dataset).bytes > kLargestPackedChunk)
        entry.unreadable = "is compressed in chunks of more than 512 MB";
      return;
    }
    case H5D_CONTIGUOUS:
      if (H5Pget_external_count(creation.get()) > 0) {
        entry.unreadable = "keeps its values in another file, which is not opened";
        return;
      }
      if (const haddr_t offset = H5Dget_offset(dataset.get()); offset != HADDR_UNDEF) {
        entry.contiguous = true;
        entry.offset = offset;
      }
      return;
    default:
      return;
  }
}

/// How objects are opened by name: a soft link that leads to another file fails.
[[nodiscard]] h5::Properties inside_of_file(hid_t kind) {
  h5::Properties access(h5::checked("make properties", H5Pcreate(kind)));
  const auto refuse = [](const char*, const char*, const char*, const char*, unsigned*, hid_t,
                         void*) -> herr_t { return -1; };
  h5::checked("set a property", H5Pset_elink_cb(access.get(), refuse, nullptr));
  return access;
}

[[nodiscard]] h5::Dataset open_dataset(
    hid_t file, const std::string& name,
    const h5::Properties& access = inside_of_file(H5P_DATASET_ACCESS)) {
  return h5::Dataset(h5::checked("open a dataset", H5Dopen2(file, name.c_str(), access.get())));
}

[[nodiscard]] std::string member_name(hid_t type, unsigned number) {
  char* const name = H5Tget_member_name(type, number);
  if (name == nullptr) h5::fail("read the name of a field");
  std::string copy = name;
  H5free_memory(name);
  return copy;
}

/// Goes through groups in the order of their names.
class Walk {
 public:
  Walk(hid_t file, const std::function<void(const Hdf5Entry&)>& use) : file_(file), use_(use) {}

  void root() {
    H5O_info_t info;
    h5::checked("read about the root",
                H5Oget_info_by_name2(file_, "/", &info, H5O_INFO_BASIC, H5P_DEFAULT));
    inner_group("", info.addr);
  }

 private:
  void group(const std::string& path) {
    if (around_.size() == kDeepestGroup)
      throw Error(ErrorCode::version, "its groups are nested more than 256 deep");
    const std::string opened = path.empty() ? "/" : path;
    const h5::Properties access = inside_of_file(H5P_GROUP_ACCESS);
    const h5::Group group(
        h5::checked("open a group", H5Gopen2(file_, opened.c_str(), access.get())));
    for (const Link& link : links_of(group.get())) visit(path, link);
  }

  struct Link {
    std::string name;
    H5L_type_t type = H5L_TYPE_ERROR;
  };

  [[nodiscard]] std::vector<Link> links_of(hid_t group) {
    std::vector<Link> links;
    const auto keep = [](hid_t, const char* name, const H5L_info_t* info, void* data) -> herr_t {
      auto& kept = *static_cast<std::vector<Link>*>(data);
      if (kept.size() == kMostObjects) return -1;
      kept.push_back({name, info->type});
      return 0;
    };
    hsize_t from = 0;
    h5::checked("list a group",
                H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &from, keep, &links));
    std::sort(links.begin(), links.end(),
              [](const Link& a, const Link& b) { return a.name < b.name; });
    return links;
  }

  void visit(const std::string& path, const Link& link) {
    count_one();
    Hdf5Entry entry;
    entry.name = path.empty() ? link.name : path + "/" + link.name;
    if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT) {
      entry.unreadable = "is a link to another file, which is not followed";
      return use_(entry);
    }
    H5O_info_t info;
    const h5::Properties access = inside_of_file(H5P_LINK_ACCESS);
    const herr_t found =
        H5Oget_info_by_name2(file_, entry.name.c_str(), &info, H5O_INFO_BASIC, access.get());
    if (found < 0 && link.type == H5L_TYPE_SOFT) {
      entry.unreadable = "is a link to what is not in the file";
      return use_(entry);
    }
    h5::checked("read about an object", found);
    if (info.type == H5O_TYPE_GROUP) return inner_group(entry.name, info.addr);
    if (info.type != H5O_TYPE_DATASET) return;  // a type that datasets share
    dataset(std::move(entry));
  }

  void dataset(Hdf5Entry entry) {
    const h5::Dataset dataset = open_dataset(file_, entry.name);
    const h5::Type type(h5::checked("read a type", H5Dget_type(dataset.get())));
    entry.part.dataset = entry.name;
    set_space(dataset, entry);
    set_layout(dataset, entry);
    elements(dataset, type.get(), type.get(), std::move(entry));
  }

  /// Elements of `type` in a dataset of elements of `whole`: numbers, texts, or records by fields.
  void elements(const h5::Dataset& dataset, hid_t whole, hid_t type, Hdf5Entry entry) {
    const Hdf5Elements found = elements_of(type);
    if (found.record && entry.unreadable.empty() && entry.part.fields.size() < kDeepestRecord)
      return records(dataset, whole, type, entry);
    if (!found.unreadable.empty()) entry.unreadable = found.unreadable;
    if (entry.unreadable.empty() && !entry.contiguous && H5Tget_size(type) > kLargestBox)
      entry.unreadable = "has elements of more than 16 MB that are not stored in one piece";
    entry.dtype = found.dtype;
    entry.order = found.order;
    entry.shape.insert(entry.shape.end(), found.shape.begin(), found.shape.end());
    if (found.text && entry.unreadable.empty()) {
      const h5::Type memory = type_of_field(whole, entry.part.fields);
      set_text({dataset.get(), type, memory.get(), entry.shape}, entry);
    }
    use_(entry);
  }

  void records(const h5::Dataset& dataset, hid_t whole, hid_t type, const Hdf5Entry& entry) {
    const int count = h5::checked("read a record", H5Tget_nmembers(type));
    for (unsigned number = 0; number < static_cast<unsigned>(count); ++number) {
      count_one();
      const h5::Type member(h5::checked("read a field's type", H5Tget_member_type(type, number)));
      Hdf5Entry field = entry;
      field.contiguous = false;
      field.part.fields.push_back(member_name(type, number));
      field.name += "/" + field.part.fields.back();
      elements(dataset, whole, member.get(), std::move(field));
    }
  }

  /// Takes what it reads from the bytes of text that a file may have.
  void set_text(const Hdf5Strings& strings, Hdf5Entry& entry) {
    const auto texts = read_texts(strings, std::min(text_left_, kMostText));
    if (!texts) {
      entry.unreadable = "holds more text than is compared, or text that HDF5 cannot read";
      return;
    }
    text_left_ -= texts->bytes.size();
    entry.is_text = true;
    entry.text = texts->bytes;
    entry.dtype = Dtype::uint8;
    entry.contiguous = false;
    entry.shape.push_back(static_cast<std::int64_t>(texts->longest));
  }

  void count_one() {
    if (++visited_ > kMostObjects)
      throw Error(ErrorCode::version, "it has more than a million objects");
  }

  /// A group may hold one that it is in.
  void inner_group(const std::string& path, haddr_t address) {
    if (std::find(around_.begin(), around_.end(), address) != around_.end()) return;
    around_.push_back(address);
    group(path);
    around_.pop_back();
  }

  hid_t file_;
  const std::function<void(const Hdf5Entry&)>& use_;
  std::vector<haddr_t> around_;
  std::size_t visited_ = 0;
  std::size_t text_left_ = kMostTextOfAll;
};

}  // namespace

void list_hdf5(const Hdf5Place& place, const std::function<void(const Hdf5Entry&)>& use) {
  const h5::Quiet quiet;
  const h5::File file = open_file(place);
  Walk(file.get(), use).root();
}

struct Hdf5Boxes::Open {
  h5::Quiet quiet;
  h5::File file;
  Hdf5Part part;
  h5::Dataset dataset;
  h5::Type type;
};

Hdf5Boxes::Hdf5Boxes(const Hdf5Place& place) : open_(std::make_unique<Open>()) {
  open_->file = open_file(place);
}

Hdf5Boxes::~Hdf5Boxes() = default;

std::uint64_t Hdf5Boxes::read(const Hdf5Part& part, const std::vector<std::int64_t>& begin,
                              const std::vector<std::int64_t>& size, std::span<std::byte> bytes) {
  if (!open_->dataset || open_->part != part) {
    const h5::Properties access = inside_of_file(H5P_DATASET_ACCESS);
    keep_chunks(packed_chunks(open_dataset(open_->file.get(), part.dataset)), size, access);
    open_->dataset = {};
    open_->dataset = open_dataset(open_->file.get(), part.dataset, access);
    const h5::Type whole(h5::checked("read a type", H5Dget_type(open_->dataset.get())));
    open_->type = type_of_field(whole.get(), part.fields);
    open_->part = part;
  }
  const hid_t dataset = open_->dataset.get();
  const h5::Space space(h5::checked("read a dataspace", H5Dget_space(dataset)));
  const auto dimensions = static_cast<std::size_t>(
      h5::checked("read a shape", H5Sget_simple_extent_ndims(space.get())));
  if (dimensions > begin.size() || begin.size() != size.size())
    throw Error(ErrorCode::corrupt, "a dataset has changed");
  std::vector<hsize_t> start(begin.begin(),
                             begin.begin() + static_cast<std::ptrdiff_t>(dimensions));
  std::vector<hsize_t> count(size.begin(), size.begin() + static_cast<std::ptrdiff_t>(dimensions));
  if (dimensions > 0)
    h5::checked("select a part of a dataset",
                H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                    count.data(), nullptr));
  const auto elements = static_cast<hsize_t>(H5Sget_select_npoints(space.get()));
  if (elements * H5Tget_size(open_->type.get()) != bytes.size())
    throw Error(ErrorCode::corrupt, "a dataset has changed");
  // In the shape of the box: HDF5 goes through every element by itself where shapes differ.
  const h5::Space packed = h5::space_of(count);
  h5::checked("read a dataset", H5Dread(dataset, open_->type.get(), packed.get(), space.get(),
                                        H5P_DEFAULT, bytes.data()));
  return elements;
}

}  // namespace ulpscope::tensors
