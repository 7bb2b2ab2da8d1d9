#include "replay/op_call.hpp"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "replay/gpu_ops.hpp"
#include "replay/precision.hpp"
#include "replay/stored_arguments.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::replay {
namespace {

[[noreturn]] void refuse(const char* why) { throw Error(ErrorCode::usage, why); }

/// Elements that the strides reach, from the first on.
std::int64_t reach(const ReplayTensor& tensor) {
  if (tensor.strides.size() != tensor.sizes.size()) refuse("sizes and strides do not fit");
  std::int64_t last = 0;
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] < 0 || tensor.strides[d] < 0) refuse("a size is negative");
    if (tensor.sizes[d] == 0) return 0;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(tensor.sizes[d] - 1, tensor.strides[d], &step) ||
        __builtin_add_overflow(last, step, &last))
      refuse("a tensor is larger than memory");
  }
  return last + 1;
}

at::Tensor to_tensor(const ReplayTensor& given, Precision precision) {
  if (!given.defined) return {};
  const std::int64_t elements = reach(given);
  at::Tensor flat = at::empty({elements}, static_cast<c10::ScalarType>(given.dtype));
  if (given.bytes.empty())
    flat.zero_();
  else if (given.bytes.size() != flat.nbytes())
    refuse("a tensor has not as many bytes as elements");
  else
    std::memcpy(flat.mutable_data_ptr(), given.bytes.data(), given.bytes.size());
  const c10::ScalarType type = computing_type(given.dtype, precision);
  at::Tensor tensor = at::as_strided(flat.to(type), given.sizes, given.strides);
  if (given.wrapped_number && precision == Precision::recorded)
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

/// The tensors of one argument, by their element.
using Elements = std::map<std::uint16_t, at::Tensor>;

c10::IValue list_argument(const Elements& elements, const c10::Type& element_type) {
  if (element_type.kind() == c10::TypeKind::OptionalType) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& [index, tensor] : elements)
      list.push_back(tensor.defined() ? std::optional(tensor) : std::nullopt);
    return list;
  }
  c10::List<at::Tensor> list;
  for (const auto& [index, tensor] : elements) list.push_back(tensor);
  return list;
}

c10::IValue tensor_argument(const c10::Argument& argument, const Elements& elements) {
  c10::TypePtr type = argument.type();
  if (const auto optional = type->cast<c10::OptionalType>()) {
    type = optional->getElementType();
    if (elements.size() == 1 && !elements.begin()->second.defined()) return {};
  }
  if (const auto list = type->cast<c10::ListType>())
    return list_argument(elements, *list->getElementType());
  if (elements.size() != 1) refuse("an argument has several tensors");
  return elements.begin()->second;
}

/// A list of floats may have been recorded as whole numbers; of an object, its content was
/// recorded.
c10::IValue fitted(const c10::Argument& argument, c10::IValue value) {
  c10::TypePtr type = argument.type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  if (type->kind() == c10::TypeKind::ClassType) refuse("an argument's value was not recorded");
  if (type->kind() == c10::TypeKind::FloatType && value.isInt())
    return static_cast<double>(value.toInt());
  const auto list = type->cast<c10::ListType>();
  if (list && list->getElementType()->kind() == c10::TypeKind::FloatType && value.isIntList()) {
    c10::List<double> numbers;
    for (const std::int64_t number : value.toIntVector())
      numbers.push_back(static_cast<double>(number));
    return numbers;
  }
  if (list && value.isList() && value.toListRef().empty() &&
      list->getElementType()->kind() == c10::TypeKind::TensorType)
    return c10::List<at::Tensor>();
  return value;
}

torch::jit::Stack stack_of(const c10::FunctionSchema& schema, const ReplayRequest& request,
                           std::map<std::uint16_t, Elements>& tensors) {
  std::map<std::size_t, c10::IValue> stored =
      stored_arguments(request.arguments, request.precision);
  torch::jit::Stack stack;
  for (std::size_t index = 0; index < schema.arguments().size(); ++index) {
    const c10::Argument& argument = schema.arguments()[index];
    const auto given = tensors.find(static_cast<std::uint16_t>(index));
    const auto value = stored.find(index);
    if (given != tensors.end())
      stack.push_back(tensor_argument(argument, given->second));
    else if (value != stored.end())
      stack.push_back(fitted(argument, std::move(value->second)));
    else if (argument.default_value())
      stack.push_back(*argument.default_value());
    else if (argument.type()->kind() == c10::TypeKind::OptionalType)
      stack.emplace_back();
    else
      refuse("an argument was not recorded");
  }
  return stack;
}

at::Tensor element_of(const c10::IValue& value, std::uint16_t element) {
  if (value.isTensor() && element == 0) return value.toTensor();
  if (value.isTensorList() && element < value.toTensorList().size())
    return value.toTensorList().get(element);
  return {};
}

ReplayTensor from_tensor(ReplayTensor place, const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != c10::kStrided) refuse("a result is no dense tensor");
  const at::Tensor packed = tensor.resolve_conj().resolve_neg().contiguous();
  place.dtype = static_cast<Dtype>(packed.scalar_type());
  place.sizes = packed.sizes().vec();
  place.strides = packed.strides().vec();
  place.bytes.resize(packed.nbytes());
  if (!place.bytes.empty())
    std::memcpy(place.bytes.data(), packed.const_data_ptr(), place.bytes.size());
  return place;
}

/// Without an eps argument an op uses the epsilon of the dtype it computes in, float32 for 16 bits:
/// in float64 it would differ.
void give_unit(const c10::FunctionSchema& schema, const ReplayRequest& request,
               torch::jit::Stack& stack) {
  if (schema.name() != "aten::rms_norm" && schema.name() != "aten::_fused_rms_norm") return;
  const auto eps = schema.argumentIndexWithName("eps");
  if (!eps || !stack[static_cast<std::size_t>(*eps)].isNone() || request.inputs.empty()) return;
  if (request.inputs.front().dtype != Dtype::float64)
    stack[static_cast<std::size_t>(*eps)] =
        static_cast<double>(std::numeric_limits<float>::epsilon());
}

ReplayAnswer executed(const ReplayRequest& request) {
  const auto op = c10::Dispatcher::singleton().findSchema({request.op, request.overload});
  if (!op) refuse("LibTorch has no such op");
  const c10::FunctionSchema& schema = op->schema();
  std::map<std::uint16_t, Elements> tensors;
  for (const ReplayTensor& given : request.inputs)
    tensors[given.index][given.element] = to_tensor(given, request.precision);

  torch::jit::Stack stack = stack_of(schema, request, tensors);
  give_unit(schema, request, stack);
  if (const StandIn other = stand_in(request.op))
    other(stack);
  else
    op->callBoxed(stack);

  ReplayAnswer answer;
  for (const ReplayTensor& wanted : request.wanted) {
    at::Tensor result;
    if (wanted.role == Role::mutated)
      result = tensors[wanted.index][wanted.element];
    else if (wanted.index < stack.size())
      result = element_of(stack[wanted.index], wanted.element);
    answer.results.push_back(from_tensor(wanted, result));
  }
  return answer;
}

}  // namespace

ReplayAnswer call(const ReplayRequest& request) {
  ReplayAnswer answer;
  try {
    const at::NoGradGuard no_grad;
    return executed(request);
  } catch (const std::exception& error) {
    answer.failure = error.what();
  }
  if (const std::size_t line = answer.failure.find('\n'); line != std::string::npos)
    answer.failure.resize(line);
  if (answer.failure.empty()) answer.failure = "LibTorch refuses it";
  return answer;
}

}  // namespace ulpscope::replay
