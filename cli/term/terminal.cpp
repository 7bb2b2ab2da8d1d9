#include "cli/term/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ulpscope::cli {
namespace {

std::string_view escape_sequence(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "";
    case Ink::bold:
      return "\x1b[1m";
    case Ink::dim:
      return "\x1b[2m";
    case Ink::red:
      return "\x1b[1;31m";
    case Ink::green:
      return "\x1b[1;32m";
    case Ink::yellow:
      return "\x1b[1;33m";
    case Ink::blue:
      return "\x1b[1;34m";
  }
  return "";
}

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// Bytes of the longest start of `text` that has at most `columns` columns.
std::size_t prefix_bytes(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    if (!continues_character(text[bytes]) && columns-- == 0) break;
    ++bytes;
  }
  return bytes;
}

/// Where the first word ends; a range such as "0 - 16" is one.
std::size_t word_end(std::string_view text) {
  constexpr std::string_view kDash = " - ";
  std::size_t end = std::min(text.find(' '), text.size());
  while (text.substr(end).starts_with(kDash)) {
    end = std::min(text.find(' ', end + kDash.size()), text.size());
  }
  return end;
}

}  // namespace

std::string Terminal::paint(Ink ink, std::string_view text) const {
  if (!color || ink == Ink::plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", escape_sequence(ink), text);
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string fill(width > used ? width - used : 0, ' ');
  return right ? fill + std::string(text) : std::string(text) + fill;
}

std::string elided(std::string_view text, std::size_t width, const Terminal& terminal) {
  const std::size_t used = display_width(text);
  if (used <= width) return std::string(text);
  const std::size_t mark = display_width(terminal.ellipsis());
  if (width <= mark) return std::string(text.substr(0, prefix_bytes(text, width)));
  const std::size_t head = (width - mark) / 2;
  const std::size_t tail = width - mark - head;
  return fmt::format("{}{}{}", text.substr(0, prefix_bytes(text, head)), terminal.ellipsis(),
                     text.substr(prefix_bytes(text, used - tail)));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = word_end(text);
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace ulpscope::cli
