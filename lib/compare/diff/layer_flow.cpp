#include "compare/diff/layer_flow.hpp"

#include <string_view>

#include "core/module_path.hpp"

namespace ulpscope::comparison {
namespace {

template <class Table>
[[nodiscard]] std::optional<Source> look_up(const Table& table,
                                            const typename Table::key_type& key) {
  const auto at = table.find(key);
  if (at == table.end()) return std::nullopt;
  return at->second;
}

}  // namespace

void LayerFlow::begin_step() {
  calls_before_ = std::exchange(calls_, {});
  calls_by_module_.clear();
  values_before_ = std::exchange(values_, {});
  untold_.merge(untold_now_);
  untold_now_.clear();
  any_gradient_.reset();
  latest_.reset();
  latest_value_.reset();
  alone_.reset();
  last_module.clear();
}

LayerCall* LayerFlow::call(EventPlace place) {
  const Key key(place.lane, place.position);
  if (const auto at = calls_.find(key); at != calls_.end()) return &at->second;
  const auto before = calls_before_.find(key);
  return before == calls_before_.end() ? nullptr : &before->second;
}

/// A damaged dump may call an event its own parent: an enclosing call begins before it.
LayerCall* LayerFlow::around(const LayerCall& inner) {
  return inner.parent.position < inner.place.position ? call(inner.parent) : nullptr;
}

LayerCall& LayerFlow::add_call(EventPlace place, EventPlace parent, const Event& module) {
  LayerCall& call = calls_[{place.lane, place.position}];
  call.place = place;
  call.parent = parent;
  call.root = module.root;
  call.path = module.module;
  call.has_path = module.has_module;
  call.before = last_module;
  if (LayerCall* outer = this->call(parent)) outer->has_inner = true;
  if (call.has_path) calls_by_module_.emplace(Named(call.root, call.path), &call);
  return call;
}

std::vector<LayerCall*> LayerFlow::calls_of(const std::string& root, std::string path) {
  std::vector<LayerCall*> found;
  while (true) {
    const auto [first, last] = calls_by_module_.equal_range({root, path});
    for (auto at = first; at != last; ++at) found.push_back(at->second);
    if (!found.empty() || path.empty()) return found;
    path = std::string(core::path_around(path));
  }
}

void LayerFlow::mark_inside(EventPlace place, const Source& source) {
  for (LayerCall* at = call(place); at != nullptr; at = around(*at))
    if (!at->inside) at->inside = source;
}

void LayerFlow::mark_inner_gradients(EventPlace place, const Source& source) {
  for (LayerCall* at = call(place); at != nullptr; at = around(*at))
    if (!at->inner_gradients) at->inner_gradients = source;
}

void LayerFlow::differs(const SlotPair& slot, const Source& source) {
  latest_ = source;
  latest_value_ = source;
  if (slot.match == Match::differs)
    values_.try_emplace({slot.reference->digest, slot.candidate->digest}, source);
}

std::optional<Source> LayerFlow::why(const SlotPair& slot) const {
  if (slot.match != Match::differs) return std::nullopt;
  const std::pair key(slot.reference->digest, slot.candidate->digest);
  const auto here = look_up(values_, key);
  return here ? here : look_up(values_before_, key);
}

bool LayerFlow::owns_parameters(const LayerCall& call) const {
  if (!call.has_path) return false;
  const std::string inside = call.path.empty() ? std::string() : call.path + '.';
  const auto first = known_.lower_bound({call.root, inside});
  return first != known_.end() && first->first == call.root && first->second.starts_with(inside);
}

void LayerFlow::parameter_differs(const std::string& root, const Slot& parameter,
                                  const Source& source) {
  parameters_.try_emplace({root, std::string(parameter.name)},
                          Parameter{source, parameter.storage});
}

void LayerFlow::parameter_equal(const std::string& root, const Slot& parameter) {
  parameters_.erase({root, std::string(parameter.name)});
  if (parameter.storage == kNone) return;
  std::erase_if(parameters_,
                [&](const auto& entry) { return entry.second.storage == parameter.storage; });
}

std::optional<Source> LayerFlow::why_parameter(const std::string& root,
                                               const std::string& name) const {
  const auto at = parameters_.find({root, name});
  if (at == parameters_.end()) return std::nullopt;
  return at->second.source;
}

std::optional<Source> LayerFlow::why_parameters(const LayerCall& call) const {
  for (const auto& [named, parameter] : parameters_)
    if (!call.has_path || (named.first == call.root && core::is_below(named.second, call.path)))
      return parameter.source;
  return std::nullopt;
}

std::optional<Source> LayerFlow::why_any_parameter() const {
  if (parameters_.empty()) return std::nullopt;
  return parameters_.begin()->second.source;
}

std::vector<Source> LayerFlow::differing_parameters() const {
  std::vector<Source> sources;
  for (const auto& [named, parameter] : parameters_) sources.push_back(parameter.source);
  return sources;
}

void LayerFlow::gradient_differs(const std::string& root, const std::string& name,
                                 const Source& source) {
  gradients_.try_emplace({root, name}, source);
  untold_now_.try_emplace(root, source);
  any_gradient_ = source;
  latest_ = source;
}

std::optional<Source> LayerFlow::why_untold(const std::string& root) const {
  const auto at = untold_.find(root);
  return at == untold_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<Source> LayerFlow::why_gradient(const std::string& root,
                                              const std::string& name) const {
  return look_up(gradients_, {root, name});
}

}  // namespace ulpscope::comparison
