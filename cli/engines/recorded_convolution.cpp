#include "cli/engines/recorded_convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/term/escape.hpp"
#include "cli/values/stored_value.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

using device::ConvolutionKind;
using device::RecordedConvolution;
using device::RecordedTensor;

[[nodiscard]] Error refused(const Event& event, std::string_view why,
                            std::string_view way_out =
                                "name an event whose op is aten::cudnn_convolution, "
                                "aten::convolution or aten::convolution_backward") {
  return {ErrorCode::usage,
          fmt::format("event {} is {}: {}", event.position, escaped(event.op), why),
          std::string(way_out)};
}

[[nodiscard]] std::string argument(const Event& event, std::string_view name) {
  for (const Argument& one : arguments(event))
    if (one.name == name && !one.result) return one.text;
  return {};
}

/// "[1, 2]", or "1" for all dimensions.
[[nodiscard]] std::vector<std::int64_t> numbers(const Event& event, std::string_view name,
                                                std::size_t dimensions) {
  const std::string text = argument(event, name);
  std::vector<std::int64_t> result;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc()) result.push_back(number);
    at = error == std::errc() ? next : at + 1;
  }
  if (result.size() == 1) result.resize(dimensions, result.front());
  if (result.size() != dimensions)
    throw refused(event,
                  fmt::format("its {} is {}", name, text.empty() ? "not recorded" : escaped(text)));
  return result;
}

[[nodiscard]] const Slot* slot_of(const Event& event, Role role, std::size_t index) {
  const auto at = std::find_if(event.slots.begin(), event.slots.end(), [&](const Slot& slot) {
    return slot.role == role && slot.index == index;
  });
  const bool there =
      at != event.slots.end() && at->geometry != nullptr && (at->flags & slot_flag::undefined) == 0;
  return there ? &*at : nullptr;
}

[[nodiscard]] const Slot& tensor(const Event& event, Role role, std::size_t index) {
  const Slot* const slot = slot_of(event, role, index);
  if (slot == nullptr) throw refused(event, "a tensor of it was not recorded");
  return *slot;
}

[[nodiscard]] std::vector<std::byte> bytes_of(const Run& run, std::uint32_t rank,
                                              const Event& event, const Slot& slot) {
  StoredValue value;
  value.rank = rank;
  value.digest = slot.digest;
  value.geometry = *slot.geometry;
  value.has_digest = (slot.flags & slot_flag::no_digest) == 0;
  auto bytes = row_major_bytes(run, value);
  if (!bytes)
    throw refused(
        event,
        fmt::format("the dump does not hold the bytes of its {} {}", name(slot.role), slot.index),
        "record with --level full");
  return std::move(*bytes);
}

[[nodiscard]] RecordedTensor shape_of(const Slot& slot) {
  return {slot.geometry->sizes, slot.geometry->strides, {}};
}

[[nodiscard]] RecordedTensor recorded(const Run& run, std::uint32_t rank, const Event& event,
                                      const Slot& slot) {
  RecordedTensor result = shape_of(slot);
  result.bytes = bytes_of(run, rank, event, slot);
  return result;
}

[[nodiscard]] bool is_backward(const Event& event) {
  return event.op.find("_backward") != std::string_view::npos;
}

/// What all convolutions of an event have in common.
[[nodiscard]] RecordedConvolution common(const Event& event, const Slot& image) {
  RecordedConvolution made;
  made.dtype = image.geometry->dtype;
  const bool known = made.dtype == Dtype::float16 || made.dtype == Dtype::bfloat16 ||
                     made.dtype == Dtype::float32 || made.dtype == Dtype::float64;
  const std::size_t dimensions = image.geometry->sizes.size();
  if (!known || dimensions < 3 || dimensions > 5)
    throw refused(event, "cuDNN has no such convolution");
  if (argument(event, "transposed") == "True") throw refused(event, "it is transposed");
  made.padding = numbers(event, "padding", dimensions - 2);
  made.stride = numbers(event, "stride", dimensions - 2);
  made.dilation = numbers(event, "dilation", dimensions - 2);
  return made;
}

}  // namespace

std::vector<EventConvolution> convolutions_of(const Run& run, std::uint32_t rank,
                                              const Event& event) {
  if (event.op.find("convolution") == std::string_view::npos && !event.op.starts_with("aten::conv"))
    throw refused(event, "it is no convolution");
  if (!is_backward(event)) {
    const Slot& image = tensor(event, Role::input, 0);
    const Slot& result = tensor(event, Role::output, 0);
    const Slot* const bias = slot_of(event, Role::input, 2);
    if (bias != nullptr && event.op != "aten::cudnn_convolution")
      throw refused(event, "it adds a bias, which no engine does");
    EventConvolution one{"output", common(event, image), bytes_of(run, rank, event, result)};
    one.convolution.image = recorded(run, rank, event, image);
    one.convolution.filter = recorded(run, rank, event, tensor(event, Role::input, 1));
    one.convolution.response = shape_of(result);
    return {std::move(one)};
  }
  const Slot& response = tensor(event, Role::input, 0);
  const Slot& image = tensor(event, Role::input, 1);
  const Slot& filter = tensor(event, Role::input, 2);
  std::vector<EventConvolution> gradients;
  if (const Slot* const result = slot_of(event, Role::output, 0)) {
    EventConvolution one{"grad_input", common(event, image), bytes_of(run, rank, event, *result)};
    one.convolution.kind = ConvolutionKind::image_gradient;
    one.convolution.image = shape_of(*result);
    one.convolution.filter = recorded(run, rank, event, filter);
    one.convolution.response = recorded(run, rank, event, response);
    gradients.push_back(std::move(one));
  }
  if (const Slot* const result = slot_of(event, Role::output, 1)) {
    EventConvolution one{"grad_weight", common(event, image), bytes_of(run, rank, event, *result)};
    one.convolution.kind = ConvolutionKind::filter_gradient;
    one.convolution.image = recorded(run, rank, event, image);
    one.convolution.filter = shape_of(*result);
    one.convolution.response = recorded(run, rank, event, response);
    gradients.push_back(std::move(one));
  }
  if (gradients.empty()) throw refused(event, "neither gradient was computed");
  return gradients;
}

}  // namespace ulpscope::cli
