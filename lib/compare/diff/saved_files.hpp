#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/model/side.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

using Noted = Both<std::vector<EnvironmentEntry>>;  ///< the settings of a rank

/// What two ranks write to a file otherwise beside tensors, of the first file that differs: keys
/// that only one of them has, else whole numbers, and digests of arrays and sets. Noted of Python's
/// torch.save are the keys (`saved.file.N`, a digest, of which `saved.keys.DIGEST` has the lines
/// "model.weight: float32 [3, 4]"), the numbers (`saved.file.N.numbers`, lines "epoch=3") and the
/// name of the file (`saved.file.N.name`; none for a buffer). Files of other threads than main
/// (`saved.file.tN`) are compared as a set. Archives of C++ are `saved.archive.N`.
struct SavedDifference {
  std::vector<ArgumentReport> reports;      ///< empty: there is none
  Both<std::optional<std::int64_t>> steps;  ///< in which the file was saved, and no other
};
[[nodiscard]] SavedDifference saved_otherwise(const Noted& noted);

/// Both have saved files, as many, each with the same keys in both; none of them in a thread that
/// may race with others.
[[nodiscard]] bool saved_same_keys(const Noted& noted);

}  // namespace ulpscope::comparison
