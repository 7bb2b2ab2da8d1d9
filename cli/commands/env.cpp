#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "cli/inputs/open_run.hpp"
#include "cli/inputs/settings_pairs.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "cli/options/text_or_json.hpp"
#include "cli/render/json_documents.hpp"
#include "cli/render/page.hpp"
#include "cli/render/settings_text.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

struct RankSettings {
  std::uint32_t reference_rank;
  std::uint32_t candidate_rank;
  std::vector<SettingPair> pairs;
};

std::vector<RankSettings> compare_settings(const Run& reference, const Run& candidate) {
  const std::vector<std::uint32_t> left = reference.ranks();
  const std::vector<std::uint32_t> right = candidate.ranks();
  std::vector<RankSettings> ranks;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    ranks.push_back({left[i], right[i], settings_pairs(reference, left[i], candidate, right[i])});
  }
  return ranks;
}

std::size_t count_different(const std::vector<SettingPair>& pairs) {
  return static_cast<std::size_t>(
      std::count_if(pairs.begin(), pairs.end(), [](const auto& pair) { return !pair.equal(); }));
}

void print_text(const std::vector<RankSettings>& ranks, bool all, const Terminal& terminal) {
  Page page(terminal);
  std::size_t different = 0;
  std::size_t total = 0;
  for (const RankSettings& rank : ranks) {
    different += count_different(rank.pairs);
    total += rank.pairs.size();
    if (ranks.size() > 1) {
      page.line(page.paint(Ink::bold, fmt::format("rank {}", rank.reference_rank)));
    }
    render_differing_settings(rank.pairs, page);
    if (all) render_equal_settings(rank.pairs, page);
  }
  page.line(different == 0
                ? fmt::format("{} equal", core::counted(total, "setting"))
                : fmt::format("{} of {} differ{}", different, core::counted(total, "setting"),
                              different == 1 ? "s" : ""));
  std::cout << page.text() << std::flush;
}

Json setting_json(const SettingPair& pair) {
  return {{"key", pair.key},
          {"reference", optional(pair.reference, std::identity{})},
          {"candidate", optional(pair.candidate, std::identity{})},
          {"can_change_bits", pair.can_change_bits}};
}

void print_json(const std::vector<RankSettings>& ranks, bool all) {
  const auto rank_json = [all](const RankSettings& rank) -> Json {
    Json settings = Json::array();
    for (const SettingPair& pair : rank.pairs)
      if (all || !pair.equal()) settings.push_back(setting_json(pair));
    return {{"reference", rank.reference_rank},
            {"candidate", rank.candidate_rank},
            {"total", rank.pairs.size()},
            {"different", count_different(rank.pairs)},
            {"settings", std::move(settings)}};
  };
  const Json document{
      {"format", "ulpscope-env"}, {"schema_version", 1}, {"ranks", list(ranks, rank_json)}};
  std::cout << text_of(document) << std::flush;
}

int run_env(const Command& command, Arguments arguments) {
  std::string reference;
  std::string candidate;
  bool all = false;
  Format format = Format::text;
  OutputOptions output;
  Options options(command);
  options.positional("REFERENCE", "a dump: DUMP or DUMP@rank=2", reference);
  options.positional("CANDIDATE", "the dump whose settings are compared with it", candidate);
  options.flag("-a,--all", "ALL", "print the settings that are equal too", all);
  attach_format(options, format);
  output.attach(options);
  if (!options.parse(std::move(arguments))) return 0;

  const auto reference_run = open_run(reference);
  const auto candidate_run = open_run(candidate);
  const std::vector<RankSettings> ranks = compare_settings(*reference_run, *candidate_run);
  if (format == Format::json) {
    print_json(ranks, all);
  } else {
    print_text(ranks, all, output.terminal());
  }
  const bool same = std::all_of(ranks.begin(), ranks.end(), [](const RankSettings& rank) {
    return count_different(rank.pairs) == 0;
  });
  return static_cast<int>(same ? Exit::same : Exit::different);
}

}  // namespace

const Command kEnvCommand{
    "env",
    "Compare the settings of two recorded runs.",
    "REFERENCE CANDIDATE [OPTIONS]",
    "Prints every recorded setting that is not the same in both runs: versions, threads, "
    "instruction sets, flags, seeds, devices and variables. Those that can change bits come "
    "first.\n"
    "Exit codes: 0 all equal, 1 some differ, 2 trouble.",
    "ulpscope env runs/a runs/b\n"
    "ulpscope env runs/a runs/b --all",
    Exit::trouble,
    run_env};

}  // namespace ulpscope::cli
