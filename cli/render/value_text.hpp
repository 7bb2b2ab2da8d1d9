#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/render/page.hpp"
#include "cli/term/table.hpp"
#include "ulpscope/statistics.hpp"
#include "ulpscope/stored_value.hpp"

namespace ulpscope::cli {

/// "float32 [3, 4] strides [1, 3] cuda:0"
[[nodiscard]] std::string geometry_text(const Geometry& geometry);

/// The first elements of packed ones as decimals that read back in their dtype; a bool is 0 or 1.
[[nodiscard]] std::vector<std::string> first_elements(Dtype dtype,
                                                      std::span<const std::byte> bytes);

/// One value in a list.
[[nodiscard]] std::vector<Cell> value_row(const StoredValue& value);

/// All that is known about one value. `recorded`: its statistics, if the run was recorded with
/// them; else they come from the bytes, if available.
void render_value(const StoredValue& value, const std::optional<Statistics>& recorded,
                  const std::optional<std::vector<std::byte>>& bytes, Page& page);

}  // namespace ulpscope::cli
