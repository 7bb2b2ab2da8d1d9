#include "cli/render/page.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ulpscope::cli {
namespace {

constexpr std::size_t kGutterWidth = 6;      // "   |  "
constexpr std::size_t kLeastPageWidth = 20;  // below it wrapping does not help

std::size_t room(std::size_t width, std::size_t used) {
  return std::max(width > used ? width - used : 0, kLeastPageWidth);
}

}  // namespace

void Page::line(std::string_view text) {
  text_ += text;
  text_ += '\n';
}

void Page::labelled(std::string_view label, std::string_view text, Ink ink) {
  std::string head = padded(label, kLabelWidth);
  for (const std::string& part : wrapped(text, room(terminal_.width, kLabelWidth))) {
    line(paint(Ink::dim, head) + paint(ink, part));
    head.assign(kLabelWidth, ' ');
  }
}

void Page::framed(std::string_view text) {
  const std::string gutter = paint(Ink::blue, terminal_.gutter());
  line(text.empty() ? fmt::format("   {}", gutter) : fmt::format("   {}  {}", gutter, text));
}

std::size_t Page::framed_width() const { return room(terminal_.width, kGutterWidth); }

void Page::framed_labelled(std::string_view label, std::string_view text) {
  std::string head = padded(label, kLabelWidth);
  for (const std::string& part : wrapped(text, room(framed_width(), kLabelWidth))) {
    framed(paint(Ink::dim, head) + part);
    head.assign(kLabelWidth, ' ');
  }
}

void Page::remark(Ink ink, std::string_view label, std::string_view text) {
  const std::size_t indent = display_width(label) + 7;  // "   = " and ": "
  std::string head = fmt::format("   {} {}: ", paint(Ink::blue, "="), paint(ink, label));
  for (const std::string& part : wrapped(text, room(terminal_.width, indent))) {
    line(head + part);
    head.assign(indent, ' ');
  }
}

void Page::detail(std::string_view label, std::string_view text, Wrap wrap) {
  constexpr std::size_t kDetailIndent = 12;
  constexpr std::size_t kDetailLabel = 9;
  std::string head = padded(label, kDetailLabel);
  const std::vector<std::string> lines =
      wrap == Wrap::yes ? wrapped(text, room(terminal_.width, kDetailIndent + kDetailLabel))
                        : std::vector<std::string>{std::string(text)};
  for (const std::string& part : lines) {
    line(std::string(kDetailIndent, ' ') + paint(Ink::dim, head) + part);
    head.assign(kDetailLabel, ' ');
  }
}

}  // namespace ulpscope::cli
