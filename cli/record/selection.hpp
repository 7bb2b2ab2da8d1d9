#pragma once

#include <string>

#include "cli/record/session.hpp"

namespace ulpscope::cli {

/// Why a recording holds nothing of what --steps, --ops and --modules selected: "no step of --steps
/// was reached". Empty if it holds something, or not all was recorded.
[[nodiscard]] std::string why_nothing_was_selected(const RecordOptions& options,
                                                   const RecordResult& result);

}  // namespace ulpscope::cli
