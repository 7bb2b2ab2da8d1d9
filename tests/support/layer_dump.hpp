#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tests/support/dump_builder.hpp"
#include "ulpscope/digest.hpp"

/// Adds values with real bytes to the events of a lane, as a program recorded at level full sends
/// them.
namespace ulpscope::test {

/// A tensor as it is recorded: bytes packed in memory order.
struct Tensor {
  Dtype dtype = Dtype::float32;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> strides = {};  ///< none: row-major
};

template <class T>
[[nodiscard]] Tensor tensor(Dtype dtype, std::vector<std::int64_t> sizes,
                            const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {dtype, std::move(sizes), {bytes.begin(), bytes.end()}, {}};
}

/// One dimension of float32.
[[nodiscard]] inline Tensor floats(const std::vector<float>& numbers) {
  return tensor(Dtype::float32, {static_cast<std::int64_t>(numbers.size())}, numbers);
}

/// Sends the tensor's bytes and adds it to the event.
inline ring::SlotRow& add_tensor(LaneBuilder& lane, LaneBuilder::EventBuilder& event, Role role,
                                 std::uint16_t index, const Tensor& tensor,
                                 std::string_view name = {}, std::uint32_t flags = 0) {
  const Digest content = digest(tensor.bytes);
  lane.messages.content(content, tensor.bytes);
  const TensorSpec spec{.digest = 1,
                        .flags = flags | slot_flag::has_content,
                        .name = name,
                        .sizes = tensor.sizes,
                        .dtype = tensor.dtype};
  if (role == Role::input) event.input(spec);
  if (role == Role::output) event.output(spec);
  if (role == Role::mutated) event.mutated(spec);
  ring::SlotRow& row = event.slots().back();
  row.digest[0] = content.high;
  row.digest[1] = content.low;
  row.value = content.low;
  row.index = index;
  if (!tensor.strides.empty()) {
    row.geometry = lane.messages.strided_geometry(tensor.dtype, tensor.sizes, tensor.strides);
  }
  return row;
}

}  // namespace ulpscope::test
