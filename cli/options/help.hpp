#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/base/words.hpp"
#include "cli/options/command.hpp"

namespace ulpscope::cli {

/// What the help says of one option.
struct OptionHelp {
  std::string names;        ///< in CLI11's syntax: "-o,--output"
  std::string placeholder;  ///< "N", "on|off"; empty for a flag
  std::string variable;     ///< "ULPSCOPE_OUTPUT"
  std::string description;  ///< for one line
  std::string details;      ///< sentences that only --help has
  bool rare = false;        ///< only --help lists it
};

struct PositionalHelp {
  std::string placeholder;
  std::string description;
};

/// What the help says of one command.
struct CommandHelp {
  const Command* command = nullptr;
  std::vector<PositionalHelp> positionals;
  std::vector<OptionHelp> options;
};

/// The help of all commands together: one screen, or everything.
void print_overview(bool everything);

/// The help of one command: one screen of 24 lines, or everything.
void print_help(const CommandHelp& help, bool everything);

/// The manual page ulpscope(1) in roff: its frame, and the part of one command in it.
void print_manual();
void print_manual(const CommandHelp& help);

/// The page of one command in the reference, in Markdown.
void print_reference(const CommandHelp& help);

/// "-o, --output N"
[[nodiscard]] std::string spelled(const OptionHelp& option);

}  // namespace ulpscope::cli
