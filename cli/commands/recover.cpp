#include <fmt/format.h>

#include <iostream>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/term/numbers.hpp"
#include "dump/recovery.hpp"

namespace ulpscope::cli {
namespace {

int run_recover(const Command& command, Arguments arguments) {
  std::string directory;
  Options options(command);
  options.positional("DUMP", "the dump", directory);
  if (!options.parse(std::move(arguments))) return 0;

  const dump::Recovery recovery = dump::recover(directory);
  if (recovery.ranks.empty()) std::cout << "nothing to recover\n";
  for (const dump::RecoveredRank& rank : recovery.ranks) {
    std::cout << fmt::format("rank {}: {} recovered", rank.rank, counted(rank.events, "event"));
    if (rank.unread_bytes != 0) {
      std::cout << fmt::format(", the last {} of the journal could not be read",
                               counted(rank.unread_bytes, "byte"));
    }
    std::cout << '\n';
  }
  std::cout << std::flush;
  return 0;
}

}  // namespace

const Command kRecoverCommand{
    "recover",
    "Bring back what a killed recording had not published.",
    "DUMP",
    "Publishes what the journals of a recording that was killed still hold as one more segment per "
    "rank. The bytes of values are not in the journals; digests are. Not to be run while the "
    "recording goes on.\n"
    "Exit codes: 0 done, also where there was nothing to do, 2 trouble.",
    "ulpscope recover runs/a\n"
    "ulpscope recover runs/a && ulpscope inspect runs/a",
    Exit::trouble,
    run_recover};

}  // namespace ulpscope::cli
