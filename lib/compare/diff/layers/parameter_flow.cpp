#include "compare/diff/layers/parameter_flow.hpp"

#include "core/module_path.hpp"

namespace ulpscope::comparison {

void ParameterFlow::begin_step() {
  updated_.merge(updated_now_);
  updated_now_.clear();
  any_gradient_.reset();
}

bool ParameterFlow::see_root(const std::string& root) {
  updated_.erase(root);
  updated_now_.erase(root);
  return roots_.insert(root).second;
}

bool ParameterFlow::are_in(const LayerCall& call) const {
  if (!call.has_path) return false;
  const std::string inside = call.path.empty() ? std::string() : call.path + '.';
  const auto first = known_.lower_bound({call.root, inside});
  return first != known_.end() && first->first == call.root && first->second.starts_with(inside);
}

void ParameterFlow::differs(const std::string& root, const Slot& parameter, const Source& source) {
  differing_.try_emplace({root, std::string(parameter.name)}, Parameter{source, parameter.storage});
}

void ParameterFlow::equal(const std::string& root, const Slot& parameter) {
  differing_.erase({root, std::string(parameter.name)});
  if (parameter.storage == kNone) return;
  std::erase_if(differing_,
                [&](const auto& entry) { return entry.second.storage == parameter.storage; });
}

std::optional<Source> ParameterFlow::why(const std::string& root, const std::string& name) const {
  const auto at = differing_.find({root, name});
  if (at == differing_.end()) return std::nullopt;
  return at->second.source;
}

std::optional<Source> ParameterFlow::why(const LayerCall& call) const {
  for (const auto& [named, parameter] : differing_)
    if (!call.has_path || (named.first == call.root && core::is_below(named.second, call.path)))
      return parameter.source;
  return std::nullopt;
}

std::optional<Source> ParameterFlow::why_any() const {
  if (differing_.empty()) return std::nullopt;
  return differing_.begin()->second.source;
}

std::vector<Source> ParameterFlow::why_each() const {
  std::vector<Source> sources;
  for (const auto& [named, parameter] : differing_) sources.push_back(parameter.source);
  return sources;
}

void ParameterFlow::gradient_differs(const std::string& root, const std::string& name,
                                     const Source& source) {
  gradients_.try_emplace({root, name}, source);
  updated_now_.try_emplace(root, source);
  any_gradient_ = source;
}

std::optional<Source> ParameterFlow::why_gradient(const std::string& root,
                                                  const std::string& name) const {
  const auto at = gradients_.find({root, name});
  if (at == gradients_.end()) return std::nullopt;
  return at->second;
}

std::optional<Source> ParameterFlow::why_updated(const std::string& root) const {
  const auto at = updated_.find(root);
  if (at == updated_.end()) return std::nullopt;
  return at->second;
}

}  // namespace ulpscope::comparison
