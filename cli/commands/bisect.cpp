#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "cli/check/bisection.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "cli/options/run_options.hpp"
#include "cli/options/text_or_json.hpp"
#include "cli/render/bisect_text.hpp"
#include "cli/term/progress.hpp"

namespace ulpscope::cli {
namespace {

struct BisectRequest {
  std::string reference;
  std::string candidate;
  BisectionOptions options;
  Format format = Format::text;
  OutputOptions output;
};

bool parse(const Command& command, Arguments arguments, BisectRequest& request) {
  BisectionOptions& to = request.options;
  Options options(command);
  options.positional("REFERENCE", "the dump of the run that counts as right", request.reference);
  options.positional("CANDIDATE", "the dump of the run that differs", request.candidate);
  options.value(
      "-n,--runs", "RUNS", "RUNS", "runs of each set of settings (1)",
      [&to](const auto& source, const auto& value) { to.repeats = at_least(1, source, value); });
  options.value(
      "--max-runs", "N", "MAX_RUNS", "runs in all (50)",
      [&to](const auto& source, const auto& value) { to.max_runs = at_least(1, source, value); });
  options.value("--setup", "COMMAND", "SETUP", "a shell command to run before each run",
                [&to](const auto&, const auto& value) { to.run.setup = value; });
  options.value("--stdin", "FILE", "STDIN", "standard input of each run (none)",
                [&to](const auto& source, const auto& value) {
                  to.run.input = existing_file(source, value);
                });
  attach_format(options, request.format);
  request.output.attach(options);
  return options.parse(std::move(arguments));
}

Exit exit_of(BisectionResult result) {
  switch (result) {
    case BisectionResult::found:
      return Exit::different;
    case BisectionResult::equal:
      return Exit::same;
    default:
      return Exit::trouble;
  }
}

int run_bisect(const Command& command, Arguments arguments) {
  BisectRequest request;
  if (!parse(command, std::move(arguments), request)) return 0;
  Progress progress;
  const Bisection bisection =
      bisect(request.reference, request.candidate, request.options,
             [&progress](const std::string& what, auto since) {
               progress.show(fmt::format("bisect: {}: {:.0f} s", what, since.count()));
             });
  progress.erase();
  if (request.format == Format::json) {
    render_bisection_json(bisection, std::cout);
  } else {
    Page page(request.output.terminal());
    render_bisection(bisection, page);
    std::cout << page.text();
  }
  return static_cast<int>(exit_of(bisection.result));
}

}  // namespace

const Command kBisectCommand{
    "bisect",
    "Find which setting makes two recorded runs differ.",
    "REFERENCE CANDIDATE [OPTIONS]",
    "Runs the reference's program again, in this directory, with parts of what the candidate was "
    "started with: words of its command line, environment variables, LibTorch's switches for "
    "oneDNN "
    "and deterministic algorithms. Names a smallest set that makes the difference, and what every "
    "set that was tried gave.\n"
    "If the runs differ by chance, -n tries each set several times.\n"
    "Exit codes: 0 the runs do not differ, 1 the settings were found, 2 trouble or inconclusive.",
    "ulpscope bisect runs/a runs/b\n"
    "ulpscope bisect runs/a runs/b -n 5 --format json",
    Exit::trouble,
    run_bisect};

}  // namespace ulpscope::cli
