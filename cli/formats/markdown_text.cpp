#include "cli/formats/markdown_text.hpp"

#include <fmt/format.h>

#include "cli/term/escape.hpp"

namespace ulpscope::cli {
namespace {

/// Those characters of `text` as HTML's character references.
std::string referenced(std::string_view text, std::string_view characters) {
  std::string result;
  for (const char c : text)
    result += characters.find(c) == characters.npos
                  ? std::string(1, c)
                  : fmt::format("&#{};", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return result;
}

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
  // A code span has no escapes, and the end of a table's cell comes before it.
  const bool plain = safe.find_first_of("`|\\") == safe.npos && safe.find_first_not_of(' ') == 0 &&
                     safe.back() != ' ';
  return plain ? fmt::format("`{}`", safe)
               : fmt::format("<code>{}</code>", referenced(safe, kMarkup));
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

std::string html_text(std::string_view text) { return referenced(text, "&<"); }

}  // namespace ulpscope::cli
