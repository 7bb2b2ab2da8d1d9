#pragma once

#include <vector>

#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What two ranks write to a file otherwise beside tensors, of the first file that differs: keys
/// that only one of them has, else whole numbers, and digests of arrays and sets. Noted of Python's
/// torch.save are the keys (`saved.file.N`, a digest, of which `saved.keys.DIGEST` has the lines
/// "model.weight: float32 [3, 4]"), the numbers (`saved.file.N.numbers`, lines "epoch=3") and the
/// name of the file (`saved.file.N.name`; none for a buffer). Files of other threads than main
/// (`saved.file.tN`) are compared as a set. Archives of C++ are `saved.archive.N`.
[[nodiscard]] std::vector<ArgumentReport> saved_otherwise(
    const std::vector<EnvironmentEntry>& reference, const std::vector<EnvironmentEntry>& candidate);

/// Both have saved files, as many, each with the same keys in both; none of them in a thread that
/// may race with others.
[[nodiscard]] bool saved_same_keys(const Both<std::vector<EnvironmentEntry>>& noted);

}  // namespace ulpscope::comparison
