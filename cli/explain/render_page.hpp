#pragma once

#include <string_view>

#include "cli/render/page.hpp"

namespace ulpscope::cli {

/// Lays out the Markdown of a cause page: headings bold, paragraphs and list items wrapped at the
/// terminal's width, lines indented by four spaces (commands, code) as they are.
void render_markdown(std::string_view text, Page& page);

/// A line for each cause: its id and its title, wrapped under itself.
void render_cause_list(Page& page);

}  // namespace ulpscope::cli
