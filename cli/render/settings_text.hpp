#pragma once

#include <span>

#include "cli/inputs/settings_pairs.hpp"
#include "cli/render/page.hpp"

namespace ulpscope::cli {

/// Those that differ, the important ones first: as a table, or one below the other if values are
/// too long for one; of long lists of words only the words that only one run has.
void render_differing_settings(std::span<const SettingPair> pairs, Page& page);

/// Those that are equal, each with its one value.
void render_equal_settings(std::span<const SettingPair> pairs, Page& page);

}  // namespace ulpscope::cli
