#include "cli/options/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "cli/term/terminal.hpp"
#include "cli/term/width.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t kColumn = 26;
constexpr std::size_t kLeastTextWidth = 20;

void print_wrapped(std::string_view text, std::size_t width) {
  for (const std::string& line : wrapped(text, width)) fmt::print("{}\n", line);
}

void print_columns(const std::string& left, std::string_view right, std::size_t column,
                   std::size_t width) {
  std::string head = fmt::format("  {}", padded(left, column));
  if (display_width(left) > column) {
    fmt::print("{}\n", head);
    head.assign(column + 2, ' ');
  }
  const std::size_t room = width > column + 4 ? width - column - 4 : 0;
  for (const std::string& line : wrapped(right, std::max(room, kLeastTextWidth))) {
    fmt::print("{}  {}\n", head, line);
    head.assign(column + 2, ' ');
  }
}

std::string description(const OptionHelp& option, bool everything) {
  if (!everything) return option.description;
  const std::string details = option.details.empty() ? "" : fmt::format(". {}", option.details);
  return fmt::format("{}{} [{}]", option.description, details, option.variable);
}

}  // namespace

std::string spelled(const OptionHelp& option) {
  const std::string names = fmt::format("{}", fmt::join(split(option.names, ','), ", "));
  return option.placeholder.empty() ? names : fmt::format("{} {}", names, option.placeholder);
}

void print_overview(bool everything) {
  const std::size_t width = output_width(STDOUT_FILENO);
  print_wrapped("Ulpscope says where two runs of the same LibTorch model diverge, and why.", width);
  fmt::print("\nusage: ulpscope COMMAND ...\n\ncommands:\n");
  for (const Command* command : commands()) {
    print_columns(std::string(command->name), command->summary, 8, width);
  }
  if (everything) {
    fmt::print("\n");
    for (const Command* command : commands()) {
      fmt::print("ulpscope {} {}\n", command->name, command->synopsis);
    }
    fmt::print("\n");
    print_wrapped(
        "A dump is the directory that record writes. Where one is read a part may be selected: "
        "DUMP@rank=2, DUMP@steps=10-19, DUMP@rank=0,steps=5.",
        width);
    fmt::print("\n");
    print_wrapped(
        "Every option has a variable, ULPSCOPE_ and its name: --level is ULPSCOPE_LEVEL. A flag "
        "wins over the variable. NO_COLOR and CLICOLOR_FORCE are respected.",
        width);
    fmt::print("\n");
    print_wrapped(
        "Exit codes: 0 identical or within tolerance, 1 diverged, 2 trouble; record returns the "
        "code of its command, 125 for trouble of its own before that starts.",
        width);
    fmt::print("\n");
    print_wrapped("ulpscope --version says which LibTorch can be recorded.", width);
  }
  fmt::print(
      "\nexamples:\n"
      "  ulpscope record -o runs/a -- ./train --epochs 1\n"
      "  ulpscope compare runs/a runs/b\n\n"
      "ulpscope COMMAND -h is one screen of help, --help all of it.\n");
}

void print_help(const CommandHelp& help, bool everything) {
  const Command& command = *help.command;
  const std::size_t width = output_width(STDOUT_FILENO);
  print_wrapped(command.summary, width);
  fmt::print("\nusage: ulpscope {} {}\n", command.name, command.synopsis);
  if (everything) {
    fmt::print("\n");
    for (const std::string& paragraph : split(command.details, '\n')) {
      print_wrapped(paragraph, width);
    }
    if (!help.positionals.empty()) fmt::print("\n");
    for (const PositionalHelp& positional : help.positionals) {
      print_columns(positional.placeholder, positional.description, kColumn, width);
    }
  }
  fmt::print("\noptions:\n");
  for (const OptionHelp& option : help.options) {
    if (option.rare && !everything) continue;
    print_columns(spelled(option), description(option, everything), kColumn, width);
  }
  print_columns("-h, --help", "one screen of help, all of it", kColumn, width);
  fmt::print("\nexamples:\n");
  for (const std::string& example : split(command.examples, '\n')) {
    fmt::print("  {}\n", example);
  }
}

}  // namespace ulpscope::cli
