#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/exit.hpp"

namespace ulpscope::cli {

using Arguments = std::vector<std::string>;

/// One command of the program: its help text and its implementation.
struct Command {
  std::string_view name;
  std::string_view summary;   ///< one line
  std::string_view synopsis;  ///< what follows the name in a usage line
  std::string_view details;   ///< paragraphs of --help
  std::string_view examples;  ///< two lines
  Exit trouble;               ///< exit code of an Error that leaves `run`
  int (*run)(const Command& command, Arguments arguments);  ///< returns the exit code
};

extern const Command kRecordCommand;
extern const Command kWriteCommand;  ///< for ulpscope::Recorder; the help does not name it
extern const Command kCompareCommand;
extern const Command kCheckCommand;
extern const Command kBisectCommand;
extern const Command kLiveCommand;
extern const Command kReplayCommand;
extern const Command kInspectCommand;
extern const Command kEnvCommand;
extern const Command kVerifyCommand;
extern const Command kRecoverCommand;
extern const Command kExplainCommand;
extern const Command kExportCommand;

/// All of them, in the order of the help.
[[nodiscard]] std::span<const Command* const> commands();

}  // namespace ulpscope::cli
