#pragma once

#include <vector>

#include "compare/model/shown_models.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// Where the models of the two runs differ, root by root: in their tensors' names, shapes and
/// dtypes, in what is trained, in their modules' types. Roots are partners by name; the only one of
/// each run is the other's partner, whatever its class.
[[nodiscard]] std::vector<ModelDifference> model_differences(const Both<ShownModels>& models);

}  // namespace ulpscope::comparison
