#pragma once

#include <string>

#include "cli/check/bisection.hpp"
#include "cli/render/json_values.hpp"
#include "ulpscope/replay_report.hpp"
#include "ulpscope/report.hpp"

/// Documents and parts of them.
namespace ulpscope::cli {

/// The document that render_json() prints.
[[nodiscard]] Json report_json(const Report& report);
[[nodiscard]] Json finding_json(const Finding& finding);
/// The document that render_replay_json() prints.
[[nodiscard]] Json replay_json(const ReplayReport& report);
/// The document that render_bisection_json() prints.
[[nodiscard]] Json bisection_json(const Bisection& bisection);

/// A document as text: bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string text_of(const Json& document);
/// The same in one line, for programs.
[[nodiscard]] std::string compact_text_of(const Json& document);

}  // namespace ulpscope::cli
