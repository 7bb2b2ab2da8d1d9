#include "compare/diff/layers/layer_flow.hpp"

namespace ulpscope::comparison {

void LayerFlow::begin_step() {
  calls.begin_step();
  parameters.begin_step();
  values_before_ = std::exchange(values_, {});
  latest_.reset();
  latest_value_.reset();
  alone_.reset();
  last_module.clear();
}

void LayerFlow::differs(const SlotPair& slot, const Source& source) {
  latest_ = source;
  latest_value_ = source;
  if (slot.match == Match::differs)
    values_.try_emplace({slot.reference->digest, slot.candidate->digest}, source);
}

void LayerFlow::gradient_differs(const std::string& root, const std::string& name,
                                 const Source& source) {
  parameters.gradient_differs(root, name, source);
  latest_ = source;
}

std::optional<Source> LayerFlow::why(const SlotPair& slot) const {
  if (slot.match != Match::differs) return std::nullopt;
  const std::pair key(slot.reference->digest, slot.candidate->digest);
  for (const Values* values : {&values_, &values_before_})
    if (const auto at = values->find(key); at != values->end()) return at->second;
  return std::nullopt;
}

}  // namespace ulpscope::comparison
