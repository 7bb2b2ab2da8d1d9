#include "ulpscope/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "cli/check/check_report.hpp"
#include "cli/commands/report_output.hpp"
#include "cli/inputs/module_map.hpp"
#include "cli/inputs/open_run.hpp"
#include "cli/inputs/tensor_files.hpp"
#include "cli/inputs/tolerance_file.hpp"
#include "cli/inputs/watched_run.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "cli/options/selected_steps.hpp"
#include "cli/render/check_text.hpp"
#include "cli/render/replay_text.hpp"
#include "cli/replay/explanation.hpp"
#include "cli/replay/find_replayer.hpp"
#include "cli/team/compare_in_team.hpp"
#include "cli/team/launch.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/say.hpp"
#include "cli/term/working.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/run_groups.hpp"

namespace ulpscope::cli {
namespace {

/// Comparing two different programs is legitimate, but may be a mistake.
void note_other_program(const RunInfo& reference, const RunInfo& candidate) {
  if (reference.command.empty() || candidate.command.empty()) return;
  const auto name = [](const RunInfo& run) {
    return std::filesystem::path(run.command.front()).filename().string();
  };
  if (name(reference) == name(candidate)) return;
  say(fmt::format("ulpscope: note: the runs are of two programs, {} and {}",
                  escaped(name(reference)), escaped(name(candidate))));
}

std::unique_ptr<Run> open_patiently(const std::string& argument, const std::string& ranks) {
  const Working working(fmt::format("opening {}", escaped(argument)));
  return open_run(argument, ranks);
}

/// While it lives the terminal shows how far a comparison of two runs has come: first through their
/// events, then through the bytes of what differs.
class WatchedComparison {
 public:
  WatchedComparison(const Run& reference, const Run& candidate)
      : reference_(reference, events_, bytes_), candidate_(candidate, events_, bytes_) {
    working_.begin("comparing", WorkUnit::events,
                   reference.info().events + candidate.info().events);
  }

  [[nodiscard]] const Run& reference() const noexcept { return reference_; }
  [[nodiscard]] const Run& candidate() const noexcept { return candidate_; }
  [[nodiscard]] CompareOptions options(CompareOptions options) {
    options.before_values = [this](std::uint64_t bytes) {
      in_values_ = true;
      working_.begin("comparing values", WorkUnit::bytes, bytes);
    };
    return options;
  }

 private:
  Working working_{"comparing"};
  bool in_values_ = false;
  WatchedRun::Told events_ = [this](std::uint64_t events) {
    if (!in_values_) working_.add(events);
  };
  WatchedRun::Told bytes_ = [this](std::uint64_t bytes) {
    if (in_values_) working_.add(bytes);
  };
  WatchedRun reference_;
  WatchedRun candidate_;
};

Report compare_patiently(const Run& reference, const Run& candidate,
                         const CompareOptions& options) {
  WatchedComparison watched(reference, candidate);
  return compare(watched.reference(), watched.candidate(), watched.options(options));
}

/// In UTC, so that a rule expires at the same time everywhere.
std::chrono::year_month_day today() {
  return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
}

/// What to compare, and how to print the result.
struct Task {
  std::string reference;
  std::vector<std::string> candidates;
  std::vector<LayoutChange> layouts;  ///< of tensors in files
  std::string ranks;                  ///< a selector for both; empty: all
  std::optional<bool> replay;         ///< with a budget: replay ops; empty: if that can be done
  bool explain = false;               ///< replay the op where the runs diverge
  bool by_position = true;  ///< steps are aligned by position if a part of a dump is given
  CompareOptions options;
  const ReportFormat* format = nullptr;
  ReportFiles files;
  OutputOptions output;
};

/// Parses the command line. False when help was requested and printed.
bool parse(const Command& command, Arguments arguments, Task& task) {
  CompareOptions& compare_options = task.options;
  Options options(command);
  options.positional("REFERENCE", "the dump that counts as right: DUMP or DUMP@rank=2,steps=10-19",
                     task.reference);
  options.positionals("CANDIDATE", "the dump that is compared with it; several: which are equal",
                      task.candidates);
  attach_report_format(options, task.format);
  task.files.attach(options, "-o,--output", "OUTPUT");
  options
      .value("--by", "ops|layers", "BY", "every op, or modules as units",
             [&](const auto& source, const auto& value) {
               compare_options.by_layers = choice(source, value, {"ops", "layers"}) == 1;
             })
      .more("By default ops; layers aligns the runs by their modules, whatever ops they run");
  options
      .value(
          "--map", "FILE", "MAP", "names of modules that the candidate has renamed",
          [&](const auto&, const auto& value) { compare_options.renames = read_module_map(value); })
      .more(
          "A line is `encoder.*.attn -> blocks.*.attention`: the reference's name, then the "
          "candidate's; * stands for one part of it, what follows a # says nothing, the first line "
          "that fits counts, also for the modules inside")
      .rare();
  options
      .value(
          "--layout", "NCHW=NHWC", "LAYOUT",
          "files of tensors: order of the candidate's dimensions",
          [&](const auto& source, const auto& value) {
            task.layouts.push_back(parse_layout(source, value));
          },
          true)
      .more(
          "Tensors with as many dimensions as letters are compared as if the candidate had the "
          "reference's order; GLOB:OI=IO is for those whose name in the reference fits; the first "
          "that fits "
          "counts (repeatable)")
      .rare();
  options
      .value("--max-ulp", "N", "MAX_ULP", "tolerate differences up to N ULP",
             [&](const auto& source, const auto& value) {
               compare_options.limits.max_ulp = whole_number(source, value);
             })
      .more("Of floating-point numbers; a number is also inside where --rtol and --atol allow it");
  options.value("--rtol", "X", "RTOL", "tolerate |d| <= atol + X * |reference|",
                [&](const auto& source, const auto& value) {
                  compare_options.limits.rtol = tolerance(source, value);
                });
  options.value("--atol", "X", "ATOL", "tolerate |d| <= X + rtol * |reference|",
                [&](const auto& source, const auto& value) {
                  compare_options.limits.atol = tolerance(source, value);
                });
  options
      .value("--tolerance", "FILE", "TOLERANCE", "tolerate what the rules in a TOML file allow",
             [&](const auto&, const auto& value) {
               compare_options.rules = read_tolerance_file(value);
               compare_options.today = today();
             })
      .more(
          "Each [[rule]] has op and module globs, max_ulp, rtol and atol, a reason and a date when "
          "it expires; the first that matches decides, --max-ulp, --rtol and --atol hold for what "
          "none matches");
  options
      .flag("--budget", "BUDGET", "tolerate what rounding can explain, op by op",
            compare_options.budget)
      .more(
          "Every origin is held against an error budget that follows from its op, its dtype and "
          "how "
          "much it adds up; what follows from an origin is judged on what its own inputs explain "
          "(see "
          "--replay). A tolerance allows origins more. Needs --level full");
  options
      .value("--replay", "on|off", "REPLAY",
             "with --budget: judge what follows from an origin, too",
             [&](const auto& source, const auto& value) {
               task.replay = choice(source, value, {"off", "on"}) == 1;
             })
      .more(
          "On by default: what an op makes of inputs that differ already is held against the op "
          "replayed in float64 on the same inputs, by an installed program that needs "
          "LibTorch. Where none is installed, the verdict is inconclusive if anything follows from "
          "an origin; with on, that is an error")
      .rare();
  options
      .flag("--explain", "EXPLAIN", "replay the op where the runs diverge, to say why",
            task.explain)
      .more(
          "What it shows makes the cause certain: see ulpscope replay. Needs --level full, and a "
          "first finding that is an origin");
  options
      .flag("--golden", "GOLDEN", "say first whether the reference's bits hold here",
            compare_options.golden)
      .more(
          "For a reference that is kept: its bits are those of one instruction set, thread count "
          "and "
          "library version, and the report begins with what of these differs");
  options
      .flag("--allow-longer", "ALLOW_LONGER", "steps after the other run's end do not count",
            compare_options.allow_longer)
      .more("Else runs that are equal up to there are inconclusive")
      .rare();
  options
      .value("--step-offset", "N", "STEP_OFFSET", "candidate step = reference step + N",
             [&](const auto& source, const auto& value) {
               compare_options.step_offset = signed_number(source, value);
               task.by_position = false;
             })
      .more(
          "By default steps of the same number are aligned, or of the same position where one of "
          "the dumps is a selection of as many steps as the other has")
      .rare();
  options
      .value("--ranks", "LIST", "RANKS", "only these ranks of both dumps, as 0,2,4-7",
             [&](const auto& source, const auto& value) {
               task.ranks = ranks_selector(source, value);
             })
      .more("To compare a rank with another one, select each: DUMP@rank=0 DUMP@rank=1")
      .rare();
  options
      .value(
          "--ignore", "GLOB", "IGNORE", "no ops and modules of that name (repeatable)",
          [&](const auto&, const auto& value) { compare_options.ignore.push_back(value); }, true)
      .rare();
  task.output.attach(options);
  return options.parse(std::move(arguments));
}

/// What is known only with both dumps open.
void prepare(const Task& task, const Run& reference, const Run& candidate,
             CompareOptions& options) {
  const std::vector<std::string>& candidates = task.candidates;
  if (task.by_position && (selects_steps(task.reference) ||
                           std::any_of(candidates.begin(), candidates.end(), selects_steps))) {
    options.step_offset = offset_by_position(reference, candidate);
  }
}

int answer(const Task& task, const Report& report) {
  const Terminal terminal = task.output.terminal();
  task.files.write(report, terminal);
  task.format->render(report, terminal, std::cout);
  return static_cast<int>(exit_code(report.verdict));
}

/// Who replays ops, if an error budget was requested.
std::unique_ptr<Replayer> replayer_for(const Run& reference, std::optional<bool> replay,
                                       CompareOptions& options) {
  if (!options.budget || replay == false) return nullptr;
  std::unique_ptr<Replayer> replayer = find_replayer(reference);
  if (replayer == nullptr) options.no_replayer = why_no_replayer(reference);
  if (replayer == nullptr && replay)
    throw Error(ErrorCode::usage, "--replay on: " + options.no_replayer,
                "--replay off judges origins only");
  options.replayer = replayer.get();
  return replayer;
}

/// In text the experiment follows the report; in JSON it only confirms the cause.
int answer_explained(const Task& task, const Run& reference, const Run& candidate, Report report) {
  const auto replay = [&] {
    const Working working("replaying");
    return explain_first(reference, candidate, report);
  }();
  if (replay) confirm_cause(report, *replay);
  const int code = answer(task, report);
  if (replay && task.format->name == "text") {
    Page page(task.output.terminal());
    page.line();
    render_replay(*replay, page);
    std::cout << page.text();
  }
  return code;
}

int compare_alone(const Task& task) {
  const auto reference = open_patiently(task.reference, task.ranks);
  const auto candidate = open_patiently(task.candidates.front(), task.ranks);
  CompareOptions options = task.options;
  prepare(task, *reference, *candidate, options);
  const auto replayer = replayer_for(*reference, task.replay, options);
  note_other_program(reference->info(), candidate->info());
  Report report = compare_patiently(*reference, *candidate, options);
  if (task.explain) return answer_explained(task, *reference, *candidate, std::move(report));
  return answer(task, report);
}

bool are_tensors(const Task& task) {
  return names_tensors(task.reference) ||
         std::any_of(task.candidates.begin(), task.candidates.end(), names_tensors);
}

/// What is an option of recorded runs alone.
void refuse_options_of_runs(const Task& task) {
  const CompareOptions& options = task.options;
  const std::pair<bool, const char*> given[] = {{options.by_layers, "--by"},
                                                {options.budget, "--budget"},
                                                {task.explain, "--explain"},
                                                {options.golden, "--golden"},
                                                {options.allow_longer, "--allow-longer"},
                                                {!task.by_position, "--step-offset"},
                                                {!task.ranks.empty(), "--ranks"}};
  for (const auto& [is_given, name] : given)
    if (is_given)
      throw Error(ErrorCode::usage, fmt::format("{} is for dumps, not for files of tensors", name),
                  "files of tensors take --max-ulp, --rtol, --atol, --tolerance, --ignore, --map "
                  "and --layout");
}

int compare_files(const Task& task) {
  refuse_options_of_runs(task);
  if (task.candidates.size() > 1)
    throw Error(ErrorCode::usage, "files of tensors are compared two at a time",
                "give one candidate");
  const std::string& candidate = task.candidates.front();
  require_tensors(task.reference, candidate);
  const auto a = open_tensor_file(task.reference);
  const auto b = open_tensor_file(candidate);
  const auto report = [&] {
    const Working working("comparing tensors");
    return compare_tensors(*a, *b, task.options, task.layouts);
  }();
  return answer(task, report);
}

int compare_with_others(const Launch& launched, const Task& task, const std::string& arguments) {
  if (launched.speaks()) answer_end_of_all();
  std::unique_ptr<Replayer> replayer;
  const auto report = compare_in_team(
      launched, {arguments, [&] { return open_run(task.reference, task.ranks); },
                 [&] { return open_run(task.candidates.front(), task.ranks); }, task.options,
                 [&](const Run& reference, const Run& candidate, CompareOptions& options) {
                   prepare(task, reference, candidate, options);
                   replayer = replayer_for(reference, task.replay, options);
                   if (launched.speaks()) note_other_program(reference.info(), candidate.info());
                 }});
  return report ? answer(task, *report) : 0;
}

/// Which of several runs are equal, and where the others leave them.
CheckReport compare_several(const Task& task, const std::vector<std::string>& dumps) {
  CheckReport report;
  RunGroups groups([&](std::size_t a, std::size_t b) {
    const auto reference = open_patiently(dumps[a - 1], task.ranks);
    const auto candidate = open_patiently(dumps[b - 1], task.ranks);
    CompareOptions options = task.options;
    prepare(task, *reference, *candidate, options);
    const auto replayer = replayer_for(*reference, task.replay, options);
    Report between = compare_patiently(*reference, *candidate, options);
    if (!report.comparison || report.comparison->verdict < between.verdict)
      report.comparison = between;
    return between;
  });
  for (std::size_t number = 1; number <= dumps.size(); ++number) {
    const std::size_t group = groups.add(number);
    report.runs.push_back(
        {.number = number, .variant = dumps[number - 1], .recorded = true, .group = group});
  }
  report.groups = groups.groups();
  report.largest = groups.largest();
  report.splits = groups.splits();
  const std::size_t apart = dumps.size() - report.groups[report.largest].runs.size();
  report.rate = rate(apart, dumps.size());
  report.with_bytes = true;
  if (report.groups.size() > 1) report.comparison = groups.between(0, 1);
  report.verdict = groups.conclusive() ? report.comparison->verdict : Verdict::inconclusive;
  for (std::size_t group = 1; group < report.groups.size(); ++group)
    if (groups.between(0, group).verdict == Verdict::diverged) report.verdict = Verdict::diverged;
  return report;
}

int answer_for_several(const Task& task) {
  if (!task.files.empty())
    throw Error(ErrorCode::usage, "-o takes the report of two dumps",
                "for several, --format json prints what was found");
  const bool json = task.format->name == "json";
  if (!json && task.format->name != "text")
    throw Error(ErrorCode::usage,
                fmt::format("--format {} is the report of two dumps", task.format->name),
                "for several, --format json prints what was found");
  std::vector<std::string> dumps{task.reference};
  dumps.insert(dumps.end(), task.candidates.begin(), task.candidates.end());
  const CheckReport report = compare_several(task, dumps);
  if (json)
    render_check_json(report, std::cout);
  else
    render_check(report, task.output.terminal(), std::cout);
  return static_cast<int>(exit_code(report.verdict));
}

int run_compare(const Command& command, Arguments arguments) {
  const Launch launched = launch();
  if (!launched.speaks()) silence_output();
  const std::string words = fmt::format("{}", fmt::join(arguments, "\n"));
  try {
    Task task;
    if (!parse(command, std::move(arguments), task)) return 0;
    if (are_tensors(task)) return launched.speaks() ? compare_files(task) : 0;
    if (!task.layouts.empty())
      throw Error(ErrorCode::usage, "--layout is for files of tensors, not for dumps");
    if (task.candidates.size() > 1) return launched.speaks() ? answer_for_several(task) : 0;
    return launched.alone() ? compare_alone(task) : compare_with_others(launched, task, words);
  } catch (...) {
    if (launched.speaks()) throw;
    return 0;  // the first one comes upon the same, and says so
  }
}

}  // namespace

const Command kCompareCommand{
    "compare",
    "Say where two recorded runs diverge, why, and by how many ULP.",
    "REFERENCE CANDIDATE... [OPTIONS]",
    "Aligns the two runs, op by op, and names the first op whose result differs: whether it is "
    "the origin or its inputs, arguments or random numbers differed before it, how far apart the "
    "values are, which settings of the two runs can explain it, and what to try. Then every other "
    "independent origin.\n"
    "Several candidates are sorted into groups of equal runs, with how often runs differ, and the "
    "op "
    "at which each group leaves the others.\n"
    "Two files of tensors (.npy or a directory of them, .npz, .safetensors, .h5, .keras, .pt, "
    ".onnx) are "
    "compared by name.\n"
    "Without a tolerance every bit counts, -0 and +0 and the payload of a NaN included.\n"
    "Started by mpirun, the processes share out the ranks of large dumps and the values that "
    "differ; "
    "the first one prints the same report as one process alone.\n"
    "Exit codes: 0 identical or within the tolerance, 1 diverged, 2 trouble or inconclusive.",
    "ulpscope compare runs/a runs/b\n"
    "ulpscope compare golden new --max-ulp 4 -o html=report.html\n"
    "ulpscope compare old.pt new.safetensors --map renamed.txt",
    Exit::trouble,
    run_compare};

}  // namespace ulpscope::cli
