#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compare/model/side.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

/// Where inside the call of a module an op is, if the op's own module is unknown. A compiler may
/// inline the forward of one module into that of another: then the op appears directly in the outer
/// call, between calls of what the inner one calls.
struct ModulePlace {
  std::optional<std::string> module;         ///< dotted path; empty if it may be one of several
  std::optional<Both<std::string>> between;  ///< the calls before and after, if they show it
};

/// The place of an op that is directly in a module's call, from the calls before and after it:
/// a forward is one interval of its thread, so an op between two calls of one module's children
/// is in that module's forward. Empty if nothing more than the call around it is known.
[[nodiscard]] std::optional<ModulePlace> place_in_call(const Window& window, std::uint32_t op);

}  // namespace ulpscope::comparison
