#pragma once

#include <ostream>

#include "ulpscope/report.hpp"

namespace ulpscope::cli {

inline constexpr int kReportSchemaVersion = 1;

/// The report as the public JSON document: non-finite numbers and integers beyond 2^53 are strings,
/// unknown values are null.
void render_json(const Report& report, std::ostream& out);

}  // namespace ulpscope::cli
