#include "replay/op_call.hpp"

#include <ATen/Version.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/version.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "replay/conditions.hpp"
#include "replay/generator.hpp"
#include "replay/gpu.hpp"
#include "replay/gpu_ops.hpp"
#include "replay/refuse.hpp"
#include "replay/stored_arguments.hpp"
#include "replay/tensors.hpp"

namespace ulpscope::replay {
namespace {

/// The tensors of one argument, by their element.
using Elements = std::map<std::uint16_t, at::Tensor>;
/// Those of all arguments, by the argument's index.
using Inputs = std::map<std::uint16_t, Elements>;

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

/// The default generator of the op's device is in the recorded state from here on.
void restore_generator(const ReplayRequest& request) {
  if (request.generator.empty()) return;
  if (request.precision != Precision::recorded) refuse("in float64 it draws other numbers");
  const auto on_gpu = std::find_if(request.inputs.begin(), request.inputs.end(),
                                   [](const ReplayTensor& input) { return input.gpu >= 0; });
  const int number = on_gpu == request.inputs.end() ? 0 : on_gpu->gpu;
  set_default_generator(request.conditions.on_gpu ? gpu(number) : c10::Device(c10::kCPU),
                        request.generator);
}

torch::jit::Stack stack_of(const c10::FunctionSchema& schema, const ReplayRequest& request,
                           Inputs& tensors) {
  std::map<std::size_t, c10::IValue> stored =
      stored_arguments(request.arguments, request.precision, request.conditions.on_gpu);
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

/// A kernel looks at it before it chooses how to compute. Not for what is written: autograd does
/// not allow that of a leaf.
void require_gradients(const c10::FunctionSchema& schema, const ReplayRequest& request,
                       Inputs& inputs) {
  for (const ReplayTensor& given : request.inputs) {
    if (!given.requires_grad || given.index >= schema.arguments().size()) continue;
    const c10::AliasInfo* const alias = schema.arguments()[given.index].alias_info();
    at::Tensor& tensor = inputs[given.index][given.element];
    const bool differentiable = tensor.defined() && (c10::isFloatingType(tensor.scalar_type()) ||
                                                     c10::isComplexType(tensor.scalar_type()));
    if (differentiable && (alias == nullptr || !alias->isWrite())) tensor.requires_grad_();
  }
}

ReplayAnswer executed(const ReplayRequest& request, bool with_gradients) {
  const Conditions conditions(request.conditions);
  const auto op = c10::Dispatcher::singleton().findSchema({request.op, request.overload});
  if (!op) refuse("LibTorch has no such op");
  const c10::FunctionSchema& schema = op->schema();
  Inputs inputs;
  for (const ReplayTensor& given : request.inputs)
    inputs[given.index][given.element] = to_tensor(given, request.precision, request.conditions);
  if (with_gradients) require_gradients(schema, request, inputs);

  torch::jit::Stack stack = stack_of(schema, request, inputs);
  give_unit(schema, request, stack);
  restore_generator(request);
  const StandIn on_cpu = request.conditions.on_gpu ? nullptr : stand_in(request.op);
  if (on_cpu != nullptr)
    on_cpu(stack);
  else
    op->callBoxed(stack);

  ReplayAnswer answer;
  for (const ReplayTensor& wanted : request.wanted) {
    at::Tensor result;
    if (wanted.role == Role::mutated)
      result = inputs[wanted.index][wanted.element];
    else if (wanted.index < stack.size())
      result = element_of(stack[wanted.index], wanted.element);
    answer.results.push_back(from_tensor(wanted, result));
  }
  return answer;
}

bool wants_gradients(const ReplayRequest& request) {
  return request.conditions.grad_mode && request.precision == Precision::recorded &&
         std::any_of(request.inputs.begin(), request.inputs.end(),
                     [](const ReplayTensor& input) { return input.requires_grad; });
}

/// An op that was called below autograd may not be one that autograd takes.
ReplayAnswer executed(const ReplayRequest& request) {
  if (!wants_gradients(request)) return executed(request, false);
  try {
    return executed(request, true);
  } catch (const std::exception&) {
    return executed(request, false);
  }
}

}  // namespace

ReplayAnswer call(const ReplayRequest& request) {
  ReplayAnswer answer;
  try {
    answer = executed(request);
  } catch (const std::exception& error) {
    answer.failure = error.what();
    if (const std::size_t line = answer.failure.find('\n'); line != std::string::npos)
      answer.failure.resize(line);
    if (answer.failure.empty()) answer.failure = "LibTorch refuses it";
  }
  answer.torch_version = TORCH_VERSION;
  answer.cpu_capability = at::get_cpu_capability();
  return answer;
}

}  // namespace ulpscope::replay
