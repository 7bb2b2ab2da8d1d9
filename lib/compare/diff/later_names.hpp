#pragma once

#include "compare/diff/evidence.hpp"
#include "compare/model/shown_models.hpp"

namespace ulpscope::comparison {

/// Gives the tensors of a finding the names that the models show for their memory later: what is
/// allocated and initialized in setup becomes "layer1.conv.weight".
void name_tensors(const Both<ShownModels>& models, Record& record);

}  // namespace ulpscope::comparison
