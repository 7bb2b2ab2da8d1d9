#pragma once

#include <string_view>

/// Paths of modules and names of tensors as `named_modules()` and `named_parameters()` have them:
/// parts with dots between, the root "".
namespace ulpscope::core {

/// The path without its last part: "layer1.conv1" for "layer1.conv1.weight"; "" above what the root
/// holds.
[[nodiscard]] constexpr std::string_view path_around(std::string_view path) noexcept {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

/// True if `path` is below `outer`: a part of its module, at any depth.
[[nodiscard]] constexpr bool is_below(std::string_view path, std::string_view outer) noexcept {
  if (outer.empty()) return !path.empty();
  return path.size() > outer.size() && path.starts_with(outer) && path[outer.size()] == '.';
}

}  // namespace ulpscope::core
