#pragma once

#include <nlohmann/json.hpp>

#include "ulpscope/report.hpp"

/// Parts of JSON documents, for the renderers.
namespace ulpscope::cli {

using Json = nlohmann::ordered_json;

/// The document that render_json() prints.
[[nodiscard]] Json report_json(const Report& report);
[[nodiscard]] Json finding_json(const Finding& finding);

/// A document as text: bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string text_of(const Json& document);

}  // namespace ulpscope::cli
