#include "cli/term/say.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cli/term/escape.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

/// Names in a file may be as long as the file: of a long text the beginning and the end.
std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 1000;
  constexpr std::size_t kEnd = 200;
  if (text.size() <= kMost) return std::string(text);
  const auto is_inside = [text](std::size_t at) {  // of a character of several bytes
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::size_t head = kMost - kEnd;
  std::size_t tail = text.size() - kEnd;
  for (int k = 0; k < 3 && is_inside(head); ++k) --head;
  for (int k = 0; k < 3 && is_inside(tail); ++k) ++tail;
  return fmt::format("{} ... ({} bytes left out) ... {}", text.substr(0, head),
                     core::grouped(tail - head), text.substr(tail));
}

/// A sentence as it is printed after "error:": without its capital and its period. Names are quoted
/// or follow a word, so a capital followed by a small letter begins a sentence.
std::string behind_a_colon(std::string_view sentence) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_lower = [](char c) { return (c >= 'a' && c <= 'z') || c == ' '; };
  if (sentence.ends_with('.')) sentence.remove_suffix(1);
  std::string text = escaped(shortened(sentence));
  if (text.size() > 1 && is_upper(text[0]) && is_lower(text[1])) {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

}  // namespace

void say(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void say_error(std::string_view message, std::string_view hint) {
  say(fmt::format("ulpscope: error: {}", behind_a_colon(message)));
  if (!hint.empty()) say(fmt::format("help: {}", behind_a_colon(hint)));
}

}  // namespace ulpscope::cli
