#include "cli/explain/render_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/explain/cause_pages.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kCode = "    ";
constexpr std::string_view kItem = "- ";
constexpr std::size_t kLeastTextWidth = 20;

/// Lines that belong together, waiting to be wrapped.
class Paragraph {
 public:
  explicit Paragraph(Page& page) : page_(page) {}

  void add(std::string_view line) {
    if (!text_.empty()) text_ += ' ';
    text_ += line;
  }
  void begin_item(std::string_view line) {
    end();
    bullet_ = kItem;
    add(line.substr(kItem.size()));
  }
  void end() {
    if (text_.empty()) return;
    const std::size_t width = page_.terminal().width;
    std::string_view head = bullet_;
    for (const std::string& line :
         wrapped(text_, std::max(width - std::min(width, bullet_.size()), kLeastTextWidth))) {
      page_.line(fmt::format("{}{}", head, line));
      if (!head.empty()) head = "  ";
    }
    text_.clear();
    bullet_ = {};
  }

 private:
  Page& page_;
  std::string text_;
  std::string_view bullet_;
};

}  // namespace

std::string_view title(const CausePage& page) {
  const std::string_view line = page.text.substr(0, page.text.find('\n'));
  const std::size_t colon = line.find(": ");
  return colon == line.npos ? line : line.substr(colon + 2);
}

std::string_view section(const CausePage& page, std::string_view heading) {
  const std::string head = fmt::format("\n## {}\n", heading);
  const std::size_t at = page.text.find(head);
  if (at == page.text.npos) return {};
  const std::string_view rest = page.text.substr(at + head.size());
  return rest.substr(0, rest.find("\n\n## "));
}

void render_markdown(std::string_view text, Page& page) {
  Paragraph paragraph(page);
  bool after_code = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t heading = line.starts_with("#") ? line.find_first_not_of("# ") : 0;
    const bool is_code = line.starts_with(kCode);
    if (after_code && !is_code && !line.empty()) page.line();
    after_code = is_code;
    if (line.empty() || heading != 0 || is_code) {
      paragraph.end();
      page.line(heading != 0 ? page.paint(Ink::bold, line.substr(heading)) : std::string(line));
    } else if (line.starts_with(kItem)) {
      paragraph.begin_item(line);
    } else {
      paragraph.add(line.substr(line.find_first_not_of(' ')));
    }
  }
  paragraph.end();
}

void render_cause_list(Page& page) {
  std::size_t longest = 0;
  for (const CausePage& cause : cause_pages()) longest = std::max(longest, cause.id.size());
  const std::size_t indent = longest + 2;
  for (const CausePage& cause : cause_pages()) {
    std::string head = page.paint(Ink::bold, cause.id) + std::string(indent - cause.id.size(), ' ');
    const std::size_t room = std::max(page.terminal().width - indent, kLeastTextWidth);
    for (const std::string& line : wrapped(title(cause), room)) {
      page.line(head + line);
      head.assign(indent, ' ');
    }
  }
}

}  // namespace ulpscope::cli
