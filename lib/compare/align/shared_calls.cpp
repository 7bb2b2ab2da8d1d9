#include "compare/align/shared_calls.hpp"

#include <string_view>

#include "compare/model/call_key.hpp"

namespace ulpscope::comparison {
namespace {

/// Of an op inside a module's forward, which PyTorch calls, the call of that.
[[nodiscard]] std::string_view stack_around(const Window& window, std::uint32_t event) {
  while (event != kNoIndex && window.event(event).stack.empty()) event = window.parent(event);
  return event == kNoIndex ? std::string_view() : window.event(event).stack;
}

}  // namespace

SharedCalls::SharedCalls(const Both<const Window*>& windows) {
  for (const Side side : kSides) {
    const Window& window = *on(windows, side);
    CallKeys keys;
    for (const Item& item : window.items()) {
      on(calls_, side).push_back(keys.of(stack_around(window, item.event)));
      on(known_, side).insert(on(calls_, side).back());
    }
  }
}

std::uint64_t SharedCalls::call_of(Side side, std::uint32_t item) const {
  const std::uint64_t call = on(calls_, side)[item];
  return on(known_, the_other(side)).contains(call) ? call : 0;
}

}  // namespace ulpscope::comparison
