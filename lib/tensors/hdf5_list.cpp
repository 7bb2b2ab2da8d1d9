#include "tensors/hdf5_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dump/h5.hpp"
#include "tensors/hdf5_source.hpp"
#include "tensors/hdf5_types.hpp"
#include "tensors/zip_archive.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::tensors {
namespace {

namespace h5 = dump::h5;

constexpr std::size_t kMostObjects = std::size_t{1} << 20;
constexpr std::size_t kDeepestGroup = 256;

[[nodiscard]] h5::File open_file(const Hdf5Place& place) {
  if (place.member.empty())
    return h5::File(
        h5::checked("open the file", H5Fopen(place.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)));
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

void describe(hid_t file, Hdf5Entry& entry) {
  const h5::Dataset dataset(
      h5::checked("open a dataset", H5Dopen2(file, entry.name.c_str(), H5P_DEFAULT)));
  const h5::Type type(h5::checked("read a type", H5Dget_type(dataset.get())));
  const Hdf5Elements elements = elements_of(type.get());
  entry.dtype = elements.dtype;
  entry.order = elements.order;
  entry.unreadable = elements.unreadable;
  set_space(dataset, entry);
  if (entry.unreadable.empty()) set_layout(dataset, entry);
  entry.shape.insert(entry.shape.end(), elements.shape.begin(), elements.shape.end());
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
      throw Error(ErrorCode::corrupt, "its groups are nested more than 256 deep");
    const std::string opened = path.empty() ? "/" : path;
    const h5::Group group(
        h5::checked("open a group", H5Gopen2(file_, opened.c_str(), H5P_DEFAULT)));
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
    if (++visited_ > kMostObjects)
      throw Error(ErrorCode::corrupt, "it has more than a million objects");
    Hdf5Entry entry;
    entry.name = path.empty() ? link.name : path + "/" + link.name;
    if (link.type != H5L_TYPE_HARD) {
      entry.unreadable = "is a link, which is not followed";
      return use_(entry);
    }
    H5O_info_t info;
    h5::checked("read about an object", H5Oget_info_by_name2(file_, entry.name.c_str(), &info,
                                                             H5O_INFO_BASIC, H5P_DEFAULT));
    if (info.type == H5O_TYPE_GROUP) return inner_group(entry.name, info.addr);
    if (info.type != H5O_TYPE_DATASET) return;  // a type that datasets share
    describe(file_, entry);
    use_(entry);
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
  std::string name;
  h5::Dataset dataset;
};

Hdf5Boxes::Hdf5Boxes(const Hdf5Place& place) : open_(std::make_unique<Open>()) {
  open_->file = open_file(place);
}

Hdf5Boxes::~Hdf5Boxes() = default;

void Hdf5Boxes::read(const std::string& name, const std::vector<std::int64_t>& begin,
                     const std::vector<std::int64_t>& size, std::span<std::byte> bytes) {
  if (!open_->dataset || open_->name != name) {
    open_->dataset = h5::Dataset(
        h5::checked("open a dataset", H5Dopen2(open_->file.get(), name.c_str(), H5P_DEFAULT)));
    open_->name = name;
  }
  const hid_t dataset = open_->dataset.get();
  const h5::Type type(h5::checked("read a type", H5Dget_type(dataset)));
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
  if (elements * H5Tget_size(type.get()) != bytes.size())
    throw Error(ErrorCode::corrupt, "a dataset has changed");
  const h5::Space packed(h5::checked("describe memory", H5Screate_simple(1, &elements, nullptr)));
  h5::checked("read a dataset",
              H5Dread(dataset, type.get(), packed.get(), space.get(), H5P_DEFAULT, bytes.data()));
}

}  // namespace ulpscope::tensors
