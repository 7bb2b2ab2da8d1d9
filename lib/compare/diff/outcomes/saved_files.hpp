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
/// that only one of them has, else whole numbers, and digests of arrays and sets, else other
/// numbers and texts that have exchanged their keys. Noted of Python's torch.save are the keys
/// (`saved.file.N`, a digest, of which `saved.keys.DIGEST` has the lines "model.weight: float32 [3,
/// 4]"), the numbers (`saved.file.N.numbers`, lines "epoch=3"), other numbers and digests of texts
/// (`saved.file.N.others`) and the name of the file (`saved.file.N.name`; none for a buffer) and
/// the end of its path
/// (`saved.file.N.path`). Files of other threads than main (`saved.file.tN`) are compared as a set.
/// Archives of C++ are `saved.archive.N`; of those, which are in the order in which the program
/// wrote to them, the keys of their tensors in that order are noted, too (`saved.archive.N.order`).
struct SavedDifference {
  std::vector<ArgumentReport> reports;      ///< empty: there is none
  Both<std::optional<std::int64_t>> steps;  ///< in which the file was saved, and no other
};
[[nodiscard]] SavedDifference saved_otherwise(const Noted& noted);

/// The last file of a path that the main thread of a rank saves.
struct LastFile {
  std::string name;          ///< without folder and extension
  std::string path;          ///< its end; empty where it is not noted
  std::uint32_t number = 0;  ///< among the thread's files
  std::int64_t step = kSetup;
  std::size_t first = 0;  ///< of the tensors that the thread saves, where those of the file begin
  std::size_t tensors = 0;
  bool is_archive = false;        ///< of C++
  std::vector<std::string> keys;  ///< of the tensors, in their order; empty if they are not noted
};

/// By name and path. Empty if it is not noted of each file how many tensors it has
/// (`saved.file.N.tensors`), if they are not `all` that the thread saves, or if it saves archives
/// beside files.
[[nodiscard]] std::vector<LastFile> last_files(const std::vector<EnvironmentEntry>& settings,
                                               std::size_t all);

/// What is the same file in both runs: of one path, if both save files of the same paths under a
/// name; else the last ones of a name, because each run may have a folder of its own.
struct LastFiles {
  std::string name;  ///< the path, if the name does not say which file it is
  Both<LastFile> files;
  bool certain = false;  ///< a name with digits may say when the file was saved
};
[[nodiscard]] std::vector<LastFiles> same_files(const Both<std::vector<LastFile>>& files);

/// Both have saved files, as many, each with the same keys in both; none of them in a thread that
/// may race with others.
[[nodiscard]] bool saved_same_keys(const Noted& noted);

}  // namespace ulpscope::comparison
