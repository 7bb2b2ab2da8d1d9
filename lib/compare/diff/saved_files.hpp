#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

/// The last file of a name that the main thread of a rank saves.
struct LastFile {
  std::string name;
  std::uint32_t number = 0;  ///< among the thread's files
  std::int64_t step = kSetup;
  std::size_t first = 0;  ///< of the tensors that the thread saves, where those of the file begin
  std::size_t tensors = 0;
};

/// By name. Empty if it is not noted of each file how many tensors it has
/// (`saved.file.N.tensors`), or if they are not `all` that the thread saves.
[[nodiscard]] std::vector<LastFile> last_files(const std::vector<EnvironmentEntry>& settings,
                                               std::size_t all);

/// Both have saved files, as many, each with the same keys in both; none of them in a thread that
/// may race with others.
[[nodiscard]] bool saved_same_keys(const Noted& noted);

}  // namespace ulpscope::comparison
