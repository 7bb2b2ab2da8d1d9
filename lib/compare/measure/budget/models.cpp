#include "compare/measure/budget/models.hpp"

#include <limits>

namespace ulpscope::comparison::budget {
namespace {

constexpr double kEpsOfFloat32 = std::numeric_limits<float>::epsilon();
constexpr double kEpsOfFloat64 = std::numeric_limits<double>::epsilon();

}  // namespace

Model model_of(const facts::Op& op) {
  using facts::ErrorModel;
  switch (op.row().error_model()) {
    case ErrorModel::none:
      return nullptr;
#define ULPSCOPE_MODEL(model) \
  case ErrorModel::model:     \
    return model;
      ULPSCOPE_ERROR_MODELS(ULPSCOPE_MODEL)
#undef ULPSCOPE_MODEL
  }
  return nullptr;
}

Allowance allowance_of(Model model, const OpView& op, std::size_t result) {
  Allowance allowance = model(op, result);
  if (op.on_gpu() && op.op().has(facts::fact::float32_on_gpu) &&
      op.result_dtype() == Dtype::float64) {
    allowance.relative += kEpsOfFloat32 / kEpsOfFloat64;
    allowance.absolute += kEpsOfFloat32 / kEpsOfFloat64;
    allowance.why += ", in part of float32";
  }
  return allowance;
}

bool is_factor(const facts::Op& op, std::string_view argument) {
  const bool adds_self = op.has(facts::fact::adds_self);
  return argument != "bias" && argument != "attn_mask" && !(adds_self && argument == "self");
}

}  // namespace ulpscope::comparison::budget
