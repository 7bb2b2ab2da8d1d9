#include "capture/thread_starts.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/memory.hpp"
#include "capture/recorder.hpp"

namespace ulpscope::capture {
namespace {

/// How many threads each creator on the way from the main thread had created before.
struct Creation {
  std::array<std::uint32_t, kDeepestCreation> way{};
  std::uint8_t depth = 0;
  bool known = false;
};

__attribute__((tls_model("initial-exec"))) constinit thread_local Creation own;
__attribute__((tls_model("initial-exec"))) constinit thread_local std::uint32_t created = 0;

struct Start {
  void* (*function)(void*);
  void* argument;
  Creation creation;
};

Creation creation_of_next() noexcept {
  const bool is_main = getpid() == gettid();
  Creation next = own;
  next.known = (own.known || is_main) && own.depth < kDeepestCreation;
  if (next.known) next.way[next.depth++] = created;
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
  try {
    memory = process_memory().allocate(sizeof(Start), alignof(Start));
  } catch (...) {  // the thread matters more than its origin
    return next(thread, attributes, function, argument);
  }
  new (memory) Start{function, argument, creation_of_next()};
  const int failure = next(thread, attributes, &begin_thread, memory);
  if (failure == 0)
    ++created;
  else
    process_memory().deallocate(memory, sizeof(Start), alignof(Start));
  return failure;
}

std::string_view creation_of_thread(CreationText& room) noexcept {
  char* at = room.data();
  for (const std::uint32_t before : std::span(own.way).first(own.depth)) {
    if (at != room.data()) *at++ = '.';
    at = std::to_chars(at, room.data() + room.size(), before).ptr;
  }
  return {room.data(), own.known ? static_cast<std::size_t>(at - room.data()) : 0};
}

}  // namespace ulpscope::capture
