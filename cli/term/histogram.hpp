#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/term/terminal.hpp"
#include "ulpscope/difference.hpp"

namespace ulpscope::cli {

/// A ULP histogram as lines of at most `width` columns: distance, elements, bar. Neighboring bins
/// are merged until at most `rows` are left. Bars compare the elements that differ; the ones that
/// are equal would dwarf them and get none.
[[nodiscard]] std::vector<std::string> histogram_lines(const std::vector<HistogramBin>& bins,
                                                       std::size_t rows, std::size_t width,
                                                       const Terminal& terminal);

}  // namespace ulpscope::cli
