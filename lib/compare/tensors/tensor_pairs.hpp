#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ulpscope/compare_tensors.hpp"

namespace ulpscope::comparison {

/// Which tensors of two files are partners, by index in their files.
struct TensorPairs {
  struct Pair {
    std::size_t reference = 0;
    std::size_t candidate = 0;
  };
  std::vector<Pair> pairs;  ///< in the reference's order
  std::vector<std::size_t> only_reference;
  std::vector<std::size_t> only_candidate;
  /// What a file alone has below a name that the other one has as unreadable, a link to another
  /// file: its partner may be behind it. And these names.
  Both<std::vector<std::size_t>> behind_unreadable;
  /// Plain values of a file, where the other one's format has none.
  Both<std::uint64_t> plain{};
  std::uint64_t ignored = 0;                ///< in one file or both, counted once
  std::vector<const ModuleRename*> unused;  ///< renames that fitted nothing
};

/// @throws Error with ErrorCode::usage if two tensors of a file go by one name, or if a rename is
/// not possible.
[[nodiscard]] TensorPairs pair_tensors(const TensorFile& reference, const TensorFile& candidate,
                                       const CompareOptions& options);

/// By what a tensor is looked for: its name with '.' for '/'.
[[nodiscard]] std::string tensor_path(std::string_view name);

}  // namespace ulpscope::comparison
