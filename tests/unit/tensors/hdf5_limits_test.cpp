#include <doctest/doctest.h>
#include <time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "../../support/dump_builder.hpp"
#include "dump/h5.hpp"
#include "tensors/hdf5_process.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using namespace ulpscope::tensors;

namespace h5 = ulpscope::dump::h5;

namespace {

constexpr H5Z_filter_t kSlow = 300;  // of those that HDF5 leaves to tests
constexpr std::int64_t kChunks = 6;

/// In ms of processor time, for each chunk.
std::int64_t unpacking = 0;

/// Does nothing, slowly.
std::size_t unpack(unsigned flags, std::size_t, const unsigned*, std::size_t bytes, std::size_t*,
                   void**) {
  const auto computed = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  };
  if ((flags & H5Z_FLAG_REVERSE) == 0) return bytes;
  for (const std::int64_t begin = computed(); computed() < begin + unpacking;) continue;
  return bytes;
}

/// A file with a dataset x of numbers in chunks of one.
class SlowFile {
 public:
  explicit SlowFile(std::int64_t for_each_chunk) {
    unpacking = for_each_chunk;
    const H5Z_class2_t filter{H5Z_CLASS_T_VERS, kSlow, 1, 1, "slow", nullptr, nullptr, unpack};
    h5::checked("register a filter", H5Zregister(&filter));
    const h5::File file(h5::checked(
        "make a file", H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)));
    const h5::Properties properties(h5::checked("make properties", H5Pcreate(H5P_DATASET_CREATE)));
    const hsize_t one = 1;
    h5::checked("set chunks", H5Pset_chunk(properties.get(), 1, &one));
    h5::checked("set a filter",
                H5Pset_filter(properties.get(), kSlow, H5Z_FLAG_MANDATORY, 0, nullptr));
    const hsize_t size = kChunks;
    const h5::Space space = h5::space_of({&size, 1});
    const h5::Dataset dataset(
        h5::checked("make a dataset", H5Dcreate2(file.get(), "x", H5T_STD_I64LE, space.get(),
                                                 H5P_DEFAULT, properties.get(), H5P_DEFAULT)));
    const std::array<std::int64_t, kChunks> numbers{1, 2, 3, 4, 5, 6};
    h5::checked("write", H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                  numbers.data()));
  }

  [[nodiscard]] std::string path() const { return dir_.path() / "slow.h5"; }

 private:
  test::TempDir dir_;
};

/// Why the file is refused, if its numbers are read one after the other; else empty.
std::string read_all(const SlowFile& file, const Hdf5Limits& limits) {
  Hdf5Process process({file.path(), ""}, limits);
  CHECK(process.list().size() == 1);
  try {
    for (std::int64_t number = 0; number < kChunks; ++number)
      (void)process.read({"x", {}}, {number}, {1}, sizeof(number));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::version);
    return error.what();
  }
  return {};
}

constexpr std::uint64_t kNever = std::uint64_t{1} << 40;
constexpr const char* kTooLong = "cannot be read: HDF5 computes on it for too long";

}  // namespace

TEST_SUITE("hdf5_limits") {
  TEST_CASE("what HDF5 computes for one answer is limited") {
    const SlowFile file(10'000);
    const Hdf5Limits limits{.answer = 1, .reads = 1000};
    CHECK(read_all(file, limits).find(kTooLong) != std::string::npos);
  }

  TEST_CASE("what HDF5 computes for all answers together is limited") {
    const SlowFile file(400);
    const Hdf5Limits limits{
        .answer = 1000, .reads = 1, .bytes_in_second = kNever, .elements_in_second = kNever};
    CHECK(read_all(file, limits).find(kTooLong) != std::string::npos);
  }

  TEST_CASE("who has read more may compute more") {
    const SlowFile file(400);
    Hdf5Limits limits{
        .answer = 1000, .reads = 1, .bytes_in_second = kNever, .elements_in_second = kNever};
    SUBCASE("bytes") { limits.bytes_in_second = sizeof(std::int64_t); }
    SUBCASE("elements") { limits.elements_in_second = 1; }
    CHECK(read_all(file, limits).empty());
  }
}
