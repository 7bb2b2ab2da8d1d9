#include "capture/op_observer.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>
#include <xmmintrin.h>

#include <algorithm>
#include <array>
#include <string>

#include "capture/argument_reader.hpp"
#include "capture/environment.hpp"
#include "capture/forward_links.hpp"
#include "capture/module_names.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {
namespace {

constexpr unsigned kFlushBits = 0x8040;  // MXCSR: flush to zero, denormals are zero

/// Bits of a parent's flags that hold for everything inside it.
constexpr std::uint32_t kInherited = event_flag::in_backward | event_flag::in_optimizer |
                                     event_flag::autocast | event_flag::flush_denormal |
                                     event_flag::deterministic | event_flag::inference_mode;

std::uint32_t state_flags() {
  std::uint32_t flags = 0;
  if (c10::InferenceMode::is_enabled()) flags |= event_flag::inference_mode;
  if (at::autocast::is_autocast_enabled(at::kCPU)) flags |= event_flag::autocast;
  if ((_mm_getcsr() & kFlushBits) != 0) flags |= event_flag::flush_denormal;
  if (at::globalContext().deterministicAlgorithms()) flags |= event_flag::deterministic;
  return flags;
}

const Frame* parent_of(const Thread& thread) {
  return thread.frames.empty() ? nullptr : &thread.frames.back();
}

/// The innermost of the first `count` frames that is an event: what the next one runs inside.
const Frame* innermost_event(const Thread& thread, std::size_t count) {
  while (count-- > 0)
    if (thread.frames[count].position != ring::kNone) return &thread.frames[count];
  return nullptr;
}

Frame new_event(Thread& thread, const OpInfo& info) {
  const Frame* parent = parent_of(thread);
  const Frame* event = innermost_event(thread, thread.frames.size());
  Frame frame;
  frame.info = &info;
  frame.position = thread.next_position++;
  frame.epoch = current_epoch();
  frame.depth = event == nullptr ? 0 : static_cast<std::uint16_t>(event->depth + 1);
  frame.inside_op = parent != nullptr && (parent->inside_op || parent->info->kind == EventKind::op);
  frame.flags = info.flags | (parent == nullptr ? 0 : parent->flags & kInherited);
  if (!frame.inside_op) frame.flags |= state_flags();
  if (c10::GradMode::is_enabled()) frame.flags |= event_flag::grad_mode;
  frame.threads = frame.inside_op && event != nullptr
                      ? event->threads
                      : static_cast<std::uint16_t>(intra_op_threads());
  if (parent != nullptr) {
    frame.module = parent->module;
    frame.forward = parent->forward;
    frame.forward_lane = parent->forward_lane;
  }
  frame.slots = thread.slots.size();
  frame.arguments = thread.arguments.size();
  frame.written = thread.written.size();
  return frame;
}

/// User code may have run since the last outermost event: what was checked before may no longer
/// hold.
void enter_user_code(Thread& thread) {
  thread.in_engine = false;
  thread.epoch = next_epoch();
}

/// A parameter among an op's inputs names the module that the op belongs to, unless a forward that
/// is running names a more specific one or one that shares the parameter.
void attribute(Frame& frame, std::uint32_t owner) {
  if (owner == 0 || owner == frame.module) return;
  if (frame.module != 0 && !is_below(owner, frame.module)) return;
  frame.module = owner;
  frame.flags |= event_flag::module_from_parameter;
}

void begin_seeded(Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  frame.flags |= event_flag::seeded;
  for (const c10::IValue& value : inputs) {
    if (!value.isGenerator()) continue;
    const at::Generator& generator = value.toGenerator();
    frame.flags |= event_flag::explicit_generator;
    frame.generator = c10::weak_intrusive_ptr<c10::GeneratorImpl>(generator.getIntrusivePtr());
    frame.rng_before = fingerprint(generator);
    return;
  }
  frame.rng_before = default_cpu_fingerprint();
}

RngFingerprint rng_after(const Frame& frame) {
  if ((frame.flags & event_flag::explicit_generator) == 0) return default_cpu_fingerprint();
  const auto generator = frame.generator.lock();
  return generator ? fingerprint(at::Generator(generator)) : RngFingerprint{};
}

void read_argument(Thread& thread, Frame& frame, std::size_t index, const c10::IValue& value,
                   bool boundary, std::uint32_t& owner) {
  const Access access =
      index < frame.info->arguments.size() ? frame.info->arguments[index].access : Access::read;
  for_each_tensor(value, [&](const at::Tensor& tensor, std::uint16_t element) {
    const Place place{Role::input, static_cast<std::uint16_t>(index), element};
    Seen seen;
    if (access == Access::read || access == Access::written) {
      seen = see_read(thread, tensor, place, boundary);
      if (seen.module != 0) owner = owner == 0 || owner == seen.module ? seen.module : ~0U;
    } else {
      seen = see_mention(thread, tensor, place);
      seen.row.flags |=
          access == Access::overwritten ? slot_flag::overwritten : slot_flag::metadata_only;
      if (access == Access::metadata && (frame.flags & event_flag::view) != 0 && seen.module != 0)
        owner = owner == 0 || owner == seen.module ? seen.module : ~0U;
    }
    if ((access == Access::written || access == Access::overwritten) && tensor.defined())
      thread.written.push_back(
          {.tensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>(
               tensor.getIntrusivePtr()),
           .index = static_cast<std::uint16_t>(index),
           .element = element,
           .storage = seen.storage,
           .writes = seen.storage_writes});
    thread.slots.push_back(seen.row);
  });
}

void read_arguments(Thread& thread, Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  const bool boundary = !frame.inside_op;
  std::uint32_t owner = 0;
  ArgumentWriter writer(thread.argument_scratch);
  static const ArgumentInfo kUnknown;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const c10::IValue& value = inputs[i];
    const ArgumentInfo& info =
        i < frame.info->arguments.size() ? frame.info->arguments[i] : kUnknown;
    if (holds_tensors(value))
      read_argument(thread, frame, i, value, boundary, owner);
    else if (frame.info->kind == EventKind::op)
      write_argument(writer, static_cast<std::uint16_t>(i), value, info);
  }
  thread.arguments.insert(thread.arguments.end(), writer.bytes().begin(), writer.bytes().end());
  if (owner != ~0U && frame.info->kind == EventKind::op) attribute(frame, owner);
}

bool runs_user_code(torch::autograd::Node& node, const OpInfo& info) {
  return info.user_node || !node.tensor_pre_hooks().empty() || !node.pre_hooks().empty() ||
         !node.post_hooks().empty() || !node.retains_grad_hooks().empty();
}

void begin_engine(Thread& thread, Frame& frame) {
  frame.position = ring::kNone;
  frame.flags |= event_flag::in_backward;
  frame.trusted = true;
  if (!thread.in_engine) thread.epoch = next_epoch();
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
  std::uint16_t index = 0;
  for (const c10::IValue& gradient : inputs) {
    for_each_tensor(gradient, [&](const at::Tensor& tensor, std::uint16_t element) {
      thread.slots.push_back(see_mention(thread, tensor, {Role::input, index, element}).row);
    });
    ++index;
  }
}

void begin_record(Thread& thread, const at::RecordFunction& record) {
  const OpInfo& info = op_info(record);
  if (thread.next_position == 0) sample_environment(thread);
  if (info.engine) {
    Frame frame;
    const Frame* parent = parent_of(thread);
    frame.info = &info;
    frame.handle = record.handle();
    if (parent != nullptr) {
      frame.flags = parent->flags & kInherited;
      frame.inside_op = parent->inside_op;
    }
    frame.slots = thread.slots.size();
    frame.arguments = thread.arguments.size();
    frame.written = thread.written.size();
    begin_engine(thread, frame);
    thread.frames.push_back(std::move(frame));
    return;
  }

  const Frame* parent = parent_of(thread);
  const bool in_user_code = parent == nullptr || (!parent->trusted && !parent->inside_op &&
                                                  parent->info->kind != EventKind::op);
  Frame frame = new_event(thread, info);
  frame.handle = record.handle();
  c10::ArrayRef<const c10::IValue> inputs = record.inputs();
  const std::size_t declared = record.num_inputs();
  if (info.kind == EventKind::op && inputs.size() > declared)
    inputs = inputs.slice(inputs.size() - declared);

  if (info.kind == EventKind::node || info.kind == EventKind::gradient) {
    begin_node(thread, frame, inputs);
  } else if (info.kind == EventKind::op) {
    if (in_user_code) enter_user_code(thread);
    if (info.seeded) begin_seeded(frame, inputs);
    read_arguments(thread, frame, inputs);
  }
  frame.first_storage = storages().next_id();
  thread.frames.push_back(std::move(frame));
}

void write_arguments_back(Thread& thread, const Frame& frame) {
  const Writer writer{frame.position, thread.lane()};
  for (std::size_t i = frame.written; i < thread.written.size(); ++i) {
    const WrittenArgument& argument = thread.written[i];
    const auto impl = argument.tensor.lock();
    if (!impl) continue;
    const at::Tensor tensor{impl};
    const Place place{Role::mutated, argument.index, argument.element};
    thread.slots.push_back(see_written(thread, tensor, place, writer, frame.info->wrapper).row);
  }
}

/// One tensor that an op returned: written by it, handed through, a view, or memory left unfilled.
ring::SlotRow see_result(Thread& thread, const Frame& frame, const at::Tensor& tensor,
                         Place place) {
  const OpInfo& info = *frame.info;
  const Writer writer{frame.position, thread.lane()};
  const std::uint64_t storage = storage_id(tensor);
  const bool made_inside = storage == ring::kNone || storage >= frame.first_storage;
  if (!made_inside) {
    ring::SlotRow row = see_mention(thread, tensor, place).row;
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
  if (info.handle) row.flags |= slot_flag::handle;
  return row;
}

void link_node(Thread& thread, const Frame& frame, const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.requires_grad() || tensor.is_inference()) return;
  if (auto* node = torch::autograd::impl::grad_fn_unsafe(tensor))
    forward_links().add(node->thread_id(), node->sequence_nr(),
                        {frame.position, thread.lane(), frame.module});
}

void see_results(Thread& thread, const Frame& frame, const at::RecordFunction& record) {
  const std::vector<c10::IValue>& outputs = record.outputs();
  const std::size_t declared = record.num_outputs();
  const std::size_t skipped = outputs.size() > declared ? outputs.size() - declared : 0;
  ArgumentWriter results(thread.argument_scratch);
  static const ArgumentInfo kPlain;
  for (std::size_t i = skipped; i < outputs.size(); ++i) {
    const auto index = static_cast<std::uint16_t>(i - skipped);
    if (!holds_tensors(outputs[i])) {
      write_argument(results, static_cast<std::uint16_t>(index | kArgumentResult), outputs[i],
                     kPlain);
      continue;
    }
    for_each_tensor(outputs[i], [&](const at::Tensor& tensor, std::uint16_t element) {
      thread.slots.push_back(see_result(thread, frame, tensor, {Role::output, index, element}));
      link_node(thread, frame, tensor);
    });
  }
  thread.arguments.insert(thread.arguments.end(), results.bytes().begin(), results.bytes().end());
}

/// The gradient as it stands after AccumulateGrad, under the parameter's name.
void see_gradient(Thread& thread) {
  const auto node = torch::autograd::get_current_node();
  auto* accumulate = dynamic_cast<torch::autograd::AccumulateGrad*>(node.get());
  if (accumulate == nullptr) return;
  const at::Tensor& parameter = accumulate->variable;
  const at::Tensor& gradient = parameter.grad();
  if (!gradient.defined()) return;
  Seen seen = see_read(thread, gradient, {Role::output, 0, 0}, /*boundary=*/false);
  if (parameter.has_storage() && gradient.has_storage()) {
    std::uint32_t name = 0;
    std::uint32_t module = 0;
    {
      const std::lock_guard guard(storages());
      const Storage& owner = storages().at(*parameter.storage().unsafeGetStorageImpl());
      name = owner.name;
      module = owner.module;
    }
    if (name != 0) {
      const std::uint32_t gradient_name = name_id(std::string(name_of(name)) + ".grad");
      seen.row.name = thread.string(gradient_name);
      thread.frames.back().module = module;
      const std::lock_guard guard(storages());
      Storage& storage = storages().at(*gradient.storage().unsafeGetStorageImpl());
      storage.name = gradient_name;
      storage.name_flags = slot_flag::gradient;
    }
  }
  seen.row.flags |= slot_flag::gradient;
  thread.slots.push_back(seen.row);
}

/// Sends the innermost frame's event.
void send(Thread& thread, const Frame& frame, const RngFingerprint& after) {
  const Frame* parent = innermost_event(thread, thread.frames.size() - 1);
  ring::EventRow row{};
  row.position = frame.position;
  row.parent = parent == nullptr ? ring::kNone : parent->position;
  row.forward = ring::kNone;
  if (frame.info->kind == EventKind::node) {
    row.forward = frame.forward;
    row.forward_lane = frame.forward_lane;
  }
  row.epoch = frame.epoch;
  row.object = frame.object;
  row.op = thread.op(*frame.info);
  row.flags = frame.flags;
  row.depth = frame.depth;
  row.threads = frame.threads;
  row.kind = static_cast<std::uint8_t>(frame.info->kind);
  if (frame.module != 0) {
    const ModuleName module = module_name(frame.module);
    row.module = thread.string(module.path);
    row.root = thread.string(module.root);
    row.module_type = thread.string(module.type);
  }
  if ((frame.flags & event_flag::seeded) != 0) {
    row.rng_seed = frame.rng_before.seed;
    row.rng_before[0] = frame.rng_before.state.high;
    row.rng_before[1] = frame.rng_before.state.low;
    row.rng_after[0] = after.state.high;
    row.rng_after[1] = after.state.low;
  }
  thread.send_event(row, std::span(thread.slots).subspan(frame.slots),
                    std::span(thread.arguments).subspan(frame.arguments));
}

/// Takes the innermost frame off and gives back what it held.
void drop_frame(Thread& thread) {
  const Frame& frame = thread.frames.back();
  thread.slots.resize(frame.slots);
  thread.arguments.resize(frame.arguments);
  thread.written.erase(thread.written.begin() + static_cast<std::ptrdiff_t>(frame.written),
                       thread.written.end());
  thread.frames.pop_back();
}

void end_innermost(Thread& thread, const RngFingerprint& after) {
  const Frame& frame = thread.frames.back();
  if (frame.position != ring::kNone) send(thread, frame, after);
  drop_frame(thread);
}

void end_record(Thread& thread, const at::RecordFunction& record) {
  const auto begun =
      std::find_if(thread.frames.rbegin(), thread.frames.rend(),
                   [&](const Frame& frame) { return frame.handle == record.handle(); });
  if (begun == thread.frames.rend()) return;
  while (thread.frames.back().handle != record.handle()) drop_frame(thread);

  Frame& frame = thread.frames.back();
  RngFingerprint after;
  if (frame.info->kind == EventKind::op) {
    if (record.num_outputs() > 0 && record.outputs().empty()) frame.flags |= event_flag::threw;
    if (frame.info->seeded) after = rng_after(frame);
    write_arguments_back(thread, frame);
    see_results(thread, frame, record);
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

at::CallbackHandle installed = at::INVALID_CALLBACK_HANDLE;

}  // namespace

void install_op_observer() {
  if (installed != at::INVALID_CALLBACK_HANDLE) return;
  installed = at::addGlobalCallback(at::RecordFunctionCallback(&on_start, &on_end)
                                        .needsInputs(true)
                                        .needsOutputs(true)
                                        .needsIds(true));
}

void remove_op_observer() noexcept {
  if (installed == at::INVALID_CALLBACK_HANDLE) return;
  guarded("the end of recording",
          [] { at::removeCallback(std::exchange(installed, at::INVALID_CALLBACK_HANDLE)); });
}

void begin_event(Thread& thread, const OpInfo& info, std::uint32_t module, std::uint64_t object,
                 bool trusted) {
  if (!thread.in_engine || thread.frames.empty()) enter_user_code(thread);
  Frame frame = new_event(thread, info);
  if (module != 0) frame.module = module;
  frame.object = object;
  frame.trusted = trusted;
  if (info.kind == EventKind::optimizer) frame.flags |= event_flag::in_optimizer;
  frame.first_storage = storages().next_id();
  thread.frames.push_back(std::move(frame));
}

void end_event(Thread& thread, const at::Tensor* result, bool threw) {
  while (!thread.frames.empty() && thread.frames.back().handle != 0) drop_frame(thread);
  if (thread.frames.empty()) return;
  if (threw) thread.frames.back().flags |= event_flag::threw;
  if (result != nullptr && result->defined())
    thread.slots.push_back(see_mention(thread, *result, {Role::output, 0, 0}).row);
  end_innermost(thread, {});
}

}  // namespace ulpscope::capture
