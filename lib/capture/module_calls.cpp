#include "capture/module_calls.hpp"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "capture/argument_reader.hpp"
#include "capture/boundary_links.hpp"
#include "capture/filter.hpp"
#include "capture/frames.hpp"
#include "capture/memory.hpp"
#include "capture/module_names.hpp"
#include "capture/step_window.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {
namespace {

constexpr std::size_t kMostClosedCalls = 512;

const OpInfo& call_info(EventKind kind, std::uint32_t module, std::string_view method) {
  std::pmr::string name(name_of(module_name(module).type), &process_memory());
  name.append("::").append(method);
  return named_info(kind, name);
}

/// One event without anything inside it, at this moment.
template <class Fill>
void tell(Thread& thread, const OpInfo& info, std::uint32_t module, Fill&& fill) {
  Frame frame = new_event(thread, info);
  frame.module = module;
  thread.frames.push_back(std::move(frame));
  fill(thread.frames.back());
  end_innermost(thread);
}

/// Roots whose parameters have been sent, and their state then.
struct ToldRoots {
  std::mutex mutex;
  std::pmr::map<std::uint32_t, std::uint64_t> stamps{&process_memory()};
};

ToldRoots& told_roots() {
  static ToldRoots& instance = immortal<ToldRoots>();
  return instance;
}

/// What recorded ops have done to a root's parameters and buffers.
struct RootWrites {
  bool any = false;         ///< it has some
  std::uint64_t stamp = 1;  ///< changes when one of them is written
  bool since = false;       ///< this thread has written one since a position
  bool by_others = false;   ///< another thread was the last to write one

  [[nodiscard]] bool only_by_others() const noexcept { return by_others && !since; }
};

RootWrites writes_of(std::uint32_t root, const Thread& thread, std::uint64_t position) {
  RootWrites writes;
  for (const NamedTensor& named : state_of(root)) {
    if (!named.tensor.has_storage()) continue;
    writes.any = true;
    const std::lock_guard guard(storages());
    const Storage& storage = storages().at(*named.tensor.storage().unsafeGetStorageImpl());
    writes.stamp = (writes.stamp ^ (storage.id << 20) ^ storage.writes) * 0x9e3779b97f4a7c15ULL;
    if (storage.writer.position == ring::kNone) continue;
    const bool here = storage.writer.lane == thread.lane();
    writes.since |= here && storage.writer.position >= position;
    writes.by_others |= !here;
  }
  return writes;
}

/// Whether a root has been sent before, but not with this stamp, which is noted.
/// @param always also with this stamp
bool takes_stamp(std::uint32_t root, std::uint64_t stamp, bool always) {
  ToldRoots& told = told_roots();
  const std::lock_guard guard(told.mutex);
  const auto found = told.stamps.find(root);
  if (found == told.stamps.end() || (!always && found->second == stamp)) return false;
  found->second = stamp;
  return true;
}

void tell_parameters(Thread& thread, std::uint32_t root) {
  const OpInfo& info = named_info(EventKind::parameters, "parameters");
  tell(thread, info, root, [&](Frame& frame) {
    frame.flags &= ~event_flag::grad_mode;
    std::uint16_t index = 0;
    for (const NamedTensor& named : state_of(root)) {
      if (!wants_module(thread, named.module)) continue;
      Seen seen = see_state(thread, named.tensor, {Role::input, index++, 0});
      seen.row.name = thread.string(named.name);
      seen.row.flags |= named.flag;
      thread.slots.push_back(seen.row);
    }
  });
}

/// Before a root's first forward: the parameters and buffers that it starts with.
void announce_root(Thread& thread, std::uint32_t module) {
  const std::uint32_t root = root_of(module);
  {
    ToldRoots& told = told_roots();
    const std::lock_guard guard(told.mutex);
    if (!told.stamps.try_emplace(root, 0).second) return;
  }
  tell_parameters(thread, root);
  const std::uint64_t stamp = writes_of(root, thread, ring::kNone).stamp;
  const std::lock_guard guard(told_roots().mutex);
  told_roots().stamps[root] = stamp;
}

void link(const at::Tensor& tensor, const Boundary& boundary) {
  if (!tensor.requires_grad() || tensor.is_inference()) return;
  if (const auto* node = torch::autograd::impl::grad_fn_unsafe(tensor))
    boundary_links().add(
        {node->thread_id(), node->sequence_nr(), static_cast<std::uint32_t>(tensor.output_nr())},
        boundary);
}

/// The first module that is called again separates steps, even if nothing trains.
void comes_round(Thread& thread, std::uint32_t module) {
  if (!thread.frames.empty() || module == 0) return;
  if (thread.first_module == 0) thread.first_module = module;
  if (thread.first_module == module) thread.look_at_settings = true;
}

void begin_call(Thread& thread, const RunningModule& found) {
  comes_round(thread, found.module);
  announce_root(thread, found.module);
  const OpInfo& info = call_info(EventKind::module, found.module, found.method);
  Frame frame =
      wants_module(thread, found.module) ? new_event(thread, info) : silent_frame(thread, info);
  frame.module = found.module;
  frame.object = found.module;
  frame.from_stack = true;
  frame.first_storage = storages().next_id();
  ModuleCall& call = thread.open_calls.emplace_back();
  call.position = frame.position;
  call.begin = ++thread.moment;
  call.found = found;
  thread.frames.push_back(std::move(frame));
}

void end_call(Thread& thread) {
  ModuleCall& call = thread.open_calls.back();
  while (!thread.frames.back().from_stack) drop_frame(thread);
  if (call.position != ring::kNone)
    thread.slots.insert(thread.slots.end(), call.inputs.begin(), call.inputs.end());
  end_innermost(thread);
  call.end = ++thread.moment;
  call.inputs.clear();
  thread.closed_calls.push_back(std::move(call));
  thread.open_calls.pop_back();
  if (thread.closed_calls.size() > kMostClosedCalls) thread.closed_calls.pop_front();
}

/// Whether an open call is among the running ones from `next` on; moves `next` past it. A frame in
/// which no module can be identified any more is still the same call.
bool still_runs(const ModuleCall& call, std::span<const RunningModule> running, std::size_t& next) {
  for (std::size_t i = next; i < running.size(); ++i) {
    if (running[i].function != call.found.function || running[i].frame != call.found.frame)
      continue;
    if (running[i].module != 0 && running[i].module != call.found.module) return false;
    next = i + 1;
    return true;
  }
  return false;
}

/// A value that the program's code reads, and who made it.
struct Reading {
  ValueKey key;
  std::uint64_t made = 0;  ///< moment of this thread, 0: elsewhere
};

/// Nothing for what does not cross boundaries: parameters, buffers, gradients, bare numbers.
std::optional<Reading> reading(Thread& thread, const at::Tensor& tensor) {
  if (!can_be_read(tensor) || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return {};
  const std::uint32_t geometry = thread.geometry(tensor);
  const std::lock_guard guard(storages());
  const Storage& storage = storages().at(*tensor.storage().unsafeGetStorageImpl());
  if (storage.name.flags != 0) return {};
  const Writer& writer = storage.writer;
  const bool here = writer.position != ring::kNone && writer.lane == thread.lane();
  return Reading{{storage.id, storage.writes, geometry}, here ? writer.moment : 0};
}

void enters(Thread& thread, ModuleCall& call, const at::Tensor& tensor, const ValueKey& key) {
  if (call.position == ring::kNone ||
      std::find(call.given.begin(), call.given.end(), key) != call.given.end())
    return;
  const auto index = static_cast<std::uint16_t>(call.given.size());
  call.given.push_back(key);
  call.inputs.push_back(see_read(thread, tensor, {Role::input, index, 0}, true).row);
  link(tensor, {call.position, thread.lane(), call.found.module, index, false});
}

void leaves(Thread& thread, ModuleCall& call, const at::Tensor& tensor, const ValueKey& key) {
  if (call.position == ring::kNone ||
      std::find(call.returned.begin(), call.returned.end(), key) != call.returned.end())
    return;
  const auto index = static_cast<std::uint16_t>(call.returned.size());
  call.returned.push_back(key);
  link(tensor, {call.position, thread.lane(), call.found.module, index, true});
  const OpInfo& info = call_info(EventKind::module_output, call.found.module, "output");
  tell(thread, info, call.found.module, [&](Frame& frame) {
    frame.forward = call.position;
    frame.forward_lane = thread.lane();
    thread.slots.push_back(see_read(thread, tensor, {Role::output, index, 0}, true).row);
  });
}

void leave_calls(Thread& thread, std::span<const at::Tensor* const> read) {
  if (thread.closed_calls.empty()) return;
  for (const at::Tensor* tensor : read) {
    const auto value = reading(thread, *tensor);
    if (!value || value->made == 0) continue;
    for (auto call = thread.closed_calls.rbegin();
         call != thread.closed_calls.rend() && call->end > value->made; ++call)
      if (call->begin < value->made) leaves(thread, *call, *tensor, value->key);
  }
}

void enter_calls(Thread& thread, std::span<const at::Tensor* const> read) {
  if (thread.open_calls.empty()) return;
  for (const at::Tensor* tensor : read) {
    const auto value = reading(thread, *tensor);
    if (!value) continue;
    for (auto call = thread.open_calls.rbegin(); call != thread.open_calls.rend(); ++call) {
      if (value->made != 0 && call->begin < value->made) break;
      enters(thread, *call, *tensor, value->key);
    }
  }
}

}  // namespace

void follow_modules(Thread& thread, std::uint32_t child, std::span<const at::Tensor* const> read) {
  if (known_classes() == 0) return;
  const auto running = thread.running.look(child);
  std::size_t next = 0;
  std::size_t kept = 0;
  while (kept < thread.open_calls.size() && still_runs(thread.open_calls[kept], running, next))
    ++kept;
  while (thread.open_calls.size() > kept) end_call(thread);
  leave_calls(thread, read);
  for (; next < running.size(); ++next) {
    const std::uint32_t module = running[next].module;
    const bool runs = !thread.open_calls.empty() && thread.open_calls.back().found.module == module;
    // A member that makes or fills tensors is not a call until it reads one.
    const bool computes = child != 0 || !read.empty() || running[next].method == "forward";
    if (module != 0 && !runs && computes && !prepares(running[next].method))
      begin_call(thread, running[next]);
  }
  enter_calls(thread, read);
}

void close_frames_above(Thread& thread, std::size_t count) {
  while (thread.frames.size() > count) {
    if (thread.frames.back().from_stack)
      end_call(thread);
    else
      drop_frame(thread);
  }
}

void begin_module_call(Thread& thread, const OpInfo& info, std::uint32_t module,
                       std::uint64_t object, bool trusted,
                       std::span<const at::Tensor* const> given) {
  const bool from_user_code = in_user_code(thread);
  if (from_user_code && c10::GradMode::is_enabled()) step_window_sees_forward(module);
  if (idle()) given = {};
  if (from_user_code && !idle()) {
    if (!thread.in_engine || thread.frames.empty()) enter_user_code(thread);
    follow_modules(thread, module, given);
  }
  if (module != 0 && !idle()) announce_root(thread, module);
  comes_round(thread, module);
  const bool wanted = wants_module(thread, module);
  Frame frame = wanted ? new_event(thread, info) : silent_frame(thread, info);
  if (module != 0) frame.module = module;
  frame.object = object;
  frame.trusted = trusted;
  frame.first_storage = storages().next_id();
  ++thread.moment;
  std::uint16_t index = 0;
  if (!wanted) given = {};
  for (const at::Tensor* tensor : given) {
    thread.slots.push_back(see_read(thread, *tensor, {Role::input, index, 0}, from_user_code).row);
    if (tensor->defined() && module != 0)
      link(*tensor, {frame.position, thread.lane(), module, index, false});
    ++index;
  }
  thread.frames.push_back(std::move(frame));
}

void module_call_returns(Thread& thread, std::span<const at::Tensor* const> returned) {
  const Frame& frame = thread.frames.back();
  if (frame.position == ring::kNone || idle()) return;
  std::uint16_t index = 0;
  for (const at::Tensor* tensor : returned) {
    const Place place{Role::output, index, 0};
    thread.slots.push_back(
        see_result_of_call(thread, *tensor, place, {frame.position, thread.lane(), thread.moment})
            .row);
    if (tensor->defined() && frame.module != 0)
      link(*tensor, {frame.position, thread.lane(), frame.module, index, true});
    ++index;
  }
}

void backward_crosses(Thread& thread, const torch::autograd::Node& node,
                      c10::ArrayRef<const c10::IValue> gradients) {
  boundary_links().find(node.thread_id(), node.sequence_nr(), thread.crossed);
  std::uint64_t seen = 0;  // a bit for each gradient: it crosses several boundaries at once
  for (const auto& [key, boundary] : thread.crossed) {
    if (key.output >= gradients.size() || !gradients[key.output].isTensor()) continue;
    const at::Tensor& gradient = gradients[key.output].toTensor();
    if (!gradient.defined()) continue;
    const OpInfo& info = call_info(EventKind::module_gradient, boundary.module, "gradient");
    tell(thread, info, boundary.module, [&, &key = key, &boundary = boundary](Frame& frame) {
      frame.forward = boundary.call;
      frame.forward_lane = boundary.lane;
      const Role role = boundary.is_output ? Role::input : Role::output;
      const Place place{role, boundary.index, 0};
      const std::uint64_t bit = key.output < 64 ? std::uint64_t{1} << key.output : 0;
      thread.slots.push_back(
          ((seen & bit) ? see_mention(thread, gradient, place) : see_state(thread, gradient, place))
              .row);
      seen |= bit;
    });
  }
}

void see_parameters(Thread& thread, std::uint64_t step) {
  for (const std::uint32_t root : known_roots()) {
    const RootWrites writes = writes_of(root, thread, step);
    if (writes.any && !writes.only_by_others() && takes_stamp(root, writes.stamp, only_layers()))
      tell_parameters(thread, root);
  }
}

void see_parameters_left(Thread& thread) {
  for (const std::uint32_t root : known_roots()) {
    const RootWrites writes = writes_of(root, thread, 0);
    if (writes.any && takes_stamp(root, writes.stamp, false)) tell_parameters(thread, root);
  }
}

void tell_roots_again() {
  const std::lock_guard guard(told_roots().mutex);
  told_roots().stamps.clear();
}

const OpInfo& forward_of(std::uint32_t module) {
  return call_info(EventKind::module, module, "forward");
}

void lock_module_calls() { told_roots().mutex.lock(); }
void unlock_module_calls() { told_roots().mutex.unlock(); }

}  // namespace ulpscope::capture
