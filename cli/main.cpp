#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "cli/command.hpp"
#include "cli/nearest.hpp"
#include "cli/term/say.hpp"
#include "cli/version.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {

std::span<const Command* const> commands() {
  static constexpr std::array kCommands{&kRecordCommand, &kCompareCommand, &kInspectCommand,
                                        &kEnvCommand,    &kVerifyCommand,  &kRecoverCommand,
                                        &kExportCommand};
  return kCommands;
}

namespace {

void print_overview(bool everything) {
  fmt::print(
      "Ulpscope says where two runs of the same LibTorch model part, and why.\n\n"
      "usage: ulpscope COMMAND ...\n\ncommands:\n");
  for (const Command* command : commands()) {
    fmt::print("  {:<10}{}\n", command->name, command->summary);
  }
  if (everything) {
    for (const Command* command : commands()) {
      fmt::print("\nulpscope {} {}\n", command->name, command->synopsis);
    }
    fmt::print(
        "\nEvery option has a variable ULPSCOPE_NAME; a flag wins over it. Exit codes: 0 identical "
        "or within\ntolerance, 1 diverged, 2 trouble; record returns the code of its command, 125 "
        "for trouble of its\nown before that starts.\n");
  }
  fmt::print(
      "\nexamples:\n"
      "  ulpscope record -o runs/a -- ./train --epochs 1\n"
      "  ulpscope compare runs/a runs/b\n\n"
      "ulpscope COMMAND -h is one screen of help, --help all of it.\n");
}

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
    fmt::print("ulpscope {}\n", kVersion);
    return 0;
  }
  const auto all = commands();
  const auto found = std::find_if(
      all.begin(), all.end(), [&word](const Command* command) { return command->name == word; });
  if (found == all.end()) refuse_command(word);
  trouble = (*found)->trouble;
  arguments.erase(arguments.begin());
  return (*found)->run(**found, std::move(arguments));
}

int guarded_run(Arguments arguments) {
  Exit trouble = Exit::trouble;
  try {
    const int result = run(std::move(arguments), trouble);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw Error(ErrorCode::io, "the result could not be written to standard output");
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
  std::_Exit(code);  // HDF5's exit handler crashes where a full disk kept a file from being closed
}
