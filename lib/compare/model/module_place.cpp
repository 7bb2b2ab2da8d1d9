#include "compare/model/module_place.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include "core/module_path.hpp"

namespace ulpscope::comparison {
namespace {

/// The deepest module that both are below.
[[nodiscard]] std::string_view common_ancestor(std::string_view a, std::string_view b) {
  std::string_view common = core::path_around(a);
  while (!common.empty() && !core::is_below(b, common)) common = core::path_around(common);
  return common;
}

/// "qkv" of "blocks.0.attention.qkv" below "blocks.0.attention".
[[nodiscard]] std::string_view child_name(std::string_view path, std::string_view outer) {
  path.remove_prefix(outer.empty() ? 0 : outer.size() + 1);
  return path.substr(0, path.find('.'));
}

/// Children of containers are numbered; a container itself runs no ops.
[[nodiscard]] bool is_numbered(std::string_view child) {
  return !child.empty() && std::all_of(child.begin(), child.end(),
                                       [](unsigned char c) { return c >= '0' && c <= '9'; });
}

/// The calls of modules that are directly in a call, in order.
[[nodiscard]] std::vector<std::uint32_t> inner_calls(const Window& window, std::uint32_t call) {
  std::vector<std::uint32_t> calls;
  for (std::uint32_t index = call + 1; index < window.end(call);) {
    const EventKind kind = window.event(index).kind;
    if (kind == EventKind::module) calls.push_back(index);
    index = kind == EventKind::scope ? index + 1 : window.end(index);
  }
  return calls;
}

/// The call that an op is directly in; kNoIndex if the op has its own module.
[[nodiscard]] std::uint32_t call_around(const Window& window, std::uint32_t op) {
  std::uint32_t call = window.parent(op);
  while (call != kNoIndex && window.event(call).kind != EventKind::module)
    call = window.parent(call);
  if (call == kNoIndex || !window.event(call).has_module) return kNoIndex;
  for (std::uint32_t index = op; index != call; index = window.parent(index)) {
    const Event& event = window.event(index);
    if (event.flags & event_flag::module_from_parameter) return kNoIndex;
    if (event.has_module && event.module != window.event(call).module) return kNoIndex;
  }
  return call;
}

/// Whether a child of `module` that is called after the op was called before it in the same forward
/// of the module, which starts over when a child is called again: then the forward may have ended
/// in between.
[[nodiscard]] bool began_again(const Window& window, const std::vector<std::uint32_t>& calls,
                               std::size_t after, std::string_view module) {
  const auto path = [&](std::size_t k) { return window.event(calls[k]).module; };
  std::size_t first = after;
  while (first > 0 && core::is_below(path(first - 1), module)) --first;
  std::set<std::string_view> called;
  std::string_view last;
  for (std::size_t k = first; k < after; ++k) {
    const std::string_view child = child_name(path(k), module);
    if (child != last && called.contains(child)) called.clear();
    called.insert(child);
    last = child;
  }
  return called.contains(child_name(path(after), module));
}

/// True if a module between the call around it and an inner call shows no call itself, so that its
/// forward may extend to the op.
[[nodiscard]] bool is_inlined_between(std::string_view inner, std::string_view outer) {
  return core::is_below(core::path_around(inner), outer);
}

}  // namespace

std::optional<ModulePlace> place_in_call(const Window& window, std::uint32_t op) {
  const std::uint32_t call = call_around(window, op);
  if (call == kNoIndex) return std::nullopt;
  const std::vector<std::uint32_t> calls = inner_calls(window, call);
  const auto next =
      std::find_if(calls.begin(), calls.end(), [&](std::uint32_t inner) { return inner > op; });
  if (next == calls.begin() || next == calls.end()) return std::nullopt;
  const Event& outer = window.event(call);
  const Event& before = window.event(*(next - 1));
  const Event& after = window.event(*next);
  const bool all_known = before.has_module && after.has_module && before.root == outer.root &&
                         after.root == outer.root && core::is_below(before.module, outer.module) &&
                         core::is_below(after.module, outer.module);
  if (!all_known) return std::nullopt;

  const Both<std::string> between{std::string(before.module), std::string(after.module)};
  const std::string_view module = common_ancestor(before.module, after.module);
  if (!core::is_below(module, outer.module)) {
    if (is_inlined_between(before.module, outer.module) ||
        is_inlined_between(after.module, outer.module))
      return ModulePlace{std::string(outer.module), between};
    return std::nullopt;
  }
  const bool shows_calls = std::any_of(calls.begin(), calls.end(), [&](std::uint32_t inner) {
    return window.event(inner).module == module;
  });
  const bool container = is_numbered(child_name(before.module, module)) ||
                         is_numbered(child_name(after.module, module));
  if (shows_calls || container) return ModulePlace{std::string(outer.module), between};
  const auto after_index = static_cast<std::size_t>(next - calls.begin());
  if (began_again(window, calls, after_index, module)) return ModulePlace{std::nullopt, between};
  return ModulePlace{std::string(module), std::nullopt};
}

}  // namespace ulpscope::comparison
