#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/record/cannot_run.hpp"
#include "cli/record/session.hpp"
#include "cli/record/write.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/say.hpp"
#include "ring/layout.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

std::uint64_t ring_bytes(const std::string& source, const std::string& value) {
  const std::uint64_t bytes = size_in_bytes(source, value);
  if (bytes < ring::kSmallestRing || bytes > ring::kLargestRing) {
    throw Error(ErrorCode::usage, fmt::format("{} is between 64K and 1G, not {}", source, value),
                "without it the size follows from the level");
  }
  return bytes;
}

/// Takes the command out of `arguments` and leaves the options.
Arguments split_command(const Options& options, Arguments& arguments) {
  auto first = arguments.begin() + static_cast<std::ptrdiff_t>(options.leading_options(arguments));
  const bool marked = first != arguments.end() && *first == "--";
  Arguments command(first + (marked ? 1 : 0), arguments.end());
  arguments.erase(first, arguments.end());
  return command;
}

/// False when help was asked for and printed.
bool parse(const Command& command, Arguments arguments, RecordOptions& record_options) {
  Options options(command);
  options.value("-o,--output", "DUMP", "DUMP", "where the dump goes (runs/PROGRAM-N)",
                [&](const auto&, const auto& value) { record_options.dump = value; });
  options.value("--level", "LEVEL", "LEVEL",
                "digest (the default), or full to keep every value's bytes",
                [&](const auto& source, const auto& value) {
                  record_options.settings.level = choice(source, value, {"digest", "full"}) == 0
                                                      ? ring::Level::digest
                                                      : ring::Level::full;
                });
  options.value("--verify", "WHAT", "VERIFY",
                "full (the default): digest inputs again where the program could have written "
                "them; off: trust them",
                [&](const auto& source, const auto& value) {
                  record_options.settings.verify = choice(source, value, {"full", "off"}) == 0
                                                       ? ring::Verify::full
                                                       : ring::Verify::off;
                });
  options.flag("--require", "REQUIRE", "do not start what is known not to be recordable",
               record_options.require);
  options.flag("--force", "FORCE", "replace the dump that is there", record_options.force);
  options.value("--ring-bytes", "N", "RING_BYTES", "memory between program and writer, per thread",
                [&](const auto& source, const auto& value) {
                  record_options.settings.ring_bytes = ring_bytes(source, value);
                });
  record_options.command = split_command(options, arguments);
  if (!options.parse(std::move(arguments))) return false;
  if (record_options.command.empty()) {
    throw Error(ErrorCode::usage, "record needs a command to run",
                fmt::format("usage: ulpscope {} {}", command.name, command.synopsis));
  }
  return true;
}

int run_record(const Command& command, Arguments arguments) {
  RecordOptions options;
  if (!parse(command, std::move(arguments), options)) return 0;
  try {
    const RecordResult result = record(options);
    say(fmt::format("ulpscope: {}", escaped(closing_line(result))));
    return result.exit_code;
  } catch (const CannotRun& error) {
    say_error(error.what(), error.hint());
    return static_cast<int>(error.exit());
  }
}

int run_write(const Command& command, Arguments arguments) {
  try {
    RecordOptions options;
    if (parse(command, std::move(arguments), options)) write(options);
    return 0;
  } catch (const Error& error) {  // the program listens to standard output
    fmt::print("refused\n{}\n{}\n", error.what(), error.hint());
    throw;
  }
}

}  // namespace

const Command kRecordCommand{
    "record",
    "Run a program and record every op it computes.",
    "[OPTIONS] -- COMMAND [ARGUMENTS]",
    "Runs the command unchanged and writes a dump of every LibTorch op in it and in the processes "
    "that it starts: digests of inputs and results, arguments, random numbers, settings. Streams, "
    "signals, the directory and the exit code are the command's own; DUMP/status.json says whether "
    "all of it was recorded, and why not.\n"
    "A program that uses no LibTorch, or one that cannot be entered (statically linked, "
    "set-user-id, built with a sanitizer), runs unrecorded and one line says why.\n"
    "Exit codes: the command's own, 128 + signal if a signal ended it, 125 if ulpscope could not "
    "start it, 126 or 127 if it cannot be run or found.",
    "ulpscope record -o runs/a -- ./train --epochs 1\n"
    "ulpscope record --level full -- ./train --epochs 1",
    Exit::not_started,
    run_record};

const Command kWriteCommand{
    "write",
    "Write what a program records through ulpscope::Recorder.",
    "[OPTIONS] -- PROGRAM [ARGUMENTS]",
    "Started by that program, which it outlives; prints where it listens and where the dump goes.",
    "ulpscope write -o runs/a -- ./train",
    Exit::not_started,
    run_write};

}  // namespace ulpscope::cli
