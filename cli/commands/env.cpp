#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/open_run.hpp"
#include "cli/options.hpp"
#include "cli/output_options.hpp"
#include "cli/render/page.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/numbers.hpp"
#include "cli/term/table.hpp"
#include "compare/environment.hpp"

namespace ulpscope::cli {
namespace {

/// A setting over a whole run: "1", or "1, from step 5: 2" where the program changed it.
using Settings = std::map<std::string, std::string>;

Settings settings_of(const Run& run, std::uint32_t rank) {
  constexpr std::string_view kRecorderItself = "capture.";
  Settings settings;
  for (const EnvironmentEntry& entry : run.environment(rank)) {
    if (entry.key.starts_with(kRecorderItself)) continue;
    const auto [place, added] = settings.emplace(entry.key, entry.value);
    if (added && entry.step != kSetup) {
      place->second = fmt::format("from step {}: {}", entry.step, entry.value);
    } else if (!added) {
      place->second += fmt::format(", from step {}: {}", entry.step, entry.value);
    }
  }
  return settings;
}

struct Row {
  std::string key;
  std::optional<std::string> reference;
  std::optional<std::string> candidate;
};

std::optional<std::string> value_of(const Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::nullopt : std::optional(found->second);
}

std::string text_of(const std::optional<std::string>& value) {
  return value ? escaped(*value) : "(unset)";
}

/// As a table, or one below the other where the values are too long for that.
void print_rows(const std::string& heading, const std::vector<Row>& rows, Page& page) {
  if (rows.empty()) return;
  Table table;
  table.row({{heading, Ink::dim}, {"reference", Ink::dim}, {"candidate", Ink::dim}});
  std::vector<const Row*> long_rows;
  for (const Row& row : rows) {
    const std::size_t width = display_width(row.key) + display_width(text_of(row.reference)) +
                              display_width(text_of(row.candidate));
    if (width > page.terminal().width / 2) {
      long_rows.push_back(&row);
      continue;
    }
    const Ink ink = row.reference == row.candidate ? Ink::plain : Ink::yellow;
    table.row({{escaped(row.key)}, {text_of(row.reference), ink}, {text_of(row.candidate), ink}});
  }
  if (long_rows.size() < rows.size()) {
    for (const std::string& line : table.lines(page.terminal())) page.line(line);
  }
  for (const Row* row : long_rows) {
    page.line(escaped(row->key));
    page.labelled("  reference", text_of(row->reference));
    page.labelled("  candidate", text_of(row->candidate));
  }
  page.line();
}

int run_env(const Command& command, Arguments arguments) {
  std::string reference;
  std::string candidate;
  bool all = false;
  OutputOptions output;
  Options options(command);
  options.positional("REFERENCE", "a dump: DUMP or DUMP@rank=2", reference);
  options.positional("CANDIDATE", "the dump whose settings are compared with it", candidate);
  options.flag("-a,--all", "ALL", "print the settings that are equal too", all);
  output.attach(options);
  if (!options.parse(std::move(arguments))) return 0;

  const auto reference_run = open_run(reference);
  const auto candidate_run = open_run(candidate);
  const std::vector<std::uint32_t> reference_ranks = reference_run->ranks();
  const std::vector<std::uint32_t> candidate_ranks = candidate_run->ranks();
  const std::size_t pairs = std::min(reference_ranks.size(), candidate_ranks.size());

  Page page(output.terminal());
  std::size_t different = 0;
  std::size_t total = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const Settings left = settings_of(*reference_run, reference_ranks[i]);
    const Settings right = settings_of(*candidate_run, candidate_ranks[i]);
    std::set<std::string> keys;
    for (const Settings* settings : {&left, &right}) {
      for (const auto& [key, value] : *settings) keys.insert(key);
    }
    std::vector<Row> weighty;
    std::vector<Row> harmless;
    for (const std::string& key : keys) {
      Row row{key, value_of(left, key), value_of(right, key)};
      const bool differs = row.reference != row.candidate;
      different += differs ? 1 : 0;
      if (!differs && !all) continue;
      (comparison::can_change_bits(key) ? weighty : harmless).push_back(std::move(row));
    }
    total += keys.size();
    if (pairs > 1) page.line(page.paint(Ink::bold, fmt::format("rank {}", reference_ranks[i])));
    print_rows("can change bits", weighty, page);
    print_rows("cannot change bits", harmless, page);
  }
  page.line(different == 0 ? fmt::format("{} equal", counted(total, "setting"))
                           : fmt::format("{} of {} differ{}", different, counted(total, "setting"),
                                         different == 1 ? "s" : ""));
  std::cout << page.text() << std::flush;
  return static_cast<int>(different == 0 ? Exit::same : Exit::different);
}

}  // namespace

const Command kEnvCommand{
    "env",
    "Compare the settings of two recorded runs.",
    "REFERENCE CANDIDATE [OPTIONS]",
    "Prints every recorded setting that is not the same in both runs: versions, threads, "
    "instruction sets, flags, seeds, devices and variables.\n"
    "Exit codes: 0 all equal, 1 some differ, 2 trouble.",
    "ulpscope env runs/a runs/b\n"
    "ulpscope env runs/a runs/b --all",
    Exit::trouble,
    run_env};

}  // namespace ulpscope::cli
