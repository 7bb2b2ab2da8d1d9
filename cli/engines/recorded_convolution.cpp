#include "cli/engines/recorded_convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/term/escape.hpp"
#include "compare/measure/budget/op_view.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/stored_value.hpp"

namespace ulpscope::cli {
namespace {

using comparison::budget::OpView;
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

/// An argument for each spatial dimension; one number applies to all of them.
[[nodiscard]] std::vector<std::int64_t> numbers(const OpView& op, const Event& event,
                                                std::string_view name, std::size_t dimensions) {
  std::vector<std::int64_t> result = op.list(name);
  if (result.size() == 1) result.resize(dimensions, result.front());
  if (result.size() != dimensions)
    throw refused(
        event, fmt::format("its {} is {}", name, escaped(op.text(name).value_or("not recorded"))));
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
[[nodiscard]] RecordedConvolution common(const Run& run, std::uint32_t rank, const Event& event,
                                         const Slot& image) {
  RecordedConvolution made;
  made.dtype = image.geometry->dtype;
  const bool known = made.dtype == Dtype::float16 || made.dtype == Dtype::bfloat16 ||
                     made.dtype == Dtype::float32 || made.dtype == Dtype::float64;
  const std::size_t dimensions = image.geometry->sizes.size();
  if (!known || dimensions < 3 || dimensions > 5)
    throw refused(event, "cuDNN has no such convolution");
  const OpView op(run, rank, event);
  if (op.is_true("transposed")) throw refused(event, "it is transposed");
  made.padding = numbers(op, event, "padding", dimensions - 2);
  made.stride = numbers(op, event, "stride", dimensions - 2);
  made.dilation = numbers(op, event, "dilation", dimensions - 2);
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
    EventConvolution one{"output", common(run, rank, event, image),
                         bytes_of(run, rank, event, result)};
    one.convolution.image = recorded(run, rank, event, image);
    one.convolution.filter = recorded(run, rank, event, tensor(event, Role::input, 1));
    one.convolution.response = shape_of(result);
    return {std::move(one)};
  }
  const Slot& response = tensor(event, Role::input, 0);
  const Slot& image = tensor(event, Role::input, 1);
  const Slot& filter = tensor(event, Role::input, 2);
  std::vector<EventConvolution> gradients;
  const auto add = [&](std::size_t index, std::string_view called, ConvolutionKind kind) {
    const Slot* const result = slot_of(event, Role::output, index);
    if (result == nullptr) return;
    EventConvolution one{std::string(called), common(run, rank, event, image),
                         bytes_of(run, rank, event, *result)};
    const bool of_image = kind == ConvolutionKind::image_gradient;
    one.convolution.kind = kind;
    one.convolution.image = of_image ? shape_of(*result) : recorded(run, rank, event, image);
    one.convolution.filter = of_image ? recorded(run, rank, event, filter) : shape_of(*result);
    one.convolution.response = recorded(run, rank, event, response);
    gradients.push_back(std::move(one));
  };
  add(0, "grad_input", ConvolutionKind::image_gradient);
  add(1, "grad_weight", ConvolutionKind::filter_gradient);
  if (gradients.empty()) throw refused(event, "neither gradient was computed");
  return gradients;
}

}  // namespace ulpscope::cli
