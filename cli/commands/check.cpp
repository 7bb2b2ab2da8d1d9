#include "cli/check/check.hpp"

#include <fmt/format.h>

#include <iostream>
#include <string>

#include "cli/base/words.hpp"
#include "cli/commands/report_output.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "cli/options/run_options.hpp"
#include "cli/options/text_or_json.hpp"
#include "cli/render/check_text.hpp"
#include "cli/term/progress.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

struct CheckRequest {
  CheckOptions options;
  std::string command_a;  ///< of --a and --b, for a shell
  std::string command_b;
  Format format = Format::text;
  ReportFiles files;
  OutputOptions output;
  bool bisect = false;
};

void add_runs(Options& options, CheckOptions& to) {
  options
      .value("-n,--runs", "RUNS", "RUNS", "recorded runs (until two differ, at most 5)",
             [&to](const auto& source, const auto& value) { to.runs = at_least(2, source, value); })
      .more("With -n all of them are made, which says how often the difference shows");
  options.flag("--until-differs", "UNTIL_DIFFERS", "go on after that until two runs differ",
               to.until_differs);
  options
      .value(
          "--vary", "NAME=a,b", "VARY", "make runs with each of these values (repeatable)",
          [&to](const auto& source, const auto& value) {
            to.settings.push_back(variation(source, value));
          },
          true)
      .more(
          "NAME is threads (1,2), isa (default, avx2, avx512), mkldnn (on, off), deterministic "
          "(on, "
          "off) or env:VARIABLE; {NAME} in the command's arguments stands for the value");
}

void add_replay(Options& options, CheckOptions& to) {
  options
      .value("--replay", "on|off", "CHECK_REPLAY", "replay the op where two runs diverge",
             [&to](const auto& source, const auto& value) {
               to.replay = choice(source, value, {"off", "on"}) == 1;
             })
      .more("On by default, where the program that replays ops is installed: see ulpscope replay")
      .rare();
}

void add_limits(Options& options, CheckOptions& to) {
  options.value(
      "--max-runs", "N", "MAX_RUNS", "runs in all, with and without recording (50)",
      [&to](const auto& source, const auto& value) { to.max_runs = at_least(1, source, value); });
  options.value(
      "--max-time", "TIME", "MAX_TIME", "begin no run after this time: 90s, 10m, 2h",
      [&to](const auto& source, const auto& value) { to.max_time = time_span(source, value); });
  options
      .value("--max-bytes", "N", "CHECK_MAX_BYTES", "what all dumps may take (K, M, G; 4G)",
             [&to](const auto& source, const auto& value) {
               to.max_bytes = size_in_bytes(source, value);
             })
      .rare();
}

void add_what_a_run_needs(Options& options, CheckOptions& to) {
  options
      .value(
          "--final", "FILE", "FINAL", "a result file of the program (repeatable)",
          [&to](const auto&, const auto& value) { to.run.finals.push_back(value); }, true)
      .more(
          "Runs without the recorder are made, too, and what they leave is compared: these files, "
          "or else the last lines that they print");
  options
      .value("--setup", "COMMAND", "SETUP", "a shell command to run before each run",
             [&to](const auto&, const auto& value) { to.run.setup = value; })
      .more("{run} in it, in the command's arguments and in --final is the run's number")
      .rare();
  options
      .value("--stdin", "FILE", "STDIN", "standard input of each run (none)",
             [&to](const auto& source, const auto& value) {
               to.run.input = existing_file(source, value);
             })
      .rare();
  options
      .value("--bare-runs", "N", "BARE_RUNS", "runs without the recorder (2)",
             [&to](const auto& source, const auto& value) {
               to.bare_runs = at_least(0, source, value);
             })
      .rare();
}

/// A command in one word: through a shell only if it needs one.
std::vector<std::string> words_of(const std::string& command) {
  const bool sets_variable = command.substr(0, command.find(' ')).find('=') != std::string::npos;
  if (sets_variable || command.find_first_of("|&;<>()$`\\\"'*?[]#~!\n") != std::string::npos)
    return {"sh", "-c", command};
  return split(command, ' ');
}

void choose_variants(const Command& command, CheckRequest& request, const Arguments& words) {
  CheckOptions& options = request.options;
  const bool two = !request.command_a.empty() || !request.command_b.empty();
  if (two && (request.command_a.empty() || request.command_b.empty()))
    throw Error(ErrorCode::usage, "--a and --b belong together",
                "give both, or a command after --");
  if (two && !words.empty())
    throw Error(ErrorCode::usage, "--a and --b are the commands; there is another one after --",
                "leave out one of them");
  if (two && !options.settings.empty())
    throw Error(ErrorCode::usage, "--vary needs one command, not --a and --b",
                "write the setting into the commands");
  if (!two && words.empty())
    throw Error(ErrorCode::usage, "check needs a command to run",
                fmt::format("usage: ulpscope {} {}", command.name, command.synopsis));
  if (two) {
    options.variants = {{"a", words_of(request.command_a), {}, {}},
                        {"b", words_of(request.command_b), {}, {}}};
  } else {
    options.variants = variants_of(words, options.settings);
  }
}

bool parse(const Command& command, Arguments arguments, CheckRequest& request) {
  CheckOptions& to = request.options;
  Options options(command);
  add_runs(options, to);
  options.value("--a", "COMMAND", "A", "compare this command ...",
                [&](const auto&, const auto& value) { request.command_a = value; });
  options.value("--b", "COMMAND", "B", "... with this one; a shell runs them if need be",
                [&](const auto&, const auto& value) { request.command_b = value; });
  add_what_a_run_needs(options, to);
  add_limits(options, to);
  add_replay(options, to);
  options
      .flag("--bisect", "CHECK_BISECT", "find which of several settings makes two runs diverge",
            request.bisect)
      .more("Of two variants: runs with parts of what they were started with, as ulpscope bisect")
      .rare();
  options
      .flag("--all-origins", "ALL_ORIGINS", "look for origins behind the first, too",
            to.all_origins)
      .more(
          "Gives each op of one run the inputs that it has in the other one (record --inject), up "
          "to the step after the first difference, so that an origin shows that does not follow "
          "from it")
      .rare();
  options.value("-o,--output", "DIRECTORY", "CHECK_OUTPUT",
                "where the dumps that explain go (runs/check-PROGRAM-N)",
                [&to](const auto&, const auto& value) { to.directory = value; });
  attach_format(options, request.format);
  request.files.attach(options, "--report", "REPORT");
  request.output.attach(options);
  const auto first =
      arguments.begin() + static_cast<std::ptrdiff_t>(options.leading_options(arguments));
  const bool marked = first != arguments.end() && *first == "--";
  const Arguments words(first + (marked ? 1 : 0), arguments.end());
  arguments.erase(first, arguments.end());
  if (!options.parse(std::move(arguments))) return false;
  choose_variants(command, request, words);
  return true;
}

/// The settings of the two runs that diverge.
void bisect_settings(const CheckOptions& options, const RunMaker::Watch& watch,
                     CheckReport& report) {
  if (report.verdict != Verdict::diverged || !report.comparison || report.interrupted) return;
  BisectionOptions bisection;
  bisection.max_runs = options.max_runs;
  bisection.run = options.run;
  report.bisection = bisect(report.comparison->reference.path, report.comparison->candidate.path,
                            bisection, watch);
}

int run_check(const Command& command, Arguments arguments) {
  CheckRequest request;
  if (!parse(command, std::move(arguments), request)) return 0;
  Progress progress;
  const RunMaker::Watch watch = [&progress](const std::string& what, auto since) {
    progress.show(fmt::format("check: {}: {:.0f} s", what, since.count()));
  };
  CheckReport report = check(request.options, watch);
  if (request.bisect) bisect_settings(request.options, watch, report);
  progress.erase();
  request.files.write(comparison_of(report), request.output.terminal());
  if (request.format == Format::json)
    render_check_json(report, std::cout);
  else
    render_check(report, request.output.terminal(), std::cout);
  return static_cast<int>(exit_code(report.verdict));
}

}  // namespace

const Command kCheckCommand{
    "check",
    "Run a program several times and explain the first difference.",
    "[OPTIONS] -- COMMAND [ARGUMENTS]",
    "Records the command several times at level digest and compares the runs. As soon as two "
    "differ "
    "it records both sides again, with bytes and call stacks where they diverge, and prints the "
    "complete report. Without a difference it says how likely one would have been missed.\n"
    "Runs without the recorder are made, too: if they leave something else, recording itself makes "
    "the difference appear or disappear.\n"
    "What runs print is not shown; they get no input unless --stdin gives them a file. Dumps that "
    "explain nothing are removed.\n"
    "Exit codes: 0 all runs are identical, 1 two diverged, 2 trouble or inconclusive.",
    "ulpscope check -- ./train --epochs 1\n"
    "ulpscope check --vary threads=1,2 -- ./train --threads {threads}",
    Exit::trouble,
    run_check};

}  // namespace ulpscope::cli
