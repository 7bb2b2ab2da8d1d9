#include "cli/check/live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>

#include "cli/commands/record_watched.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "cli/options/run_options.hpp"
#include "cli/options/text_or_json.hpp"
#include "cli/render/json.hpp"
#include "cli/render/text.hpp"
#include "cli/term/progress.hpp"
#include "cli/term/say.hpp"
#include "core/counts.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

struct LiveRequest {
  LiveOptions options;
  Format format = Format::text;
  OutputOptions output;
};

/// Takes "-- A --- B" out of `arguments` and leaves the options.
void split_commands(const Options& options, Arguments& arguments, LiveOptions& to) {
  auto first = arguments.begin() + static_cast<std::ptrdiff_t>(options.leading_options(arguments));
  const Arguments words(first != arguments.end() && *first == "--" ? first + 1 : first,
                        arguments.end());
  arguments.erase(first, arguments.end());
  const auto between = std::find(words.begin(), words.end(), "---");
  to.reference.assign(words.begin(), between);
  if (between != words.end()) to.candidate.assign(between + 1, words.end());
}

bool parse(const Command& command, Arguments arguments, LiveRequest& request) {
  LiveOptions& to = request.options;
  Options options(command);
  options.value(
      "--window", "N", "WINDOW", "steps of each that are kept on the disk (200)",
      [&to](const auto& source, const auto& value) { to.window = at_least(2, source, value); });
  options.value("-o,--output", "DIRECTORY", "LIVE_OUTPUT", "where the dumps go (runs/live-N)",
                [&to](const auto&, const auto& value) { to.directory = value; });
  options.flag("--allow-longer", "ALLOW_LONGER", "steps after the other program's end do not count",
               to.allow_longer);
  attach_format(options, request.format);
  request.output.attach(options);
  split_commands(options, arguments, to);
  if (!options.parse(std::move(arguments))) return false;
  if (to.reference.empty() || to.candidate.empty())
    throw Error(ErrorCode::usage, "live needs two commands",
                fmt::format("usage: ulpscope {} {}", command.name, command.synopsis));
  return true;
}

int run_live(const Command& command, Arguments arguments) {
  LiveRequest request;
  if (!parse(command, std::move(arguments), request)) return 0;
  request.options.record = [](const Arguments& words, LiveWatch& watch) {
    return record_watched(words, hooks_of(watch));
  };
  Progress progress;
  const LiveResult result = live(request.options, [&progress](const std::string& what, auto since) {
    progress.show(fmt::format("live: {}: {:.0f} s", what, since.count()));
  });
  progress.erase();
  if (result.trouble) {
    say_error(result.trouble->message, result.trouble->hint);
    return static_cast<int>(Exit::trouble);
  }
  if (!result.comparison)
    throw Error(ErrorCode::incomplete, "interrupted before the runs could be compared");
  if (request.format == Format::json)
    render_json(*result.comparison, std::cout);
  else
    render_text(*result.comparison, request.output.terminal(), std::cout);
  say(fmt::format("ulpscope: {} compared; what they printed is in {}.txt and {}.txt",
                  core::counted(result.steps, "step"), result.kept[0].string(),
                  result.kept[1].string()));
  if (result.reference_code && result.candidate_code &&
      *result.reference_code != *result.candidate_code)
    say(fmt::format("ulpscope: note: they ended with exit codes {} and {}", *result.reference_code,
                    *result.candidate_code));
  return static_cast<int>(exit_code(result.comparison->verdict));
}

}  // namespace

const Command kLiveCommand{
    "live",
    "Run two programs side by side and stop where they diverge.",
    "[OPTIONS] -- COMMAND [ARGUMENTS] --- COMMAND [ARGUMENTS]",
    "Records both commands and compares them step by step while they run; the one that is ahead "
    "waits for the other. Both end as soon as they diverge. Only the last steps of each stay on "
    "the "
    "disk, so that runs may take hours.\n"
    "Where one has more steps than the other, those that both have are compared.\n"
    "Exit codes: 0 they are identical, 1 they diverged, 2 trouble or inconclusive.",
    "ulpscope live -- ./train --- ./train_refactored\n"
    "ulpscope live -- env OMP_NUM_THREADS=1 ./train --- env OMP_NUM_THREADS=2 ./train",
    Exit::trouble,
    run_live};

}  // namespace ulpscope::cli
