#include "compare/model/call_key.hpp"

#include "compare/model/hash.hpp"
#include "compare/model/place.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::uint64_t key_of(std::string_view stack) {
  KeyHash hash;
  for (const StackCall& call : stack_calls(stack)) {
    if (call.line.source.empty()) return 0;
    hash.add(call.function).add(call.line.source);
  }
  return stack.empty() ? 0 : hash.value();
}

}  // namespace

std::uint64_t CallKeys::of(std::string_view stack) {
  const auto [known, is_new] = keys_.try_emplace(stack, 0);
  if (is_new) known->second = key_of(stack);
  return known->second;
}

}  // namespace ulpscope::comparison
