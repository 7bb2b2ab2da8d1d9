#include "compare/diff/units.hpp"

#include <algorithm>
#include <string>

#include "core/glob.hpp"

namespace ulpscope::comparison {

bool is_unit(const RankState& state, const Event& event) {
  if (event.kind == EventKind::op) return true;
  return state.mode.only_layers &&
         (event.kind == EventKind::module || event.kind == EventKind::gradient ||
          event.kind == EventKind::optimizer);
}

bool is_ignored(const RankState& state, const Event& event) {
  return std::any_of(state.options.ignore.begin(), state.options.ignore.end(),
                     [&](const std::string& pattern) {
                       return core::glob_match_op(pattern, event.op) ||
                              (event.has_module && core::glob_match_module(pattern, event.module));
                     });
}

}  // namespace ulpscope::comparison
