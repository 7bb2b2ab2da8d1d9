#include "tensors/hdf5_source.hpp"

#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif

#include <new>
#include <utility>

#include "ulpscope/error.hpp"

namespace ulpscope::tensors {
namespace {

namespace h5 = dump::h5;

/// What HDF5 holds as the open file.
class SourceFile : public H5FD_t {
 public:
  explicit SourceFile(std::shared_ptr<const Source> source)
      : H5FD_t{}, source_(std::move(source)) {}

  [[nodiscard]] haddr_t size() const { return source_->size(); }
  [[nodiscard]] haddr_t end() const noexcept { return end_; }
  void set_end(haddr_t end) noexcept { end_ = end; }
  [[nodiscard]] bool read(haddr_t from, std::span<std::byte> bytes) const noexcept try {
    if (from > size() || bytes.size() > size() - from) return false;
    source_->stream(from, bytes.size())->read(bytes);
    return true;
  } catch (const std::exception&) {
    return false;
  }

 private:
  std::shared_ptr<const Source> source_;
  haddr_t end_ = 0;  ///< of what HDF5 takes for the file
};

[[nodiscard]] const SourceFile& as_source(const H5FD_t* file) {
  return static_cast<const SourceFile&>(*file);
}

/// HDF5 finds a driver's own part of the properties behind this pointer.
using Info = const std::shared_ptr<const Source>*;

[[nodiscard]] H5FD_class_t read_only_driver() {
  H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = H5_VFD_MAX;
#endif
  driver.name = "ulpscope_source";
  driver.maxaddr = HADDR_MAX;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(Info);
  driver.open = [](const char*, unsigned, hid_t properties, haddr_t) -> H5FD_t* {
    const auto* const info = static_cast<const Info*>(H5Pget_driver_info(properties));
    return info == nullptr ? nullptr : new (std::nothrow) SourceFile(**info);
  };
  driver.close = [](H5FD_t* file) -> herr_t {
    delete static_cast<SourceFile*>(file);
    return 0;
  };
  driver.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return as_source(file).end(); };
  driver.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t end) -> herr_t {
    static_cast<SourceFile*>(file)->set_end(end);
    return 0;
  };
  driver.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return as_source(file).size(); };
  driver.read = [](H5FD_t* file, H5FD_mem_t, hid_t, haddr_t from, size_t bytes,
                   void* to) -> herr_t {
    return as_source(file).read(from, {static_cast<std::byte*>(to), bytes}) ? 0 : -1;
  };
  driver.write = [](H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) -> herr_t {
    return -1;
  };
  return driver;
}

}  // namespace

h5::File open_hdf5_source(std::shared_ptr<const Source> source) {
  static const H5FD_class_t driver = read_only_driver();
  static const hid_t id = h5::checked("register a driver", H5FDregister(&driver));
  const h5::Properties properties(h5::checked("make properties", H5Pcreate(H5P_FILE_ACCESS)));
  const Info info = &source;
  h5::checked("choose a driver", H5Pset_driver(properties.get(), id, &info));
  return h5::File(
      h5::checked("open the file", H5Fopen("archive", H5F_ACC_RDONLY, properties.get())));
}

}  // namespace ulpscope::tensors
