#include "capture/call_sites.hpp"

#include "capture/program_symbols.hpp"
#include "capture/python_frames.hpp"

namespace ulpscope::capture {
namespace {

constexpr std::size_t kMostFrames = 32;

/// Appends the calls of compiled code. @return a hash of them.
std::uint64_t take_native_frames(Thread& thread) {
  CallStack& stack = thread.call_stack;
  stack.take();
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < stack.size() && thread.stack_frames.size() < kMostFrames; ++i) {
    // Inside the call instruction rather than after it, where the next line may begin.
    const Location location = location_of(stack[i].address - 1);
    if (location.object.empty() || is_library(location.object)) continue;
    thread.stack_frames.push_back({location.offset, thread.string(name_id(location.object)), 0});
    hash = (hash ^ stack[i].address) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

bool wants_call_sites() noexcept {
  const ring::Stacks wanted = settings().stacks;
  return wanted == ring::Stacks::all || (wanted == ring::Stacks::python && runs_python());
}

std::uint32_t call_site(Thread& thread) {
  thread.stack_frames.clear();
  // The calls of compiled code that run Python code are the interpreter's own.
  const std::uint64_t hash = runs_python()
                                 ? take_python_frames(thread, thread.stack_frames, kMostFrames)
                                 : take_native_frames(thread);
  if (thread.stack_frames.empty()) return 0;
  const auto [known, added] = thread.stack_ids.try_emplace(hash, 0);
  if (added) known->second = thread.define_stack(thread.stack_frames);
  return known->second;
}

}  // namespace ulpscope::capture
