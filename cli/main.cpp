#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "cli/base/nearest.hpp"
#include "cli/commands/version_text.hpp"
#include "cli/options/command.hpp"
#include "cli/options/help.hpp"
#include "cli/term/say.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {

std::span<const Command* const> commands() {
  static constexpr std::array kCommands{&kRecordCommand,  &kCompareCommand, &kCheckCommand,
                                        &kReplayCommand,  &kBisectCommand,  &kLiveCommand,
                                        &kInspectCommand, &kEnvCommand,     &kVerifyCommand,
                                        &kRecoverCommand, &kExportCommand,  &kExplainCommand};
  return kCommands;
}

namespace {

[[noreturn]] void refuse_command(const std::string& word) {
  std::vector<std::string> names{"--help", "--version"};
  for (const Command* command : commands()) names.emplace_back(command->name);
  const std::string meant = nearest(word, names);
  throw Error(
      ErrorCode::usage,
      word.starts_with('-') ? fmt::format("there is no option '{}'", word)
                            : fmt::format("there is no command '{}'", word),
      meant.empty() ? "ulpscope -h lists the commands" : fmt::format("did you mean {}?", meant));
}

const Command* find_command(std::string_view word) {
  if (word == kWriteCommand.name) return &kWriteCommand;
  const auto all = commands();
  const auto found = std::find_if(
      all.begin(), all.end(), [&word](const Command* command) { return command->name == word; });
  return found == all.end() ? nullptr : *found;
}

/// Everything but what a command does: `trouble` becomes that command's code once it is known.
int run(Arguments arguments, Exit& trouble) {
  if (arguments.empty()) {
    throw Error(ErrorCode::usage, "no command was given", "ulpscope -h lists the commands");
  }
  const std::string word = arguments.front();
  if (word == "-h" || word == "--help") {
    print_overview(word == "--help");
    return 0;
  }
  if (word == "--version") {
    print_version();
    return 0;
  }
  if (word == "--roff") {
    print_manual();
    return 0;
  }
  const Command* command = find_command(word);
  if (command == nullptr) refuse_command(word);
  trouble = command->trouble;
  arguments.erase(arguments.begin());
  return command->run(*command, std::move(arguments));
}

int guarded_run(Arguments arguments) {
  Exit trouble = Exit::trouble;
  try {
    const int result = run(std::move(arguments), trouble);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw Error(ErrorCode::io, "the result could not be written to standard output",
                  "is there room where it goes?");
    }
    return result;
  } catch (const Error& error) {
    say_error(error.what(), error.hint());
  } catch (const std::bad_alloc&) {
    say_error("there is not enough memory for this", "");
  } catch (const std::exception& error) {
    say_error(fmt::format("something went wrong that should not: {}", error.what()),
              "this is a fault of ulpscope; please report it with the command line");
  } catch (...) {
    say_error("something went wrong that should not",
              "this is a fault of ulpscope; please report it with the command line");
  }
  return static_cast<int>(trouble);
}

/// A standard stream that was closed must not become the number of a dump's file, into which
/// messages would then go. The command of `record` still finds it closed.
void occupy_standard_descriptors() {
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
    descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  if (descriptor >= 0) close(descriptor);
}

}  // namespace
}  // namespace ulpscope::cli

int main(int argc, char** argv) {
  ulpscope::cli::occupy_standard_descriptors();
  ulpscope::cli::Arguments arguments(argv + std::min(argc, 1), argv + argc);
  const int code = ulpscope::cli::guarded_run(std::move(arguments));
  std::fflush(nullptr);
  std::_Exit(code);  // libraries keep what a full disk or a lost process kept them from closing
}
