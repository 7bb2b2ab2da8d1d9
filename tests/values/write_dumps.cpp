// Writes dumps with values of every dtype, and the two runs of cli/docs/values.md:
// write_values_dumps DIRECTORY
#include <complex>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/dump_builder.hpp"
#include "tests/support/layer_dump.hpp"

using namespace ulpscope;
using test::add_tensor;
using test::DumpBuilder;
using test::LaneBuilder;
using test::tensor;
using test::Tensor;

namespace {

auto& call_of(LaneBuilder& lane, std::string_view module) {
  lane.op("aten::op").root("Net").module(module);
  return lane.add(EventKind::module, "Layer").root("Net").module(module).object(1);
}

void end_step(LaneBuilder& lane) {
  lane.add(EventKind::optimizer, "SGD::step").object(9).no_grad();
  lane.send();
}

/// The lowest, some and the highest number of a type.
template <class T>
Tensor extremes(Dtype dtype) {
  using Limits = std::numeric_limits<T>;
  return tensor<T>(dtype, {2, 3},
                   {Limits::lowest(), T{1}, T{2}, T{3}, Limits::min(), Limits::max()});
}

/// Every number of an 8-bit or 16-bit format.
template <class Bits>
Tensor all_bits(Dtype dtype) {
  std::vector<Bits> numbers;
  for (std::uint32_t bits = 0; bits <= std::numeric_limits<Bits>::max(); ++bits)
    numbers.push_back(static_cast<Bits>(bits));
  return tensor<Bits>(dtype, {static_cast<std::int64_t>(numbers.size() / 16), 16}, numbers);
}

void write_dtypes(const std::filesystem::path& directory) {
  DumpBuilder dump(directory, {.level = "full"});
  LaneBuilder& lane = dump.lane();
  const auto returns = [&](const Tensor& value, std::string_view module) {
    add_tensor(lane, call_of(lane, module), Role::output, 0, value);
  };
  const auto returns_dtype = [&](const Tensor& value) { returns(value, name(value.dtype)); };
  returns_dtype(tensor<std::uint8_t>(Dtype::bool_, {3}, {1, 0, 1}));
  returns_dtype(extremes<std::uint8_t>(Dtype::uint8));
  returns_dtype(extremes<std::uint16_t>(Dtype::uint16));
  returns_dtype(extremes<std::uint32_t>(Dtype::uint32));
  returns_dtype(extremes<std::uint64_t>(Dtype::uint64));
  returns_dtype(extremes<std::int8_t>(Dtype::int8));
  returns_dtype(extremes<std::int16_t>(Dtype::int16));
  returns_dtype(extremes<std::int32_t>(Dtype::int32));
  returns_dtype(extremes<std::int64_t>(Dtype::int64));
  returns_dtype(extremes<float>(Dtype::float32));
  returns_dtype(extremes<double>(Dtype::float64));
  returns_dtype(tensor<std::complex<float>>(Dtype::complex64, {2}, {{1.5F, -2}, {-0.0F, 1e-45F}}));
  returns_dtype(tensor<std::complex<double>>(Dtype::complex128, {1}, {{0.1, -1e-300}}));
  returns_dtype(tensor<std::uint16_t>(Dtype::complex32, {2}, {0x3c00, 0xc001, 0x0001, 0xfc00}));
  returns_dtype(all_bits<std::uint16_t>(Dtype::float16));
  returns_dtype(all_bits<std::uint16_t>(Dtype::bfloat16));
  returns_dtype(all_bits<std::uint8_t>(Dtype::float8_e5m2));
  returns_dtype(all_bits<std::uint8_t>(Dtype::float8_e4m3fn));
  returns_dtype(all_bits<std::uint8_t>(Dtype::float8_e5m2fnuz));
  returns_dtype(all_bits<std::uint8_t>(Dtype::float8_e4m3fnuz));
  returns(tensor<float>(Dtype::float32, {}, {-1.25F}), "scalar");
  returns(tensor<float>(Dtype::float32, {0, 3}, {}), "empty");
  Tensor permuted = tensor<float>(Dtype::float32, {2, 3}, {1, 4, 2, 5, 3, 6});
  permuted.strides = {1, 2};
  returns(permuted, "permuted");
  end_step(lane);
  dump.finish();
}

/// A run of four steps in which a layer returns a batch of two images with three channels. In the
/// second channel of the last step, numbers differ between runs by `error` of them.
void write_run(const std::filesystem::path& directory, float error) {
  DumpBuilder dump(directory, {.level = "full"});
  LaneBuilder& lane = dump.lane();
  for (int step = 0; step < 4; ++step) {
    std::vector<float> numbers;
    for (int i = 0; i < 2 * 3 * 4 * 4; ++i) {
      const int channel = i / 16 % 3;
      const bool differs = channel == 1 && step == 3;
      const auto number = static_cast<float>(i + 1) / 8;
      numbers.push_back(differs ? number * (1 + error) : number);
    }
    add_tensor(lane, call_of(lane, "layer1.conv1"), Role::output, 0,
               tensor<float>(Dtype::float32, {2, 3, 4, 4}, numbers));
    end_step(lane);
  }
  dump.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path directory = argv[1];
  write_dtypes(directory / "dtypes");
  write_run(directory / "runs" / "a", 0);
  write_run(directory / "runs" / "b", 1.0F / 1024);
}
