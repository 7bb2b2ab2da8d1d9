#include "capture/thread_starts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/call_stack.hpp"
#include "capture/memory.hpp"
#include "capture/program_symbols.hpp"
#include "capture/recorder.hpp"
#include "capture/thread.hpp"

namespace ulpscope::capture {
namespace {

struct Creation {
  /// How many threads each creator on the way from the main thread had created before.
  std::array<std::uint32_t, kDeepestCreation> way{};
  std::uint8_t depth = 0;
  bool known = false;
  std::array<Location, kCreationCalls> calls{};  ///< of the program, innermost first
  std::uint8_t call_count = 0;
};

__attribute__((tls_model("initial-exec"))) constinit thread_local Creation own;
__attribute__((tls_model("initial-exec"))) constinit thread_local std::uint32_t created = 0;

struct Start {
  void* (*function)(void*);
  void* argument;
  Creation creation;
};

void add_calls(CallStack& stack, Creation& creation) {
  stack.take();
  for (std::size_t i = 0; i < stack.size() && creation.call_count < kCreationCalls; ++i) {
    const Location call = location_of(stack[i].address - 1);
    if (!call.object.empty() && !is_library(call.object))
      creation.calls[creation.call_count++] = call;
  }
}

Creation creation_of_next() {
  const bool is_main = getpid() == gettid();
  Creation next = own;
  next.call_count = 0;
  next.known = (own.known || is_main) && own.depth < kDeepestCreation;
  if (!next.known) return next;
  next.way[next.depth++] = created;
  if (Thread* const thread = Thread::opened()) {
    add_calls(thread->call_stack, next);
  } else {
    CallStack stack(&process_memory());
    add_calls(stack, next);
  }
  return next;
}

Start take(void* given) noexcept {
  const Start start = *static_cast<Start*>(given);
  process_memory().deallocate(given, sizeof(Start), alignof(Start));
  return start;
}

/// Leaves no frame on the thread's stack.
void* begin_thread(void* given) {
  const Start start = take(given);
  own = start.creation;
  return start.function(start.argument);
}

}  // namespace

int create_thread(CreateThread next, pthread_t* thread, const pthread_attr_t* attributes,
                  void* (*function)(void*), void* argument) {
  if (!recording()) return next(thread, attributes, function, argument);
  void* memory = nullptr;
  guarded("the creation of a thread", [&] {
    const Start start{function, argument, creation_of_next()};
    memory = new (process_memory().allocate(sizeof(Start), alignof(Start))) Start(start);
  });
  if (memory == nullptr) return next(thread, attributes, function, argument);
  const int failure = next(thread, attributes, &begin_thread, memory);
  if (failure == 0)
    ++created;
  else
    process_memory().deallocate(memory, sizeof(Start), alignof(Start));
  return failure;
}

std::string_view creation_of_thread(CreationText& room) noexcept {
  if (!own.known) return {};
  char* at = room.data();
  char* const end = at + room.size();
  for (const std::uint32_t before : std::span(own.way).first(own.depth)) {
    if (at != room.data()) *at++ = '.';
    at = std::to_chars(at, end, before).ptr;
  }
  for (const Location& call : std::span(own.calls).first(own.call_count)) {
    *at++ = ' ';
    const std::string_view path = call.object;
    const std::string_view name = path.substr(path.rfind('/') + 1).substr(0, kLongestObjectName);
    at = std::replace_copy(name.begin(), name.end(), at, ' ', '_');
    *at++ = '+';
    at = std::to_chars(at, end, call.offset, 16).ptr;
  }
  return {room.data(), static_cast<std::size_t>(at - room.data())};
}

}  // namespace ulpscope::capture
