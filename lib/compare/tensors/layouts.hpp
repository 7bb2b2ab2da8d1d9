#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ulpscope/compare_tensors.hpp"

namespace ulpscope::comparison {

/// The candidate's dimensions in the reference's order: of dimension d, its number in the
/// candidate. The order in which they are, if no layout fits.
/// @throws Error with ErrorCode::usage if a layout's letters are not the same, each once.
[[nodiscard]] std::vector<std::size_t> candidate_axes(const std::vector<LayoutChange>& layouts,
                                                      const std::string& path,
                                                      std::size_t dimensions);

/// The dimensions as they are.
[[nodiscard]] std::vector<std::size_t> same_axes(std::size_t dimensions);

}  // namespace ulpscope::comparison
