#include "dump/verify.hpp"

#include <fmt/format.h>

#include <iostream>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/numbers.hpp"

namespace ulpscope::cli {
namespace {

int run_verify(const Command& command, Arguments arguments) {
  std::string directory;
  Options options(command);
  options.positional("DUMP", "the dump", directory);
  if (!options.parse(std::move(arguments))) return 0;

  const dump::VerifyResult result = dump::verify(directory);
  for (const std::string& problem : result.problems) std::cout << escaped(problem) << '\n';
  std::cout << fmt::format("{}: {}, {}, {}\n",
                           result.sound() ? std::string("SOUND")
                                          : counted(result.problems.size(), "problem"),
                           counted(result.segments, "segment"), counted(result.events, "event"),
                           counted(result.contents, "value with bytes", "values with bytes"))
            << std::flush;
  return static_cast<int>(result.sound() ? Exit::same : Exit::different);
}

}  // namespace

const Command kVerifyCommand{
    "verify",
    "Check every byte of a dump against its digests.",
    "DUMP",
    "Reads the whole dump and reports each damaged segment, block and value. compare checks only "
    "what it reads; this checks all.\n"
    "Exit codes: 0 sound, 1 damaged, 2 trouble.",
    "ulpscope verify runs/a\n"
    "ulpscope verify golden && ulpscope compare golden new",
    Exit::trouble,
    run_verify};

}  // namespace ulpscope::cli
