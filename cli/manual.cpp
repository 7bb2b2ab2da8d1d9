#include <fmt/format.h>

#include "cli/options/help.hpp"
#include "cli/version.hpp"

namespace ulpscope::cli {
namespace {

/// Text as roff prints it unchanged.
std::string roff(std::string_view text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result = "\\&";
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      default:
        result += c;
    }
  }
  return result;
}

void section(std::string_view title, std::string_view text) {
  fmt::print(".SH {}\n{}\n", title, roff(text));
}

/// A term and what it means; the term bold.
void item(std::string_view term, std::string_view meaning) {
  fmt::print(".TP\n\\fB{}\\fR\n{}\n", roff(term), roff(meaning));
}

void examples(std::string_view text) {
  fmt::print(".PP\n.nf\n.RS 4\n");
  for (const std::string& line : split(text, '\n')) fmt::print("{}\n", roff(line));
  fmt::print(".RE\n.fi\n");
}

}  // namespace

void print_manual() {
  fmt::print(".TH ULPSCOPE 1 \"\" \"ulpscope {}\" \"User Commands\"\n", kVersion);
  section("NAME", "ulpscope - says where two runs of the same LibTorch model diverge, and why");
  fmt::print(".SH SYNOPSIS\n");
  for (const Command* command : commands()) {
    fmt::print("\\fBulpscope {}\\fR {}\n.br\n", command->name, roff(command->synopsis));
  }
  fmt::print("\\fBulpscope \\-\\-version\\fR\n");
  section(
      "DESCRIPTION",
      "Ulpscope records what a LibTorch program computes, op by op, without a change to the "
      "program, compares two such runs, and names the first op where they diverge, how far apart "
      "they are in ULP, and what the evidence says about the cause.");
  fmt::print(".SH COMMANDS\n");
  for (const Command* command : commands()) {
    static_cast<void>(command->run(*command, {"--roff"}));
  }
  section("DUMPS",
          "A dump is the directory that record writes. Where one is read a part may be selected: "
          "DUMP@rank=2, DUMP@steps=10-19, DUMP@rank=0,steps=5. DUMP/status.json says whether the "
          "recording is complete, and why not.");
  section("ENVIRONMENT",
          "Every option has a variable; it stands in brackets after the option. A flag wins over "
          "the variable, the variable over the default. In the variable of an option that may be "
          "repeated the values are separated by commas.");
  item("NO_COLOR, CLICOLOR_FORCE", "Text without colors, or with, unless --color says otherwise.");
  item("ULPSCOPE_PRELOAD, ULPSCOPE_CAPTURE_LIBRARY",
       "The preloaded object, and the capture library or the directory that holds it, where they "
       "are not beside the program.");
  fmt::print(".SH EXIT STATUS\n");
  item("0", "identical, or within the tolerance asked for");
  item("1", "the runs diverge");
  item("2", "trouble: usage, unreadable input, or the runs cannot be aligned");
  fmt::print(".PP\n{}\n",
             roff("record returns the code of its command: 128 + signal where a signal ended it, "
                  "125 if it could not start it, 126 or 127 if it cannot be run or found."));
}

void print_manual(const CommandHelp& help) {
  const Command& command = *help.command;
  fmt::print(".SS \"ulpscope {} {}\"\n{}\n", command.name, roff(command.synopsis),
             roff(command.summary));
  for (const std::string& paragraph : split(command.details, '\n')) {
    fmt::print(".PP\n{}\n", roff(paragraph));
  }
  for (const PositionalHelp& positional : help.positionals) {
    item(positional.placeholder, positional.description);
  }
  for (const OptionHelp& option : help.options) {
    item(spelled(option),
         fmt::format("{}{}{} [{}]", option.description, option.details.empty() ? "" : ". ",
                     option.details, option.variable));
  }
  examples(command.examples);
}

}  // namespace ulpscope::cli
