#include "compare/measure/budget/models.hpp"

namespace ulpscope::comparison::budget {

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

bool is_factor(const facts::Op& op, std::string_view argument) {
  const bool adds_self = op.has(facts::fact::adds_self);
  return argument != "bias" && argument != "attn_mask" && !(adds_self && argument == "self");
}

}  // namespace ulpscope::comparison::budget
