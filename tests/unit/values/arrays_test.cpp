#include "ulpscope/arrays.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <fstream>
#include <ranges>
#include <vector>

#include "tests/support/dump_builder.hpp"
#include "tests/support/layer_dump.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::add_tensor;
using test::DumpBuilder;
using test::floats;
using test::LaneBuilder;
using test::TempDir;
using test::tensor;
using test::Tensor;

namespace {

static_assert(std::ranges::random_access_range<decltype(values(std::declval<const Run&>()))>);
static_assert(!Element<long double> && !Element<std::complex<int>> && !Element<char*>);

constexpr std::string_view kOutput = "steps/000000/forward/fc/0/output.0";

/// A dump at level full in which the layer fc returned the tensors.
class OneLayer {
 public:
  explicit OneLayer(const std::vector<Tensor>& outputs) {
    DumpBuilder dump(dir_.path(), {.level = "full"});
    LaneBuilder& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    auto& call = lane.add(EventKind::module, "Layer").root("Net").module("fc").object(1);
    for (std::uint16_t i = 0; i < outputs.size(); ++i)
      add_tensor(lane, call, Role::output, i, outputs[i]);
    lane.add(EventKind::optimizer, "SGD::step").object(9).no_grad();
    dump.finish();
    run_ = open_dump(dir_.path());
  }
  [[nodiscard]] const Run& operator*() const { return *run_; }
  [[nodiscard]] const std::filesystem::path& path() const { return dir_.path(); }

 private:
  TempDir dir_;
  std::unique_ptr<Run> run_;
};

/// The error that a call throws.
template <class Call>
[[nodiscard]] Error error_of(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return {ErrorCode::io, ""};
}

template <class T>
[[nodiscard]] std::vector<T> numbers(const xt::xarray<T>& array) {
  return std::vector<T>(array.begin(), array.end());
}

/// A tensor that claims other sizes than its bytes have, in the table of events.
[[nodiscard]] Tensor claiming(Tensor tensor, std::vector<std::int64_t> sizes,
                              std::vector<std::int64_t> strides = {}) {
  tensor.sizes = std::move(sizes);
  tensor.strides = std::move(strides);
  return tensor;
}

TEST_SUITE("arrays of recorded values") {
  TEST_CASE("shape and numbers are the recorded tensor's, in row-major order") {
    Tensor transposed = floats({1, 4, 2, 5, 3, 6});
    transposed.sizes = {2, 3};
    transposed.strides = {1, 2};
    const OneLayer dump({transposed});
    for (const std::string_view path :
         {kOutput, std::string_view("0/1/output.0"), std::string_view("event:1/output.0")}) {
      CAPTURE(path);
      const auto array = read_value<float>(*dump, path);
      CHECK(array.dimension() == 2);
      CHECK(array(0, 2) == 3);
      CHECK(numbers(array) == std::vector<float>{1, 2, 3, 4, 5, 6});
    }
  }

  TEST_CASE("a view has the bytes that were read, and keeps them") {
    const OneLayer dump({floats({1.5F, std::bit_cast<float>(0x7fc00123U), -0.0F})});
    const auto view = [&] { return values(*dump, kOutput).front().view<float>(); }();
    CHECK(view.shape(0) == 3);
    CHECK(view(0) == 1.5F);
    CHECK(std::bit_cast<std::uint32_t>(view(1)) == 0x7fc00123U);
    CHECK(std::bit_cast<std::uint32_t>(view(2)) == 0x80000000U);
    const auto copy = view;
    CHECK(copy.data() == view.data());
  }

  TEST_CASE("a dimension that was expanded is repeated") {
    const OneLayer dump({claiming(floats({7, 8}), {2, 3}, {1, 0})});
    CHECK(numbers(read_value<float>(*dump, "0/1/output.0")) ==
          std::vector<float>{7, 7, 7, 8, 8, 8});
  }

  TEST_CASE("a tensor without dimensions has one element, an empty one has none") {
    const OneLayer dump({claiming(floats({42}), {}), claiming(floats({}), {0, 3})});
    const auto scalar = read_value<float>(*dump, kOutput);
    CHECK(scalar.dimension() == 0);
    CHECK(scalar() == 42);
    const auto all = values(*dump);
    REQUIRE(all.size() == 2);
    CHECK(all[0].view<float>()() == 42);
    const auto empty = all[1].read<double>();
    CHECK(empty.size() == 0);
    CHECK(empty.shape(1) == 3);
    CHECK(all[1].view<float>().size() == 0);
  }

  TEST_CASE("a type that holds every number of the dtype takes them") {
    const OneLayer dump({tensor<std::int16_t>(Dtype::int16, {2}, {-32768, 32767}),
                         tensor<std::uint8_t>(Dtype::bool_, {2}, {1, 0}),
                         tensor<std::uint16_t>(Dtype::bfloat16, {2}, {0x3fc0, 0xff80}),
                         tensor<std::uint16_t>(Dtype::complex32, {1}, {0x3c00, 0xc000})});
    const auto all = values(*dump);
    REQUIRE(all.size() == 4);
    CHECK(numbers(all[0].read<float>()) == std::vector<float>{-32768, 32767});
    CHECK(numbers(all[0].read<std::int64_t>()) == std::vector<std::int64_t>{-32768, 32767});
    CHECK(numbers(all[0].read<std::complex<float>>())[0] == std::complex<float>(-32768, 0));
    CHECK(numbers(all[1].read<bool>()) == std::vector<bool>{true, false});
    CHECK(numbers(all[1].read<std::uint8_t>()) == std::vector<std::uint8_t>{1, 0});
    CHECK(numbers(all[2].read<double>()) == std::vector<double>{1.5, -INFINITY});
    CHECK(numbers(all[2].read<float>()) == numbers<float>(all[2].view<float>()));
    CHECK(numbers(all[3].read<std::complex<double>>())[0] == std::complex<double>(1, -2));
  }

  TEST_CASE("a type that cannot hold every number of the dtype is refused") {
    const OneLayer dump(
        {tensor<double>(Dtype::float64, {1}, {0.1}), tensor<std::int32_t>(Dtype::int32, {1}, {1}),
         tensor<std::uint8_t>(Dtype::uint8, {1}, {1}), tensor<float>(Dtype::complex64, {1}, {1, 2}),
         tensor<std::uint8_t>(Dtype::bool_, {1}, {1})});
    const auto all = values(*dump);
    REQUIRE(all.size() == 5);
    const Error error = error_of([&] { return all[0].read<float>(); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(std::string(error.what()) == "'" + std::string(kOutput) + "' is float64, not float32");
    CHECK(error.hint() == "read it as float64");
    CHECK_THROWS_AS(static_cast<void>(all[0].read<std::int64_t>()), Error);
    CHECK_THROWS_AS(static_cast<void>(all[1].read<float>()), Error);
    CHECK_THROWS_AS(static_cast<void>(all[1].read<std::uint64_t>()), Error);
    CHECK_THROWS_AS(static_cast<void>(all[2].read<std::int8_t>()), Error);
    CHECK_THROWS_AS(static_cast<void>(all[3].read<double>()), Error);
    CHECK_THROWS_AS(static_cast<void>(all[2].read<bool>()), Error);
    // A view converts nothing.
    CHECK_THROWS_AS(static_cast<void>(all[2].view<std::int16_t>()), Error);
    CHECK_THROWS_AS(static_cast<void>(all[4].view<std::uint8_t>()), Error);
    CHECK_NOTHROW(static_cast<void>(all[4].view<bool>()));
  }

  TEST_CASE("dtypes that C++ has no numbers for are refused") {
    const OneLayer dump({tensor<std::uint8_t>(Dtype::quint8, {2}, {1, 2}),
                         tensor<std::uint8_t>(static_cast<Dtype>(17), {2}, {1, 2})});
    for (const char* path : {"0/1/output.0", "0/1/output.1"}) {
      CAPTURE(path);
      const Error error = error_of([&] { return read_value<float>(*dump, path); });
      CHECK(error.code() == ErrorCode::usage);
      CHECK(std::string(error.what()).find("is not an array that can be read") !=
            std::string::npos);
    }
  }

  TEST_CASE("a bool that is neither 0 nor 1 is damage") {
    const OneLayer dump({tensor<std::uint8_t>(Dtype::bool_, {2}, {1, 2})});
    const Error error = error_of([&] { return read_value<bool>(*dump, "0/1/output.0"); });
    CHECK(error.code() == ErrorCode::corrupt);
  }

  TEST_CASE("what is not in the dump is said, with what would record it") {
    const TempDir dir;
    {
      DumpBuilder dump(dir.path());
      dump.lane().op("aten::mm").output({.digest = 1});
      dump.finish();
    }
    const auto digests = open_dump(dir.path());
    const Error bytes = error_of([&] { return read_value<float>(*digests, "setup/0/output.0"); });
    CHECK(bytes.code() == ErrorCode::usage);
    CHECK(std::string(bytes.what()).find("was recorded without its bytes") != std::string::npos);
    CHECK(bytes.hint() == "bytes are in dumps recorded with --level full");
    const Error layer = error_of([&] { return read_value<float>(*digests, kOutput); });
    CHECK(layer.hint() == "values of layers are in dumps recorded with --level full");
    const OneLayer full({floats({1})});
    const Error path = error_of([&] { return read_value<float>(*full, "steps/000000/nothing"); });
    CHECK(path.code() == ErrorCode::usage);
    CHECK(std::string(path.what()).ends_with("has no value 'steps/000000/nothing'"));
  }

  TEST_CASE("more elements than the content has are refused before they are allocated") {
    constexpr std::int64_t kMany = (std::int64_t{1} << 31) + 1;
    const OneLayer dump({claiming(floats({1, 2}), {kMany}),
                         claiming(floats({1, 2}), {kMany, kMany, kMany}),
                         claiming(floats({1, 2}), {2, kMany}, {1, 0}),
                         claiming(floats({1, 2}), {1}), claiming(floats({1, 2}), {-3})});
    struct Case {
      const char* path;
      ErrorCode code;
    };
    const std::vector<Case> cases{{"0/1/output.0", ErrorCode::corrupt},
                                  {"0/1/output.1", ErrorCode::usage},
                                  {"0/1/output.2", ErrorCode::usage},
                                  {"0/1/output.3", ErrorCode::corrupt},
                                  {"0/1/output.4", ErrorCode::usage}};
    for (const Case& one : cases) {
      CAPTURE(one.path);
      const Error error = error_of([&] { return read_value<float>(*dump, one.path); });
      CHECK(error.code() == one.code);
    }
    CHECK(std::string(error_of([&] { return read_value<float>(*dump, "0/1/output.0"); }).what())
              .find("has 8 bytes, where its shape needs 8589934596") != std::string::npos);
  }

  TEST_CASE("a value whose bytes changed in the file is not returned") {
    const OneLayer dump({floats({1, 2, 3})});
    const auto segment = dump.path() / "rank0000" / "segment-000000.h5";
    std::fstream file(segment, std::ios::binary | std::ios::in | std::ios::out);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::vector<float> numbers{1, 2, 3};
    const std::size_t at =
        text.find({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
    REQUIRE(at != std::string::npos);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\1').flush();
    const Error error = error_of([&] { return read_value<float>(*dump, kOutput); });
    CHECK(error.code() == ErrorCode::corrupt);
  }

  TEST_CASE("a truncated segment is refused") {
    const OneLayer dump({floats({1, 2, 3})});
    const auto segment = dump.path() / "rank0000" / "segment-000000.h5";
    std::filesystem::resize_file(segment, std::filesystem::file_size(segment) / 2);
    const Error error = error_of([&] {
      const auto run = open_dump(dump.path());
      return read_value<float>(*run, kOutput);
    });
    CHECK(error.code() == ErrorCode::corrupt);
  }
}

}  // namespace
