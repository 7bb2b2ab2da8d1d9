#pragma once

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstdint>

#include "capture/op_info.hpp"
#include "core/argument_writer.hpp"

namespace ulpscope::capture {

/// Writes one argument or returned value that is not a tensor. `index` is that of ArgumentWriter;
/// `info` says which integers are dtypes, layouts or memory formats.
void write_argument(ArgumentWriter& writer, std::uint16_t index, const c10::IValue& value,
                    const ArgumentInfo& info);

namespace detail {

/// Visits the tensors of `items` on from `element`; false if an item is not a tensor.
template <class Visit>
bool visit_tensors(c10::ArrayRef<c10::IValue> items, std::uint16_t& element, Visit& visit) {
  static const at::Tensor kUndefined;
  for (const c10::IValue& item : items) {
    if (item.isList()) {
      if (!visit_tensors(item.toListRef(), element, visit)) return false;
      continue;
    }
    if (!item.isTensor() && !item.isNone()) return false;
    visit(item.isTensor() ? item.toTensor() : kUndefined, element++);
  }
  return true;
}

}  // namespace detail

/// Calls visit(tensor, element) for the tensor that `value` is or for each tensor in its list, or
/// in its list of lists (c10d's Tensor[][]), counted through. Undefined tensors and absent optional
/// ones are visited as undefined.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit&& visit) {
  std::uint16_t element = 0;
  if (value.isTensor())
    visit(value.toTensor(), element);
  else if (value.isList())
    detail::visit_tensors(value.toListRef(), element, visit);
}

/// Whether for_each_tensor finds tensors in it.
[[nodiscard]] inline bool holds_tensors(const c10::IValue& value) {
  if (value.isTensor()) return true;
  if (!value.isList()) return false;
  const auto items = value.toListRef();
  if (items.empty()) return false;
  if (items[0].isList())
    return std::any_of(items.begin(), items.end(),
                       [](const c10::IValue& item) { return holds_tensors(item); });
  return items[0].isTensor() || (items[0].isNone() && items.size() > 1);
}

}  // namespace ulpscope::capture
