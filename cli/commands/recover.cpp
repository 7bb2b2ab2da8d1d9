#include <fmt/format.h>

#include <iostream>

#include "cli/inputs/open_run.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/text_or_json.hpp"
#include "cli/render/json_documents.hpp"
#include "core/counts.hpp"
#include "dump/recovery.hpp"

namespace ulpscope::cli {
namespace {

void print_text(const dump::Recovery& recovery) {
  if (recovery.ranks.empty()) std::cout << "nothing to recover\n";
  for (const dump::RecoveredRank& rank : recovery.ranks) {
    std::cout << fmt::format("rank {}: {} recovered", rank.rank,
                             core::counted(rank.events, "event"));
    if (rank.unread_bytes != 0) {
      std::cout << fmt::format(", the last {} of the journal could not be read",
                               core::counted(rank.unread_bytes, "byte"));
    }
    std::cout << '\n';
  }
  std::cout << std::flush;
}

void print_json(const std::string& dump, const dump::Recovery& recovery) {
  const auto recovered = [](const dump::RecoveredRank& rank) -> Json {
    return {{"rank", rank.rank},
            {"events", integer(rank.events)},
            {"unread_bytes", integer(rank.unread_bytes)}};
  };
  const Json document{{"format", "ulpscope-recover"},
                      {"schema_version", 1},
                      {"dump", dump},
                      {"ranks", list(recovery.ranks, recovered)}};
  std::cout << text_of(document) << std::flush;
}

int run_recover(const Command& command, Arguments arguments) {
  std::string dump;
  Format format = Format::text;
  Options options(command);
  options.positional("DUMP", "the dump", dump);
  attach_format(options, format);
  if (!options.parse(std::move(arguments))) return 0;

  const dump::Recovery recovery = dump::recover(whole_dump(dump));
  if (format == Format::json) {
    print_json(dump, recovery);
  } else {
    print_text(recovery);
  }
  return 0;
}

}  // namespace

const Command kRecoverCommand{
    "recover",
    "Bring back what a killed recording had not published.",
    "DUMP [OPTIONS]",
    "Publishes what the journals of a recording that was killed still hold as one more segment per "
    "rank. The bytes of values are not in the journals; digests are. A recording that goes on is "
    "refused.\n"
    "Exit codes: 0 done, also where there was nothing to do, 2 trouble.",
    "ulpscope recover runs/a\n"
    "ulpscope recover runs/a && ulpscope inspect runs/a",
    Exit::trouble,
    run_recover};

}  // namespace ulpscope::cli
