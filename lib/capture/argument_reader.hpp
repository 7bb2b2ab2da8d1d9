#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>

#include "capture/op_info.hpp"
#include "core/argument_writer.hpp"

namespace ulpscope::capture {

/// Writes one argument or returned value that is not a tensor. `index` as ArgumentWriter has it;
/// `info` tells which integers are dtypes, layouts or memory formats.
void write_argument(ArgumentWriter& writer, std::uint16_t index, const c10::IValue& value,
                    const ArgumentInfo& info);

/// Calls visit(tensor, element) for the tensor that `value` is or for each tensor in its list.
/// Undefined tensors and absent optional ones are visited as undefined.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    visit(value.toTensor(), std::uint16_t{0});
    return;
  }
  if (!value.isList()) return;
  static const at::Tensor kUndefined;
  std::uint16_t element = 0;
  for (const c10::IValue& item : value.toListRef()) {
    if (item.isTensor())
      visit(item.toTensor(), element);
    else if (item.isNone())
      visit(kUndefined, element);
    else
      return;
    ++element;
  }
}

/// Whether for_each_tensor finds tensors in it.
[[nodiscard]] inline bool holds_tensors(const c10::IValue& value) {
  if (value.isTensor()) return true;
  if (!value.isList()) return false;
  const auto items = value.toListRef();
  return !items.empty() && (items[0].isTensor() || (items[0].isNone() && items.size() > 1));
}

}  // namespace ulpscope::capture
