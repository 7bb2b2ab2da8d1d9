#include "compare/diff/layers/layer_calls.hpp"

#include "core/module_path.hpp"

namespace ulpscope::comparison {

void LayerCalls::begin_step() {
  calls_before_ = std::exchange(calls_, {});
  by_module_.clear();
}

LayerCall* LayerCalls::find(EventPlace place) {
  const Key key(place.lane, place.position);
  if (const auto at = calls_.find(key); at != calls_.end()) return &at->second;
  const auto before = calls_before_.find(key);
  return before == calls_before_.end() ? nullptr : &before->second;
}

/// A damaged dump may call an event its own parent: an enclosing call begins before it.
LayerCall* LayerCalls::around(const LayerCall& inner) {
  return inner.parent.position < inner.place.position ? find(inner.parent) : nullptr;
}

LayerCall& LayerCalls::add(EventPlace place, EventPlace parent, const Event& module,
                           std::string before) {
  LayerCall& call = calls_[{place.lane, place.position}];
  call.place = place;
  call.parent = parent;
  call.root = module.root;
  call.path = module.module;
  call.has_path = module.has_module;
  call.before = std::move(before);
  if (LayerCall* outer = find(parent)) outer->has_inner = true;
  if (call.has_path) by_module_.emplace(std::pair(call.root, call.path), &call);
  return call;
}

std::vector<LayerCall*> LayerCalls::of_module(const std::string& root, std::string path) {
  std::vector<LayerCall*> found;
  while (true) {
    const auto [first, last] = by_module_.equal_range({root, path});
    for (auto at = first; at != last; ++at) found.push_back(at->second);
    if (!found.empty() || path.empty()) return found;
    path = std::string(core::path_around(path));
  }
}

void LayerCalls::mark_inside(EventPlace place, const Source& source) {
  for (LayerCall* at = find(place); at != nullptr; at = around(*at))
    if (!at->inside) at->inside = source;
}

void LayerCalls::mark_inner_gradients(EventPlace place, const Source& source) {
  for (LayerCall* at = find(place); at != nullptr; at = around(*at))
    if (!at->inner_gradients) at->inner_gradients = source;
}

}  // namespace ulpscope::comparison
