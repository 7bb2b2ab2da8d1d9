#pragma once

#include <span>
#include <string_view>

namespace ulpscope::cli {

/// What `ulpscope explain ID` says of one cause: Markdown with a title "# ID: in a few words" and
/// the sections "What it is", "In a report", "Confirm", "Fix" and "Source".
struct CausePage {
  std::string_view id;
  std::string_view text;
};

/// All of them, in the order in which they are listed. Generated from cli/assets/explain.
[[nodiscard]] std::span<const CausePage> cause_pages();

/// The title without the id.
[[nodiscard]] std::string_view title(const CausePage& page);

/// What stands under a heading; empty if the page does not have it.
[[nodiscard]] std::string_view section(const CausePage& page, std::string_view heading);

}  // namespace ulpscope::cli
