#include "capture/frames.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <xmmintrin.h>

#include <span>

#include "capture/call_sites.hpp"
#include "capture/environment_flags.hpp"
#include "capture/module_names.hpp"
#include "capture/step_window.hpp"

namespace ulpscope::capture {
namespace {

constexpr unsigned kFlushBits = 0x8040;  // MXCSR: flush to zero, denormals are zero

std::uint32_t state_flags() {
  std::uint32_t flags = 0;
  if (c10::InferenceMode::is_enabled()) flags |= event_flag::inference_mode;
  if (const bool on_gpu = at::autocast::is_autocast_enabled(at::kCUDA);
      on_gpu || at::autocast::is_autocast_enabled(at::kCPU)) {
    flags |= event_flag::autocast;
    const c10::ScalarType by_default = on_gpu ? at::kHalf : at::kBFloat16;
    if (at::autocast::get_autocast_dtype(on_gpu ? at::kCUDA : at::kCPU) != by_default)
      flags |= event_flag::autocast_other;
  }
  if ((_mm_getcsr() & kFlushBits) != 0) flags |= event_flag::flush_denormal;
  if (at::globalContext().deterministicAlgorithms()) flags |= event_flag::deterministic;
  return flags;
}

/// What the program freed before its next op is no outcome of the run.
void let_go_of_freed(Thread& thread) {
  if (thread.freed.empty()) return;
  const std::lock_guard guard(storages());
  for (const FreedBlock& block : thread.freed) storages().let_go(block);
  thread.freed.clear();
}

bool refers_to_forward(EventKind kind) {
  return kind == EventKind::node || kind == EventKind::module_output ||
         kind == EventKind::module_gradient;
}

/// Sends the innermost frame's event.
void send(Thread& thread, const Frame& frame, const RngFingerprint& after) {
  const Frame* parent = innermost_event(thread, thread.frames.size() - 1);
  ring::EventRow row{};
  row.position = frame.position;
  row.parent = parent == nullptr ? ring::kNone : parent->position;
  row.forward = ring::kNone;
  if (refers_to_forward(frame.info->kind)) {
    row.forward = frame.forward;
    row.forward_lane = frame.forward_lane;
  }
  row.epoch = frame.epoch;
  row.object = frame.object;
  row.stack = frame.stack;
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

}  // namespace

const Frame* innermost_event(const Thread& thread, std::size_t count) {
  while (count-- > 0)
    if (thread.frames[count].position != ring::kNone) return &thread.frames[count];
  return nullptr;
}

bool in_user_code(const Thread& thread) {
  const Frame* parent = parent_of(thread);
  return parent == nullptr ||
         (!parent->trusted && !parent->inside_op && parent->info->kind != EventKind::op);
}

void enter_user_code(Thread& thread) {
  if (thread.in_engine) thread.look_at_settings = true;
  thread.in_engine = false;
  let_go_of_freed(thread);
  thread.epoch = next_epoch();
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
  frame.flags = info.flags | (parent == nullptr ? 0 : parent->flags & kInheritedFlags);
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
  if (in_full_steps() && in_user_code(thread)) frame.stack = call_site(thread);
  frame.slots = thread.slots.size();
  frame.arguments = thread.arguments.size();
  frame.written = thread.written.size();
  return frame;
}

Frame silent_frame(Thread& thread, const OpInfo& info) {
  Frame frame;
  frame.info = &info;
  if (const Frame* parent = parent_of(thread)) {
    frame.flags = parent->flags & kInheritedFlags;
    frame.inside_op = parent->inside_op || parent->info->kind == EventKind::op;
    frame.module = parent->module;
  }
  frame.slots = thread.slots.size();
  frame.arguments = thread.arguments.size();
  frame.written = thread.written.size();
  return frame;
}

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

}  // namespace ulpscope::capture
