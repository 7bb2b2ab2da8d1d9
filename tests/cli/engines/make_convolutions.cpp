#include <array>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <vector>

#include "core/argument_writer.hpp"
#include "tests/support/host_engines.hpp"
#include "tests/support/layer_dump.hpp"

/// Makes dumps of convolutions that one of the host's engines has computed.
namespace {

using namespace ulpscope;
using namespace ulpscope::test;

constexpr std::array<std::int64_t, 2> kOnes{1, 1};
constexpr std::array<std::int64_t, 4> kImage{1, 2, 5, 4};
constexpr std::array<std::int64_t, 4> kFilter{3, 2, 3, 3};
constexpr std::array<std::int64_t, 4> kResponse{1, 3, 5, 4};

using Numbers = std::vector<float>;

std::size_t count_of(const std::array<std::int64_t, 4>& sizes) {
  return static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]);
}

std::array<std::int64_t, 4> strides_of(const std::array<std::int64_t, 4>& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

/// Thirds, so that sums are rounded.
Numbers numbers(const std::array<std::int64_t, 4>& sizes, unsigned seed) {
  Numbers result;
  for (unsigned i = 0; i < count_of(sizes); ++i)
    result.push_back(static_cast<float>((seed * 37U + i * 11U) % 64U) / 3.0F - 10.0F);
  return result;
}

Tensor tensor_of(const std::array<std::int64_t, 4>& sizes, const Numbers& values) {
  return tensor(Dtype::float32, {sizes.begin(), sizes.end()}, values);
}

struct Tensors {
  Numbers image = numbers(kImage, 1);
  Numbers filter = numbers(kFilter, 2);
  Numbers response = numbers(kResponse, 3);
};

/// What an engine makes of two of the tensors takes the place of the third.
Numbers computed(device::ConvolutionKind kind, Tensors tensors, std::int64_t engine) {
  const auto& functions = host_engines();
  const auto strides = std::array{strides_of(kImage), strides_of(kFilter), strides_of(kResponse)};
  const device::Convolution convolution{kind,
                                        Dtype::float32,
                                        {kImage, strides[0], tensors.image.data()},
                                        {kFilter, strides[1], tensors.filter.data()},
                                        {kResponse, strides[2], tensors.response.data()},
                                        kOnes,
                                        kOnes,
                                        kOnes};
  int status = 0;
  device::EngineSet* const engines = functions.open(convolution, status);
  static_cast<void>(functions.run(engines, engine, {}, nullptr));
  functions.close(engines);
  return kind == device::ConvolutionKind::forward          ? tensors.response
         : kind == device::ConvolutionKind::image_gradient ? tensors.image
                                                           : tensors.filter;
}

std::vector<std::byte> arguments(std::uint16_t first) {
  std::array<std::byte, 256> buffer{};
  ArgumentWriter writer(buffer);
  for (std::uint16_t k = 0; k < 3; ++k)
    writer.int_list(static_cast<std::uint16_t>(first + k), kOnes);
  writer.boolean(static_cast<std::uint16_t>(first + 3), false);
  return {writer.bytes().begin(), writer.bytes().end()};
}

constexpr std::string_view kForwardNames = "input,weight,bias,stride,padding,dilation,transposed";

void add_forward(LaneBuilder& lane, const Numbers& result, bool bias) {
  const Tensors tensors;
  auto& op = lane.op("aten::convolution").arguments(arguments(3));
  op.row().op = lane.messages.op("aten::convolution", "", kForwardNames);
  add_tensor(lane, op, Role::input, 0, tensor_of(kImage, tensors.image));
  add_tensor(lane, op, Role::input, 1, tensor_of(kFilter, tensors.filter), "conv.weight");
  if (bias) add_tensor(lane, op, Role::input, 2, floats({1, 2, 3}), "conv.bias");
  add_tensor(lane, op, Role::output, 0, tensor_of(kResponse, result));
}

void add_backward(LaneBuilder& lane) {
  const Tensors tensors;
  auto& op = lane.op("aten::convolution_backward").backward().arguments(arguments(4));
  op.row().op =
      lane.messages.op("aten::convolution_backward", "",
                       "grad_output,input,weight,bias_sizes,stride,padding,dilation,transposed");
  add_tensor(lane, op, Role::input, 0, tensor_of(kResponse, tensors.response));
  add_tensor(lane, op, Role::input, 1, tensor_of(kImage, tensors.image));
  add_tensor(lane, op, Role::input, 2, tensor_of(kFilter, tensors.filter), "conv.weight");
  add_tensor(
      lane, op, Role::output, 0,
      tensor_of(kImage, computed(device::ConvolutionKind::image_gradient, tensors, kForwards)));
  add_tensor(
      lane, op, Role::output, 1,
      tensor_of(kFilter, computed(device::ConvolutionKind::filter_gradient, tensors, kBackwards)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_convolutions DIRECTORY\n";
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);

  dump::RecordingOptions options;
  options.level = "full";
  DumpBuilder dump(directory / "convolutions", options);
  LaneBuilder& lane = dump.lane();
  const Numbers right = computed(device::ConvolutionKind::forward, {}, kBackwards);
  add_forward(lane, right, /*bias=*/false);
  add_backward(lane);
  Numbers other = right;
  other[7] += 1;
  add_forward(lane, other, /*bias=*/false);
  auto& relu = lane.op("aten::relu");
  add_tensor(lane, relu, Role::output, 0, floats({1}));
  add_forward(lane, right, /*bias=*/true);
  dump.finish();

  DumpBuilder others(directory / "others", options);
  LaneBuilder& theirs = others.lane();
  add_forward(theirs, computed(device::ConvolutionKind::forward, {}, kForwards), /*bias=*/false);
  add_forward(theirs, right, /*bias=*/false);
  others.finish();

  DumpBuilder digests(directory / "digests");
  LaneBuilder& only = digests.lane();
  auto& op = only.op("aten::convolution").arguments(arguments(3));
  op.row().op = only.messages.op("aten::convolution", "", kForwardNames);
  const auto sizes = [](const auto& of) { return std::vector<std::int64_t>(of.begin(), of.end()); };
  op.input({.digest = 1, .sizes = sizes(kImage)}).input({.digest = 2, .sizes = sizes(kFilter)});
  op.output({.digest = 3, .sizes = sizes(kResponse)});
  op.slots().back().index = 0;
  digests.finish();
  return 0;
}
