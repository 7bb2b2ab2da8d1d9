#pragma once

#include <string_view>

namespace ulpscope::cli {

/// The page of a report, in the pieces between which the report stands: as text, then as JSON.
/// Generated from cli/render/html.
struct HtmlPage {
  std::string_view before_text;
  std::string_view before_json;
  std::string_view after_json;
};

[[nodiscard]] const HtmlPage& html_page();

}  // namespace ulpscope::cli
