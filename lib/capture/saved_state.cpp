#include "capture/saved_state.hpp"

#include <torch/optim.h>

#include <mutex>
#include <string>
#include <string_view>

#include "capture/kept_tensors.hpp"
#include "capture/recorder.hpp"
#include "capture/storage_table.hpp"
#include "capture/value.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::capture {
namespace {

using namespace torch::optim;

Name name_of_parameter(const at::Tensor& parameter) {
  if (!parameter.has_storage()) return {};
  const std::lock_guard guard(storages());
  const Name& name =
      storages().at(*parameter.storage().unsafeGetStorageImpl()).name_of(region_of(parameter));
  return (name.flags & slot_flag::parameter) != 0 ? name : Name{};
}

/// Calls visit(name, tensor) for each of them, by the classes of
/// torch/csrc/api/include/torch/optim.
template <class Visit>
void for_each_kept(const OptimizerParamState& state, Visit visit) {
  const auto visit_moments = [&](const auto& adam) {
    visit("exp_avg", adam.exp_avg());
    visit("exp_avg_sq", adam.exp_avg_sq());
    visit("max_exp_avg_sq", adam.max_exp_avg_sq());
  };
  if (const auto* adam = dynamic_cast<const AdamParamState*>(&state)) return visit_moments(*adam);
  if (const auto* adamw = dynamic_cast<const AdamWParamState*>(&state))
    return visit_moments(*adamw);
  if (const auto* sgd = dynamic_cast<const SGDParamState*>(&state))
    return visit("momentum_buffer", sgd->momentum_buffer());
  if (const auto* adagrad = dynamic_cast<const AdagradParamState*>(&state))
    return visit("sum", adagrad->sum());
  if (const auto* rmsprop = dynamic_cast<const RMSpropParamState*>(&state)) {
    visit("square_avg", rmsprop->square_avg());
    visit("momentum_buffer", rmsprop->momentum_buffer());
    visit("grad_avg", rmsprop->grad_avg());
  }
}

}  // namespace

void name_saved_state(const Optimizer& optimizer) {
  for (const OptimizerParamGroup& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params()) {
      const auto state = optimizer.state().find(parameter.unsafeGetTensorImpl());
      const Name name = name_of_parameter(parameter);
      if (state == optimizer.state().end() || state->second == nullptr || name.id == 0) continue;
      const std::string prefix = std::string(name_of(name.id)) + ".";
      for_each_kept(*state->second, [&](std::string_view kept, const at::Tensor& tensor) {
        if (tensor.defined())
          name_kept(tensor.unsafeGetTensorImpl(), prefix + std::string(kept),
                    slot_flag::optimizer_state, name.module);
      });
    }
}

}  // namespace ulpscope::capture
