#include "cli/formats/markdown_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/term/escape.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kMarkup = "\\`*_{}[]<>#!|~&$";

/// GitHub makes links and mentions of these, even if they are escaped.
bool is_linked(std::string_view text) {
  return text.find_first_of("@#") != text.npos || text.find("://") != text.npos ||
         text.find("www.") != text.npos;
}

}  // namespace

std::string markdown_code(std::string_view text) {
  const std::string safe = escaped(text);
  if (safe.empty()) return {};
  std::string inside;
  std::size_t run = 0;
  std::size_t longest_run = 0;
  for (const char c : safe) {
    run = c == '`' ? run + 1 : 0;
    longest_run = std::max(longest_run, run);
    // A table takes the backslash away; two before it would end the cell.
    if (c == '|') inside += inside.ends_with('\\') ? "\\x7c" : "\\|";
    if (c != '|') inside += c;
  }
  const std::string fence(longest_run + 1, '`');
  const std::string_view pad = longest_run == 0 ? "" : " ";
  return fmt::format("{}{}{}{}{}", fence, pad, inside, pad, fence);
}

std::string markdown_prose(std::string_view text) {
  const std::string safe = escaped(text);
  if (is_linked(safe)) return markdown_code(text);
  std::string result;
  for (const char c : safe) {
    if (kMarkup.find(c) != kMarkup.npos) result += '\\';
    result += c;
  }
  return result;
}

std::string html_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else
      result += c;
  }
  return result;
}

}  // namespace ulpscope::cli
