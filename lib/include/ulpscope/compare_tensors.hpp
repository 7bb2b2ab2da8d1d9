#pragma once

#include <string>
#include <vector>

#include "ulpscope/compare.hpp"
#include "ulpscope/report.hpp"
#include "ulpscope/tensor_file.hpp"

namespace ulpscope {

/// Dimensions by letters, in the reference's order and in the candidate's: "NCHW" and "NHWC".
struct LayoutChange {
  std::string tensors = "*";  ///< a glob; it is applied to those with as many dimensions
  std::string reference;
  std::string candidate;
};

/// Compares tensors of the same name, in which '/' counts as '.', bit by bit. Of the options
/// `limits`, `rules`, `today`, `ignore` and `renames` apply; a rule's module is the tensor or
/// what it is in. The first of `layouts` that fits a tensor counts.
///
/// @throws Error with ErrorCode::corrupt if the content of a file is damaged; with ErrorCode::usage
/// if a rename or a layout is not possible.
[[nodiscard]] Report compare_tensors(const TensorFile& reference, const TensorFile& candidate,
                                     const CompareOptions& options = {},
                                     const std::vector<LayoutChange>& layouts = {});

}  // namespace ulpscope
