#include "dump/value_file.hpp"

#include <vector>

#include "dump/h5.hpp"
#include "dump/h5_value_types.hpp"
#include "dump/segment_writer.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {

struct ValueFile::Hdf5 {
  h5::File file;
  h5::Properties with_parents;
  h5::ValueTypes types;
};

ValueFile::ValueFile(const std::filesystem::path& path) : hdf5_(std::make_unique<Hdf5>()) {
  const h5::Quiet quiet;
  hdf5_->file =
      h5::File(h5::checked("create '" + path.string() + "'",
                           H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
  hdf5_->with_parents = h5::Properties(h5::checked("create a link", H5Pcreate(H5P_LINK_CREATE)));
  h5::checked("create a link", H5Pset_create_intermediate_group(hdf5_->with_parents.get(), 1));
}

ValueFile::~ValueFile() = default;

void ValueFile::add(const std::string& path, Dtype dtype, std::span<const std::int64_t> sizes,
                    std::span<const std::byte> bytes) {
  const h5::Quiet quiet;
  const hid_t type = hdf5_->types.find(dtype);
  if (type < 0) {
    throw Error(ErrorCode::usage,
                "HDF5 has no type for values of dtype " + std::string(name(dtype)) + ".");
  }
  const std::vector<hsize_t> shape(sizes.begin(), sizes.end());
  const h5::Space space = h5::space_of(shape);
  h5::Dataset dataset(h5::checked("create '" + path + "'",
                                  H5Dcreate2(hdf5_->file.get(), path.c_str(), type, space.get(),
                                             hdf5_->with_parents.get(), H5P_DEFAULT, H5P_DEFAULT)));
  if (!bytes.empty()) {
    h5::checked("write '" + path + "'",
                H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
  }
  h5::write_attribute(dataset.get(), attribute::kDtype, name(dtype));
  h5::write_attribute(dataset.get(), attribute::kDigest, to_string(digest(bytes)));
  h5::close(dataset);
}

void ValueFile::close() {
  const h5::Quiet quiet;
  h5::checked("close the file", H5Fclose(hdf5_->file.release()));
}

}  // namespace ulpscope::dump
