#include <fmt/format.h>

#include <cctype>

#include "cli/options/help.hpp"

namespace ulpscope::cli {
namespace {

/// Text as Markdown shows it unchanged. What it puts between backquotes is code there, too.
std::string markdown(std::string_view text) {
  std::string result;
  bool is_code = false;
  for (const char c : text) {
    if (c == '`') is_code = !is_code;
    if (is_code || std::string_view("<&\\*_[]").find(c) == std::string_view::npos) {
      result += c;
    } else if (c == '<' || c == '&') {
      result += c == '<' ? "&lt;" : "&amp;";
    } else {
      result += '\\';
      result += c;
    }
  }
  return result;
}

/// What the help says in a table, as sentences.
std::string sentences(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  if (std::string_view(".:?").find(text.back()) == std::string_view::npos) text += '.';
  return markdown(text);
}

/// A line is a paragraph.
void paragraphs(std::string_view text) {
  for (const std::string& paragraph : split(text, '\n')) {
    if (!paragraph.empty()) fmt::print("{}\n\n", markdown(paragraph));
  }
}

void term(std::string_view spelling) { fmt::print("### `{}`\n\n", spelling); }

std::string meaning(const OptionHelp& option) {
  return option.details.empty() ? option.description
                                : fmt::format("{}. {}", option.description, option.details);
}

}  // namespace

void print_reference(const CommandHelp& help) {
  const Command& command = *help.command;
  fmt::print("# ulpscope {}\n\n{}\n\n", command.name, markdown(command.summary));
  fmt::print("```\nulpscope {} {}\n```\n\n", command.name, command.synopsis);
  paragraphs(command.details);
  fmt::print("```\n{}\n```\n\n", command.examples);
  if (!help.positionals.empty()) fmt::print("## Arguments\n\n");
  for (const PositionalHelp& positional : help.positionals) {
    term(positional.placeholder);
    fmt::print("{}\n\n", sentences(positional.description));
  }
  if (!help.options.empty()) fmt::print("## Options\n\n");
  for (const OptionHelp& option : help.options) {
    term(spelled(option));
    fmt::print("{}\n\nVariable: `{}`\n\n", sentences(meaning(option)), option.variable);
  }
}

}  // namespace ulpscope::cli
