#include "cli/render/html.hpp"

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/render/html_page.hpp"
#include "cli/render/json_documents.hpp"
#include "cli/render/text.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kMostText = 1 << 18;  ///< of the text report, in bytes

/// Writes `text` with each character that is in `special` as its entry in `replacements`.
void write_replacing(std::string_view text, std::string_view special,
                     std::span<const std::string_view> replacements, std::ostream& out) {
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find_first_of(special), text.size());
    out << text.substr(0, plain);
    if (plain == text.size()) return;
    out << replacements[special.find(text[plain])];
    text.remove_prefix(plain + 1);
  }
}

/// The lines at the beginning that kMostText has room for.
std::string_view bounded(std::string_view text) {
  return text.size() <= kMostText ? text : text.substr(0, text.rfind('\n', kMostText) + 1);
}

/// As the content of an element. Lines come escaped from the text report.
void write_text(std::string_view text, std::ostream& out) {
  constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;"};
  write_replacing(text, "&<>", kEntities, out);
}

/// As the content of a script element, which ends at "</script" wherever that stands. In JSON a '<'
/// stands inside strings only, where it can be an escape.
void write_json(std::string_view json, std::ostream& out) {
  constexpr std::string_view kEscapes[] = {"\\u003c"};
  write_replacing(json, "<", kEscapes, out);
}

}  // namespace

void render_html(const Report& report, std::ostream& out) {
  std::ostringstream text;
  render_text(report, Terminal{}, text);
  const HtmlPage& page = html_page();
  out << page.before_text;
  write_text(bounded(text.view()), out);
  out << page.before_json;
  write_json(compact_text_of(report_json(report)), out);
  out << page.after_json;
}

}  // namespace ulpscope::cli
