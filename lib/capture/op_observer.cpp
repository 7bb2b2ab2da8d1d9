#include "capture/op_observer.hpp"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "capture/argument_reader.hpp"
#include "capture/collectives.hpp"
#include "capture/device_backend.hpp"
#include "capture/device_values.hpp"
#include "capture/drawn_generators.hpp"
#include "capture/environment.hpp"
#include "capture/filter.hpp"
#include "capture/forward_links.hpp"
#include "capture/frames.hpp"
#include "capture/injection.hpp"
#include "capture/memory.hpp"
#include "capture/module_calls.hpp"
#include "capture/module_names.hpp"
#include "capture/object_numbers.hpp"
#include "capture/op_question.hpp"
#include "capture/outcomes.hpp"
#include "capture/step_window.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {
namespace {

/// A parameter among an op's inputs names the module that the op belongs to, unless a forward that
/// is running names a more specific one or one that shares the parameter.
void attribute(Frame& frame, std::uint32_t owner) {
  if (owner == 0 || owner == frame.module) return;
  if (frame.module != 0 && !is_below(owner, frame.module)) return;
  frame.module = owner;
  frame.flags |= event_flag::module_from_parameter;
}

/// The device that an op draws its random numbers on: that of its tensors, or the one that an
/// argument names.
c10::Device device_of(c10::ArrayRef<const c10::IValue> inputs) {
  c10::Device device(c10::DeviceType::CPU);
  for (const c10::IValue& value : inputs) {
    if (value.isDevice() && !value.toDevice().is_cpu()) device = value.toDevice();
    for_each_tensor(value, [&](const at::Tensor& tensor, std::uint16_t) {
      if (tensor.defined() && !tensor.device().is_cpu()) device = tensor.device();
    });
  }
  return device;
}

void begin_seeded(Thread& thread, Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  Thread* const sender = keeps_bytes(thread) ? &thread : nullptr;
  frame.flags |= event_flag::seeded;
  for (const c10::IValue& value : inputs) {
    if (!value.isGenerator()) continue;
    const at::Generator& generator = value.toGenerator();
    frame.flags |= event_flag::explicit_generator;
    frame.generator = c10::weak_intrusive_ptr<c10::GeneratorImpl>(generator.getIntrusivePtr());
    frame.object = object_number(generator.unsafeGetGeneratorImpl());
    frame.rng_before = fingerprint(generator, sender);
    return;
  }
  frame.rng_device = device_of(inputs);
  frame.rng_before = default_fingerprint(frame.rng_device, sender);
}

/// copy_(self, src, non_blocking) from a device to the host.
bool copies_from_device_later(c10::ArrayRef<const c10::IValue> inputs) {
  return inputs.size() == 3 && inputs[0].isTensor() && inputs[1].isTensor() && inputs[2].isBool() &&
         inputs[2].toBool() && inputs[0].toTensor().device().type() == kHostDevice &&
         inputs[1].toTensor().device().type() == kBackendDevice;
}

RngFingerprint see_rng_after(const Frame& frame) {
  if ((frame.flags & event_flag::explicit_generator) == 0)
    return default_fingerprint(frame.rng_device);
  const auto held = frame.generator.lock();
  if (!held) return {};
  const at::Generator generator(held);
  const RngFingerprint left = fingerprint(generator);
  note_drawn(generator, left);
  return left;
}

void note_group(Frame& frame, const GroupMember& member) {
  frame.rank_in_group = member.rank;
  if (member.address != nullptr) frame.object = object_number(member.address);
}

WrittenArgument written_argument(const at::Tensor& tensor, std::uint16_t index,
                                 std::uint16_t element) {
  return {.tensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>(
              tensor.getIntrusivePtr()),
          .index = index,
          .element = element};
}

/// How the op treats an argument in this call.
Access access_of(const Frame& frame, std::size_t index, c10::ArrayRef<const c10::IValue> inputs) {
  const OpInfo& info = *frame.info;
  if (index >= info.arguments.size()) return Access::read;
  if (info.generated && info.arguments[index].access == Access::written &&
      inputs[index].isTensor() && is_unfilled(inputs[index].toTensor()))
    return Access::overwritten;
  return info.collective ? access_in_collective(info, index, inputs, frame.rank_in_group)
                         : info.arguments[index].access;
}

/// An op that returns views of strided tensors makes a new sparse one, of other indices or values.
bool makes_other_parts(const Frame& frame, const at::Tensor& tensor) {
  return (frame.info->flags & event_flag::view) != 0 && tensor.defined() &&
         tensor.layout() == c10::kSparse;
}

void read_argument(Thread& thread, Frame& frame, std::size_t index, const c10::IValue& value,
                   Access declared, bool boundary, std::uint64_t kernel, std::uint32_t& owner) {
  for_each_tensor(value, [&](const at::Tensor& tensor, std::uint16_t element) {
    const bool of_parts = makes_other_parts(frame, tensor);
    if (of_parts) frame.flags &= ~event_flag::view;
    const Access access = of_parts ? Access::read : declared;
    const Place place{Role::input, static_cast<std::uint16_t>(index), element,
                      !frame.info->wrapper};
    const bool reads = access == Access::read || access == Access::written;
    const bool writes = access == Access::written || access == Access::overwritten;
    const bool under_way = frame.info->exchange && is_under_way(tensor);
    if (under_way && writes)
      give_up_replaced(thread, tensor);
    else if (!under_way && access != Access::metadata)
      note_arrived(thread, tensor);
    Seen seen;
    if (reads && !under_way) {
      if (kernel == ring::kNone)
        seen = see_read(thread, tensor, place, boundary);
      else if (frame.info->exchange)  // the program defines the kernel, which fills its results
        seen = see_anew(thread, tensor, place);
      else
        seen = see_read_inside(thread, tensor, place, kernel);
      if (seen.module != 0) owner = owner == 0 || owner == seen.module ? seen.module : ~0U;
    } else {
      seen = see_mention(thread, tensor, place);
      if (frame.info->barrier) mark_unfilled_scratch(tensor);
      if (!reads)
        seen.row.flags |=
            access == Access::overwritten ? slot_flag::overwritten : slot_flag::metadata_only;
      if (access == Access::metadata && seen.module != 0)
        owner = owner == 0 || owner == seen.module ? seen.module : ~0U;
    }
    if (writes && tensor.defined())
      thread.written.push_back(
          written_argument(tensor, static_cast<std::uint16_t>(index), element));
    thread.slots.push_back(seen.row);
  });
}

/// Where the op around the one that begins began, if it has its own kernel, else kNone.
std::uint64_t kernel_around(const Thread& thread) {
  return is_in_kernel(thread) ? thread.frames.back().position : ring::kNone;
}

void read_arguments(Thread& thread, Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  const bool boundary = !frame.inside_op;
  const std::uint64_t kernel = boundary ? ring::kNone : kernel_around(thread);
  std::uint32_t owner = 0;
  ArgumentWriter writer(thread.argument_scratch);
  static constexpr ArgumentInfo kUnknown;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const c10::IValue& value = inputs[i];
    const ArgumentInfo& info =
        i < frame.info->arguments.size() ? frame.info->arguments[i] : kUnknown;
    const auto index = static_cast<std::uint16_t>(i);
    if (holds_tensors(value))
      read_argument(thread, frame, i, value, access_of(frame, i, inputs), boundary, kernel, owner);
    else if (frame.info->exchange)
      write_argument(writer, index, told_by_object(value), info);
    else if (frame.info->kind == EventKind::op)
      write_argument(writer, index, value, info);
  }
  thread.arguments.insert(thread.arguments.end(), writer.bytes().begin(), writer.bytes().end());
  const bool uses = owner != ~0U && thread.changing_modules == 0;
  if (uses && frame.info->kind == EventKind::op) attribute(frame, owner);
}

/// A torch.autograd.Function, by the name of its type, which is none of LibTorch's: of
/// libtorch_python (torch/csrc/autograd/python_function.h).
bool is_of_python(const torch::autograd::Node& node) {
  return std::string_view(typeid(node).name()) == "N5torch8autograd6PyNodeE";
}

bool runs_user_code(torch::autograd::Node& node, const OpInfo& info) {
  return info.user_node || is_of_python(node) || !node.tensor_pre_hooks().empty() ||
         !node.pre_hooks().empty() || !node.post_hooks().empty() ||
         !node.retains_grad_hooks().empty();
}

void look_at_settings(Thread& thread) {
  if (std::exchange(thread.look_at_settings, false)) sample_environment(thread);
}

void begin_engine(Thread& thread, Frame& frame) {
  frame.position = ring::kNone;
  frame.flags |= event_flag::in_backward;
  frame.trusted = true;
  if (!thread.in_engine) {
    thread.epoch = next_epoch();
    thread.look_at_settings = true;
  }
  look_at_settings(thread);
  thread.in_engine = true;
}

void begin_node(Thread& thread, Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  frame.flags |= event_flag::in_backward;
  frame.trusted = true;
  if (const auto node = torch::autograd::get_current_node()) {
    frame.trusted = !runs_user_code(*node, *frame.info);
    const ForwardOp made_by = forward_links().find(node->thread_id(), node->sequence_nr());
    frame.forward = made_by.position;
    frame.forward_lane = made_by.lane;
    if (made_by.module != 0) frame.module = made_by.module;
  }
  if (!frame.trusted) thread.epoch = next_epoch();
  if (frame.position == ring::kNone) return;
  std::uint16_t index = 0;
  for (const c10::IValue& gradient : inputs) {
    for_each_tensor(gradient, [&](const at::Tensor& tensor, std::uint16_t element) {
      thread.slots.push_back(see_mention(thread, tensor, {Role::input, index, element}).row);
    });
    ++index;
  }
}

/// The declared arguments: a boxed call sees the whole interpreter stack.
c10::ArrayRef<const c10::IValue> arguments_of(const at::RecordFunction& record,
                                              const OpInfo& info) {
  c10::ArrayRef<const c10::IValue> inputs = record.inputs();
  const std::size_t declared = record.num_inputs();
  if (info.kind == EventKind::op && inputs.size() > declared)
    inputs = inputs.slice(inputs.size() - declared);
  return inputs;
}

/// The declared results, likewise.
c10::ArrayRef<const c10::IValue> results_of(const at::RecordFunction& record) {
  const std::vector<c10::IValue>& all = record.outputs();
  const c10::ArrayRef<const c10::IValue> outputs(all.data(), all.size());
  const std::size_t declared = record.num_outputs();
  return outputs.size() > declared ? outputs.slice(outputs.size() - declared) : outputs;
}

/// The program's own code calls an op: it may have entered or left its modules since the last one.
void arrive_from_user_code(Thread& thread, const OpInfo& info,
                           c10::ArrayRef<const c10::IValue> inputs) {
  enter_user_code(thread);
  if (thread.freed_watched) send_freed_state(thread);
  thread.read.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool reads =
        i >= info.arguments.size() || info.arguments[i].access != Access::overwritten;
    if (!reads || !holds_tensors(inputs[i])) continue;
    for_each_tensor(inputs[i], [&](const at::Tensor& tensor, std::uint16_t) {
      if (tensor.defined()) thread.read.push_back(&tensor);
    });
  }
  follow_modules(thread, 0, thread.read);
  ++thread.moment;
}

/// The module that an op belongs to, if it is known before the op is examined closely.
std::uint32_t module_of(const Thread& thread, const OpInfo& info,
                        c10::ArrayRef<const c10::IValue> inputs) {
  if (info.kind == EventKind::node) {
    const auto node = torch::autograd::get_current_node();
    return node ? forward_links().find(node->thread_id(), node->sequence_nr()).module : 0;
  }
  std::uint32_t module = thread.frames.empty() ? 0 : thread.frames.back().module;
  for (const c10::IValue& value : inputs)
    for_each_tensor(value, [&](const at::Tensor& tensor, std::uint16_t) {
      if (module == 0) module = owner_of(tensor);
    });
  return module;
}

/// Gives memory that an op reads a number that is lower than those of memory that it makes.
void know_memory(const c10::IValue& input) {
  for_each_tensor(input, [](const at::Tensor& tensor, std::uint16_t) {
    static_cast<void>(storage_id(tensor));
  });
}

/// An op that is not an event leaves a trace in what is known about the memory it writes, and in
/// the node of its backward, which is of the same module.
void begin_unwanted_op(Thread& thread, std::uint64_t handle, const OpInfo& info,
                       c10::ArrayRef<const c10::IValue> inputs, std::uint32_t module) {
  Frame frame = silent_frame(thread, info);
  frame.handle = handle;
  if (module != 0) frame.module = module;
  for (std::size_t i = 0; i < inputs.size() && i < info.arguments.size(); ++i) {
    if (is_filtered()) know_memory(inputs[i]);
    const Access access = info.arguments[i].access;
    if (access != Access::written && access != Access::overwritten) continue;
    if (info.foreign && info.arguments[i].undeclared) continue;
    for_each_tensor(inputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      if (tensor.defined())
        thread.written.push_back(written_argument(tensor, static_cast<std::uint16_t>(i), element));
    });
  }
  frame.first_storage = storages().next_id();
  frame.first_node = at::sequence_number::peek();
  thread.frames.push_back(std::move(frame));
}

/// An op copies a collective's result from its backend's memory: that belongs to the collective and
/// is not an event.
void begin_delivery(Thread& thread, const at::RecordFunction& record, const OpInfo& info,
                    const at::Tensor& to) {
  Frame frame = silent_frame(thread, info);
  frame.handle = record.handle();
  frame.delivers = true;
  thread.written.push_back(written_argument(to, 0, 0));
  thread.frames.push_back(std::move(frame));
}

/// Where only layers are recorded, what an op calls is not examined.
void begin_op_between_layers(Thread& thread, const at::RecordFunction& record, const OpInfo& info) {
  if (!in_user_code(thread)) return;
  const auto inputs = arguments_of(record, info);
  if (info.kind == EventKind::op) arrive_from_user_code(thread, info, inputs);
  look_at_settings(thread);
  begin_unwanted_op(thread, record.handle(), info, inputs, 0);
}

bool is_wanted(Thread& thread, const OpInfo& info, std::uint32_t module) {
  if (info.kind == EventKind::gradient) return true;  // its module is known when it ends
  return wants_op(thread, info) && wants_module(thread, module);
}

/// It is the compiler's, or filtered out.
bool is_unwanted(Thread& thread, const OpInfo& info, std::uint32_t module) {
  return thread.compilers > 0 || (is_filtered() && !is_wanted(thread, info, module));
}

/// The module that a method of TorchScript is called on, 0 for anything else.
std::uint32_t script_module_of(const at::RecordFunction& record) {
  if (record.scope() != at::RecordScope::TORCHSCRIPT_FUNCTION) return 0;
  const auto inputs = record.inputs();
  if (inputs.empty() || !inputs.front().isModule()) return 0;
  return learn_script_module(inputs.front().toObjectRef());
}

/// A parameter or buffer is about to refer to another tensor's memory instead of its own.
void adopt_memory(c10::ArrayRef<const c10::IValue> inputs) {
  if (inputs.size() != 2 || !inputs[0].isTensor() || !inputs[1].isTensor()) return;
  const at::Tensor& to = inputs[0].toTensor();
  const at::Tensor& from = inputs[1].toTensor();
  if (!can_be_read(to) || !can_be_read(from) || to.is_alias_of(from)) return;
  const RegionKey region = region_of(to);
  const RegionKey target = region_of(from);
  const std::lock_guard guard(storages());
  storages().move_name(*to.storage().unsafeGetStorageImpl(), region,
                       *from.storage().unsafeGetStorageImpl(), target);
}

/// Whether ops only derive dtypes and shapes: torch.compile and torch.export trace programs with
/// tensors that have no content (torch/_subclasses/fake_tensor.py).
bool is_tracing(const Thread& thread) {
  if (!thread.frames.empty() && thread.frames.back().traced) return true;
  const bool in_some_mode =
      c10::impl::tls_local_dispatch_key_set().included_.has(c10::DispatchKey::Python);
  return in_some_mode &&
         c10::impl::TorchDispatchModeTLS::get_mode(c10::impl::TorchDispatchModeKey::FAKE);
}

/// Whether its results may be on a device that computes.
bool names_device(c10::ArrayRef<const c10::IValue> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const c10::IValue& value) {
    return value.isDevice() && !value.toDevice().is_meta();
  });
}

/// Whether an op computes nothing because its first tensor has no content: a FakeTensor, or one of
/// device meta. `randn_like(meta, device="cpu")` does compute.
bool is_without_content(c10::ArrayRef<const c10::IValue> inputs) {
  for (const c10::IValue& value : inputs) {
    if (!value.isTensor()) continue;
    const c10::TensorImpl& tensor = *value.toTensor().unsafeGetTensorImpl();
    const c10::DispatchKeySet keys = tensor.key_set();
    return (keys.has_backend(c10::BackendComponent::MetaBit) ||
            keys.has(c10::DispatchKey::Python)) &&
           tensor.has_storage() && tensor.storage().device_type() == c10::DeviceType::Meta &&
           !names_device(inputs);
  }
  return false;
}

void begin_traced_call(Thread& thread, std::uint64_t handle, const OpInfo& info) {
  Frame frame = silent_frame(thread, info);
  frame.handle = handle;
  frame.traced = true;
  thread.frames.push_back(std::move(frame));
}

/// Whether an op returns its first tensor as it is, or a copy of a number that the op around it
/// was called with.
bool passes_on(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  if ((!info.converts && !info.resolves) || inputs.empty() || !inputs[0].isTensor()) return false;
  const at::Tensor& tensor = inputs[0].toTensor();
  if (!tensor.defined()) return false;
  return info.converts ? tensor.unsafeGetTensorImpl()->is_wrapped_number()
                       : !tensor.is_conj() && !tensor.is_neg();
}

/// Whether the op around it says all that an op's event would say: it is the view that a view or a
/// kernel computes with, a number that a kernel converts, or that op once more.
bool is_implied(const Thread& thread, const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  const Frame* const parent = parent_of(thread);
  if (parent == nullptr || parent->info->kind != EventKind::op || parent->info->foreign ||
      info.foreign)
    return false;
  const OpInfo& around = *parent->info;
  // What copies a number is perhaps not asked about (op_question.hpp): what it calls is seen here.
  const bool may_be_in_copy = copies_number(*parent) && around.wrapper;
  if ((info.flags & event_flag::view) != 0)
    return (around.flags & event_flag::view) != 0 || !around.wrapper || may_be_in_copy;
  if (&info == &around) return info.rearranges && !info.resizes;
  if (copies_number(*parent) && is_copy_of_number(info)) return true;
  return (!copies_number(*parent) || may_be_in_copy) && passes_on(info, inputs);
}

/// Begins an op that the one around it implies. Without a frame of its own where nothing can come
/// of it: the kernel of an op is called below autograd.
void begin_implied(Thread& thread, std::uint64_t handle, const OpInfo& info) {
  if (is_in_kernel(thread) && !info.converts && !thread.frames.back().info->converts) return;
  Frame frame = silent_frame(thread, info);
  frame.handle = handle;
  frame.implied = true;
  frame.first_node = at::sequence_number::peek();
  thread.frames.push_back(std::move(frame));
}

void begin_record(Thread& thread, const at::RecordFunction& record) {
  const OpInfo& info = op_info(record);
  const bool is_call = info.kind == EventKind::op || info.kind == EventKind::scope;
  if (is_call && is_tracing(thread)) return begin_traced_call(thread, record.handle(), info);
  const std::uint32_t script_module = script_module_of(record);
  if (only_layers() && is_call && !info.engine)
    return begin_op_between_layers(thread, record, info);
  if (info.engine) {
    if (in_user_code(thread) && !thread.in_engine) follow_modules(thread, 0, {});
    Frame frame = silent_frame(thread, info);
    frame.handle = record.handle();
    begin_engine(thread, frame);
    thread.frames.push_back(std::move(frame));
    return;
  }

  const auto inputs = arguments_of(record, info);
  if (info.kind == EventKind::op && is_without_content(inputs))
    return begin_traced_call(thread, record.handle(), info);
  if (info.kind == EventKind::op && is_implied(thread, info, inputs))
    return begin_implied(thread, record.handle(), info);
  if (info.copies && delivers(inputs))
    return begin_delivery(thread, record, info, inputs[0].toTensor());
  const bool from_user_code = info.kind == EventKind::op && in_user_code(thread);
  if (from_user_code) arrive_from_user_code(thread, info, inputs);
  if (info.adopts) adopt_memory(inputs);
  look_at_settings(thread);
  const std::uint32_t module = is_filtered() ? module_of(thread, info, inputs) : 0;
  const bool unwanted = is_unwanted(thread, info, module);
  if (unwanted && is_call) return begin_unwanted_op(thread, record.handle(), info, inputs, module);
  const bool silent = unwanted || (only_layers() && info.kind == EventKind::node);
  ReferenceCall in_reference;
  if (!silent && info.kind == EventKind::op && injects())
    in_reference = inject_inputs(thread, info, inputs);
  Frame frame = silent ? silent_frame(thread, info) : new_event(thread, info);
  frame.handle = record.handle();
  frame.in_reference = in_reference;
  const ValuesOfOp values(thread, info);
  if (info.kind == EventKind::node || info.kind == EventKind::gradient) {
    begin_node(thread, frame, inputs);
  } else if (info.kind == EventKind::op) {
    if (info.seeded) begin_seeded(thread, frame, inputs);
    if (info.copies) frame.arrives_later = copies_from_device_later(inputs);
    if (info.exchange) note_group(frame, group_member(inputs));
    read_arguments(thread, frame, inputs);
  }
  frame.first_storage = storages().next_id();
  frame.first_node = at::sequence_number::peek();
  if (script_module != 0) frame.module = script_module;
  thread.frames.push_back(std::move(frame));
  if (info.kind == EventKind::node)
    if (const auto node = torch::autograd::get_current_node())
      backward_crosses(thread, *node, inputs);
}

/// What an optimizer keeps from step to step: memory that it writes and had before its step.
void watch_optimizer_state(const Thread& thread, const at::Tensor& tensor) {
  const auto step =
      std::find_if(thread.frames.rbegin(), thread.frames.rend(),
                   [](const Frame& frame) { return frame.info->kind == EventKind::optimizer; });
  if (step == thread.frames.rend() || !tensor.has_storage()) return;
  const c10::StorageImpl& impl = *tensor.storage().unsafeGetStorageImpl();
  const std::lock_guard guard(storages());
  Storage& storage = storages().at(impl);
  if (storage.watched || storage.id >= step->first_storage) return;
  storage.optimizer_state = true;
  storages().watch(storage, impl);
}

/// What an op leaves may be kept by the optimizer in whose step it runs.
/// @param storage the tensor's
void note_made_in_step(Thread& thread, const Frame& frame, const at::Tensor& tensor,
                       std::uint64_t storage) {
  constexpr std::uint32_t kWhere = event_flag::in_optimizer | event_flag::in_backward;
  if ((frame.flags & kWhere) != event_flag::in_optimizer || frame.inside_op) return;
  if (storage == ring::kNone || storage < frame.first_storage || !tensor.has_storage()) return;
  thread.made_in_step.emplace_back(
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(tensor.storage().unsafeGetStorageImpl()));
}

/// What an optimizer made in its step and still holds: it may begin to keep more than before.
void watch_made_in_step(Thread& thread) {
  for (const auto& made : thread.made_in_step) {
    const auto alive = made.lock();
    if (!alive) continue;
    const std::lock_guard guard(storages());
    Storage& storage = storages().at(*alive);
    if (storage.watched) continue;
    storage.optimizer_state = true;
    storages().watch(storage, *alive);
  }
}

/// Whether a change of what an op has computed would show.
bool leaves_result(const Frame& frame) {
  return !frame.inside_op && !frame.info->collective && settings().verify == ring::Verify::full &&
         !is_filtered();
}

void write_arguments_back(Thread& thread, const Frame& frame) {
  const Writer writer{frame.position, thread.lane(), thread.moment};
  for (std::size_t i = frame.written; i < thread.written.size(); ++i) {
    WrittenArgument& argument = thread.written[i];
    const auto impl = argument.tensor.lock();
    if (!impl) continue;
    const at::Tensor tensor{impl};
    if (frame.arrives_later) note_arrives_later(thread, tensor, writer);
    // Whether an op writes something that its schema does not declare depends on its other
    // arguments.
    const auto& arguments = frame.info->arguments;
    const bool undeclared =
        argument.index < arguments.size() && arguments[argument.index].undeclared;
    // On a device it would be known too late whether an op defined by the program has written it.
    if (undeclared &&
        (is_as_known(thread, tensor) || (frame.info->foreign && is_on_device(tensor))))
      continue;
    const Place place{Role::mutated, argument.index, argument.element, leaves_result(frame)};
    if (frame.info->collective && (frame.flags & event_flag::threw) == 0) {
      thread.slots.push_back(see_arriving(thread, tensor, place, writer).row);
      continue;
    }
    const Seen seen = undeclared && !frame.info->wrapper
                          ? see_perhaps_written(thread, tensor, place, writer)
                          : see_written(thread, tensor, place, writer, frame.info->wrapper,
                                        frame.info->keeps_rest);
    if (!frame.info->wrapper) argument.slot = thread.slots.size();
    thread.slots.push_back(seen.row);
    if ((frame.flags & event_flag::in_optimizer) != 0) watch_optimizer_state(thread, tensor);
  }
}

/// The slot of the only argument that an op's kernel wrote, where it returns that one and nothing
/// more can be said of it; else null.
const ring::SlotRow* returned_argument(const Thread& thread, const Frame& frame,
                                       const at::Tensor& tensor) {
  if (thread.written.size() != frame.written + 1 || frame.info->rearranges) return nullptr;
  const WrittenArgument& argument = thread.written.back();
  const c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  if (argument.slot == WrittenArgument::kNoSlot || argument.tensor._unsafe_get_target() != impl ||
      !is_ordinary(*impl))
    return nullptr;
  const ring::SlotRow& row = thread.slots[argument.slot];
  const bool is_known = row.storage < frame.first_storage && row.pending == 0 &&
                        (row.flags & slot_flag::no_digest) == 0;
  return is_known ? &row : nullptr;
}

/// One tensor that an op returned: written by it, passed through, a view, or memory left unfilled.
/// `set_` gives a tensor memory that other code has filled, such as a checkpoint's reader.
ring::SlotRow see_result(Thread& thread, const Frame& frame, const at::Tensor& tensor,
                         Place place) {
  const OpInfo& info = *frame.info;
  if (const ring::SlotRow* const written = returned_argument(thread, frame, tensor)) {
    ring::SlotRow row = *written;
    row.role = static_cast<std::uint8_t>(place.role);
    row.index = place.index;
    row.element = place.element;
    return row;
  }
  const Writer writer{frame.position, thread.lane(), thread.moment};
  const std::uint64_t storage = storage_id(tensor);
  const bool made_inside = storage == ring::kNone || storage >= frame.first_storage;
  const bool given_memory = info.rearranges && !info.resizes;
  if (!made_inside || given_memory) {
    ring::SlotRow row = see_mention(thread, tensor, place).row;
    if (given_memory) mark_given(tensor);
    if (!info.writes) row.flags |= slot_flag::view;
    return row;
  }
  if ((info.flags & event_flag::factory) != 0 || info.resizes)
    return see_unfilled(thread, tensor, place, writer).row;
  ring::SlotRow row = see_written(thread, tensor, place, writer, info.wrapper).row;
  if (place.index < info.scratch_returns.size() && info.scratch_returns[place.index]) {
    row.flags |= slot_flag::scratch;
    mark_scratch(tensor);
  }
  if (info.handle) {
    row.flags |= slot_flag::handle;
    mark_handle(tensor);
  }
  return row;
}

/// Notes which event made the node of a tensor's backward, if that node was made in the frame.
void link_node(Thread& thread, const Frame& frame, std::uint64_t position,
               const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.requires_grad() || tensor.is_inference()) return;
  auto* node = torch::autograd::impl::grad_fn_unsafe(tensor);
  // An op may return a tensor whose node was made by an autograd function of the program.
  const bool made_here = node != nullptr &&
                         node->thread_id() == at::RecordFunction::currentThreadId() &&
                         node->sequence_nr() >= frame.first_node;
  if (made_here)
    forward_links().add(node->thread_id(), node->sequence_nr(),
                        {position, thread.lane(), frame.module});
}

/// Whether ranks are exchanging data in an op that is running here.
bool is_inside_exchange(const Thread& thread) {
  return std::any_of(thread.frames.begin(), thread.frames.end(),
                     [](const Frame& frame) { return frame.info->exchange; });
}

/// Whether the innermost op was called by a collective.
bool inside_collective(const Thread& thread) {
  return std::any_of(thread.frames.begin(), thread.frames.end() - 1,
                     [](const Frame& frame) { return frame.info->collective; });
}

void see_results(Thread& thread, const Frame& frame, c10::ArrayRef<const c10::IValue> outputs) {
  ArgumentWriter results(thread.argument_scratch);
  static constexpr ArgumentInfo kPlain;
  const bool leaves = leaves_result(frame);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto index = static_cast<std::uint16_t>(i);
    if (!holds_tensors(outputs[i])) {
      write_argument(results, static_cast<std::uint16_t>(index | kArgumentResult), outputs[i],
                     kPlain);
      if (frame.info->collective) note_work(thread, frame.position, work_of(outputs[i]));
      continue;
    }
    for_each_tensor(outputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      if (frame.info->waits) note_arrived(thread, tensor);
      thread.slots.push_back(
          see_result(thread, frame, tensor, {Role::output, index, element, leaves}));
      note_made_in_step(thread, frame, tensor, thread.slots.back().storage);
      if (any_collective() && inside_collective(thread)) note_of_backend(tensor);
      link_node(thread, frame, frame.position, tensor);
    });
  }
  thread.arguments.insert(thread.arguments.end(), results.bytes().begin(), results.bytes().end());
}

/// The gradient after AccumulateGrad, under the parameter's name.
void see_gradient(Thread& thread) {
  const auto node = torch::autograd::get_current_node();
  auto* accumulate = dynamic_cast<torch::autograd::AccumulateGrad*>(node.get());
  if (accumulate == nullptr) return;
  const at::Tensor& parameter = accumulate->variable;
  const at::Tensor& gradient = parameter.grad();
  if (!gradient.defined()) return;
  Seen seen = see_state(thread, gradient, {Role::output, 0, 0});
  if (parameter.has_storage() && gradient.has_storage()) {
    Name name;
    const RegionKey region = region_of(gradient);
    {
      const std::lock_guard guard(storages());
      const c10::StorageImpl& impl = *parameter.storage().unsafeGetStorageImpl();
      Storage& owner = storages().at(impl);
      name = owner.parts.empty() ? owner.name : owner.name_of(region_of(parameter));
      if (!owner.watched) storages().watch(owner, impl);
    }
    if (name.id != 0) {
      const std::uint32_t gradient_name = thread.name_of_gradient(name.id);
      seen.row.name = thread.string(gradient_name);
      thread.frames.back().module = name.module;
      if (is_filtered() && !wants_module(thread, name.module)) {
        thread.frames.back().position = ring::kNone;
        return;
      }
      const c10::StorageImpl& impl = *gradient.storage().unsafeGetStorageImpl();
      const std::lock_guard guard(storages());
      Storage& storage = storages().at(impl);
      storages().give_name(storage, impl, region,
                           {gradient_name, slot_flag::gradient, storage.name_of(region).module});
    } else {
      const c10::StorageImpl& impl = *gradient.storage().unsafeGetStorageImpl();
      const std::lock_guard guard(storages());
      Storage& storage = storages().at(impl);
      storage.leaf_gradient = true;
      storages().watch(storage, impl);
    }
  }
  seen.row.flags |= slot_flag::gradient;
  thread.slots.push_back(seen.row);
}

/// An op that the one around it implies may have made the node of that one's backward.
void end_implied(Thread& thread, c10::ArrayRef<const c10::IValue> outputs) {
  const Frame& frame = thread.frames.back();
  if (const Frame* const event = innermost_event(thread, thread.frames.size())) {
    for (const c10::IValue& output : outputs)
      for_each_tensor(output, [&](const at::Tensor& tensor, std::uint16_t) {
        link_node(thread, frame, event->position, tensor);
      });
  }
  drop_frame(thread);
}

/// What an op that is not an event left behind.
void note_results(Thread& thread, const Frame& frame, c10::ArrayRef<const c10::IValue> outputs) {
  const Frame* event = innermost_event(thread, thread.frames.size());
  const Writer writer{event == nullptr ? 0 : event->position, thread.lane(), thread.moment};
  for (std::size_t i = frame.written; i < thread.written.size(); ++i)
    if (const auto alive = thread.written[i].tensor.lock()) note_written(at::Tensor(alive), writer);
  if (frame.info->kind != EventKind::op) return;
  const bool makes_memory = (frame.info->flags & event_flag::view) == 0;
  for (const c10::IValue& output : outputs)
    for_each_tensor(output, [&](const at::Tensor& tensor, std::uint16_t) {
      if (is_filtered()) link_node(thread, frame, frame.position, tensor);
      if (!makes_memory) return;
      const std::uint64_t storage = storage_id(tensor);
      if (storage == ring::kNone || storage < frame.first_storage) return;
      note_written(tensor, writer);
      note_made_in_step(thread, frame, tensor, storage);
    });
}

/// The tensors that an op has written or returned.
std::pmr::vector<LeftByOp> left_by(Thread& thread, const Frame& frame,
                                   c10::ArrayRef<const c10::IValue> outputs) {
  std::pmr::vector<LeftByOp> left(&process_memory());
  for (std::size_t i = frame.written; i < thread.written.size(); ++i)
    if (const auto alive = thread.written[i].tensor.lock())
      left.push_back(
          {Role::mutated, thread.written[i].index, thread.written[i].element, at::Tensor(alive)});
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for_each_tensor(outputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      left.push_back({Role::output, static_cast<std::uint16_t>(i), element, tensor});
    });
  return left;
}

void end_as_in_reference(Thread& thread, const at::RecordFunction& record,
                         const RngFingerprint& after) {
  const ReferenceCall call = thread.frames.back().in_reference;
  const auto left = left_by(thread, thread.frames.back(), results_of(record));
  end_innermost(thread, after);
  inject_results(thread, call, {left.data(), left.size()});
}

void end_record(Thread& thread, const at::RecordFunction& record) {
  const auto begun =
      std::find_if(thread.frames.rbegin(), thread.frames.rend(),
                   [&](const Frame& frame) { return frame.handle == record.handle(); });
  if (begun == thread.frames.rend()) return;
  close_frames_above(thread, static_cast<std::size_t>(thread.frames.rend() - begun));

  Frame& frame = thread.frames.back();
  if (frame.traced) return end_innermost(thread);
  if (frame.implied) return end_implied(thread, results_of(record));
  const ValuesOfOp values(thread, *frame.info);
  RngFingerprint after;
  if (frame.delivers) {
    for (std::size_t i = frame.written; i < thread.written.size(); ++i)
      if (const auto alive = thread.written[i].tensor.lock())
        note_arrived(thread, at::Tensor(alive));
  } else if (frame.position == ring::kNone) {
    note_results(thread, frame, results_of(record));
  } else if (frame.info->kind == EventKind::op) {
    if (record.num_outputs() > 0 && record.outputs().empty()) frame.flags |= event_flag::threw;
    if (frame.info->seeded) after = see_rng_after(frame);
    write_arguments_back(thread, frame);
    see_results(thread, frame, results_of(record));
    if (frame.in_reference.same_inputs) return end_as_in_reference(thread, record, after);
  } else if (frame.info->kind == EventKind::gradient) {
    see_gradient(thread);
  }
  end_innermost(thread, after);
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& record) {
  if (Thread* thread = Thread::current(); thread != nullptr && !record.isAsync()) {
    const Thread::Inside inside(*thread);
    guarded("the start of an op", [&] { begin_record(*thread, record); });
  }
  return nullptr;
}

void on_end(const at::RecordFunction& record, at::ObserverContext* /*context*/) {
  if (Thread* thread = Thread::current(); thread != nullptr) {
    const Thread::Inside inside(*thread);
    guarded("the end of an op", [&] { end_record(*thread, record); });
  }
}

std::atomic<at::CallbackHandle> installed{at::INVALID_CALLBACK_HANDLE};

}  // namespace

void install_op_observer() {
  if (installed.load() != at::INVALID_CALLBACK_HANDLE) return;
  // All scopes but those of builds in which LibTorch traces itself. LibTorch lists our callback
  // anew for each of them whenever a thread takes over another one's state, twice for each node of
  // a backward.
  using Scope = at::RecordScope;
  installed.store(at::addGlobalCallback(
      at::RecordFunctionCallback(&on_start, &on_end)
          .needsInputs(true)
          .needsOutputs(true)
          .needsIds(true)
          .scopes({Scope::FUNCTION, Scope::BACKWARD_FUNCTION, Scope::TORCHSCRIPT_FUNCTION,
                   Scope::LITE_INTERPRETER, Scope::USER_SCOPE, Scope::STATIC_RUNTIME_OP,
                   Scope::STATIC_RUNTIME_MODEL})));
  answer_question(true);
}

void remove_op_observer() noexcept {
  guarded("the end of observing", [] {
    answer_question(false);
    const at::CallbackHandle handle = installed.exchange(at::INVALID_CALLBACK_HANDLE);
    if (handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle);
  });
}

void begin_event(Thread& thread, const OpInfo& info, std::uint64_t object, bool trusted) {
  if (in_user_code(thread) && !idle()) {
    if (!thread.in_engine || thread.frames.empty()) enter_user_code(thread);
    follow_modules(thread, 0, {});
  }
  Frame frame = new_event(thread, info);
  frame.object = object;
  frame.trusted = trusted;
  if (info.kind == EventKind::optimizer) frame.flags |= event_flag::in_optimizer;
  frame.first_storage = storages().next_id();
  thread.frames.push_back(std::move(frame));
}

namespace {

/// @param member of the group that exchanges data, or null.
bool begin_call(Thread& thread, const OpInfo& info, const GroupMember* member,
                c10::ArrayRef<const c10::IValue> inputs) {
  const bool from_user_code = in_user_code(thread);
  if (only_layers() && !from_user_code) return false;
  if (from_user_code) arrive_from_user_code(thread, info, inputs);
  look_at_settings(thread);
  const std::uint32_t module = is_filtered() ? module_of(thread, info, inputs) : 0;
  if (only_layers() || is_unwanted(thread, info, module)) {
    begin_unwanted_op(thread, /*handle=*/0, info, inputs, module);
    return true;
  }
  Frame frame = new_event(thread, info);
  const ValuesOfOp values(thread, info);
  if (member != nullptr) note_group(frame, *member);
  read_arguments(thread, frame, inputs);
  frame.first_storage = storages().next_id();
  frame.first_node = at::sequence_number::peek();
  thread.frames.push_back(std::move(frame));
  return true;
}

}  // namespace

bool begin_backend_call(Thread& thread, const OpInfo& info, const GroupMember& member,
                        c10::ArrayRef<const c10::IValue> inputs) {
  return !is_inside_exchange(thread) && begin_call(thread, info, &member, inputs);
}

bool begin_direct_call(Thread& thread, const OpInfo& info,
                       c10::ArrayRef<const c10::IValue> inputs) {
  return begin_call(thread, info, nullptr, inputs);
}

void end_direct_call(Thread& thread, std::size_t frames, bool threw,
                     c10::ArrayRef<const c10::IValue> results) {
  if (thread.frames.size() < frames) return;
  close_frames_above(thread, frames);
  Frame& frame = thread.frames.back();
  const ValuesOfOp values(thread, *frame.info);
  if (threw) frame.flags |= event_flag::threw;
  if (frame.position == ring::kNone) {
    note_results(thread, frame, results);
  } else {
    write_arguments_back(thread, frame);
    see_results(thread, frame, results);
  }
  end_innermost(thread);
}

void end_event(Thread& thread, std::size_t frames, bool threw) {
  if (thread.frames.size() < frames) return;
  close_frames_above(thread, frames);
  if (threw) thread.frames.back().flags |= event_flag::threw;
  if (thread.frames.back().info->kind == EventKind::optimizer) {
    if (!idle() && !threw) {
      watch_made_in_step(thread);
      see_parameters(thread, thread.frames.back().position);
    }
    thread.made_in_step.clear();
    step_window_sees_optimizer(thread.frames.back().object);
  }
  end_innermost(thread);
}

}  // namespace ulpscope::capture
