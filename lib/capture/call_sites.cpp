#include "capture/call_sites.hpp"

#include <span>

#include "capture/program_symbols.hpp"
#include "capture/python_frames.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::capture {
namespace {

constexpr std::size_t kMostFrames = 32;

/// Appends the calls of compiled code.
void take_native_frames(Thread& thread) {
  CallStack& stack = thread.call_stack;
  stack.take();
  for (std::size_t i = 0; i < stack.size() && thread.stack_frames.size() < kMostFrames; ++i) {
    // Inside the call instruction rather than after it, where the next line may begin.
    const Location location = location_of(stack[i].address - 1);
    if (location.object.empty() || is_library(location.object)) continue;
    thread.stack_frames.push_back({location.offset, thread.string(name_id(location.object)), 0});
  }
}

}  // namespace

std::uint32_t call_site(Thread& thread) {
  const ring::Stacks wanted = settings().stacks;
  if (wanted == ring::Stacks::none) return 0;
  thread.stack_frames.clear();
  // The calls of compiled code that run Python code are the interpreter's own.
  if (!take_python_frames(thread, kMostFrames) && wanted == ring::Stacks::all)
    take_native_frames(thread);
  if (thread.stack_frames.empty()) return 0;
  const std::uint64_t hash = digest(std::as_bytes(std::span(thread.stack_frames))).low;
  const auto [known, added] = thread.stack_ids.try_emplace(hash, 0);
  if (added) known->second = thread.define_stack(thread.stack_frames);
  return known->second;
}

}  // namespace ulpscope::capture
