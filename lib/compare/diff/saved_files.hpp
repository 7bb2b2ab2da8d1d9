#pragma once

#include <vector>

#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What two ranks write to a file otherwise beside tensors, of the first file that differs: keys
/// that only one of them has, else whole numbers. Noted of Python's torch.save are the keys
/// (`saved.file.N`, a digest, of which `saved.keys.DIGEST` has the lines "model.weight: float32
/// [3, 4]") and the numbers (`saved.file.N.numbers`, lines "epoch=3").
[[nodiscard]] std::vector<ArgumentReport> saved_otherwise(
    const std::vector<EnvironmentEntry>& reference, const std::vector<EnvironmentEntry>& candidate);

}  // namespace ulpscope::comparison
