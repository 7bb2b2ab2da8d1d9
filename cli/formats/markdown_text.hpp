#pragma once

#include <string>
#include <string_view>

/// Foreign text inside Markdown, in a paragraph or in a table's cell: none of it is markup, a link
/// or the mention of a person.
namespace ulpscope::cli {

/// Names and values.
[[nodiscard]] std::string markdown_code(std::string_view text);

/// Sentences.
[[nodiscard]] std::string markdown_prose(std::string_view text);

/// Inside an element of HTML.
[[nodiscard]] std::string html_text(std::string_view text);

}  // namespace ulpscope::cli
