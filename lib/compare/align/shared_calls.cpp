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

ItemCalls calls_of_items(const WindowPair& windows) {
  ItemCalls calls;
  for (const Side side : kSides) {
    const Window& window = windows.window(side);
    CallKeys keys;
    for (const Item& item : window.items())
      on(calls, side).push_back(keys.of(stack_around(window, item.event)));
  }
  return calls;
}

SharedCalls::SharedCalls(const ItemCalls& calls, const ItemLists& items) : calls_(calls) {
  std::unordered_set<std::uint64_t> of_reference;
  for (const std::uint32_t item : items.reference) of_reference.insert(calls.reference[item]);
  for (const std::uint32_t item : items.candidate)
    if (of_reference.contains(calls.candidate[item])) shared_.insert(calls.candidate[item]);
}

std::uint64_t SharedCalls::of(Side side, std::uint32_t item) const {
  const std::uint64_t call = on(calls_, side)[item];
  return shared_.contains(call) ? call : 0;
}

}  // namespace ulpscope::comparison
