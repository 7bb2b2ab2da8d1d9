#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/inputs/open_run.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "cli/options/text_or_json.hpp"
#include "cli/render/replay_text.hpp"
#include "cli/replay/export_program.hpp"
#include "cli/replay/find_replayer.hpp"
#include "cli/term/working.hpp"
#include "cli/values/event_path.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/replay_report.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

/// What to replay, and how to print the result.
struct ReplayTask {
  std::string dump;
  std::string event;
  std::string with;
  std::string with_event;
  fs::path directory;  ///< of the program to write; empty: none
  ReplayOptions replay;
  Format format = Format::text;
  OutputOptions output;
};

std::string library(const std::string& file) {
  std::error_code error;
  const fs::path path = fs::absolute(file, error);
  if (error || !fs::is_regular_file(path, error))
    throw Error(ErrorCode::usage, fmt::format("there is no library '{}'", file),
                "--load takes the path of a shared library that registers ops");
  return path.string();
}

unsigned repeats(const std::string& source, const std::string& value) {
  constexpr std::uint64_t kMost = 10'000;
  const std::uint64_t count = whole_number(source, value);
  if (count < 1 || count > kMost)
    throw Error(ErrorCode::usage, fmt::format("{} takes 1 to {}, not '{}'", source, kMost, value),
                fmt::format("give it as {} 5", source));
  return static_cast<unsigned>(count);
}

bool parse_replay(const Command& command, Arguments arguments, ReplayTask& task) {
  Options options(command);
  options.positional("DUMP", "the dump: DUMP or DUMP@rank=2", task.dump);
  options.positional("EVENT", "the op's event, as reports print it: 17/140913, or event:2:140913",
                     task.event);
  options.value("--with", "DUMP", "WITH", "explain why this run's bits differ at that event",
                [&](const auto&, const auto& value) { task.with = value; });
  options.value("--with-event", "EVENT", "WITH_EVENT", "the event there, if it is another one",
                [&](const auto&, const auto& value) { task.with_event = value; });
  options
      .value("--repeats", "K", "REPEATS", "replays under each run's own conditions (5)",
             [&](const auto& source, const auto& value) {
               task.replay.repeats = repeats(source, value);
             })
      .more("Under a changed condition there are two");
  options
      .value(
          "--load", "LIBRARY", "LOAD", "a library with ops of the program (repeatable)",
          [&](const auto&, const auto& value) { task.replay.libraries.push_back(library(value)); },
          true)
      .more("It is opened by the process that replays, after LibTorch");
  options
      .value("--export", "DIR", "EXPORT_TO", "write a C++ program that shows the same",
             [&](const auto&, const auto& value) { task.directory = value; })
      .more(
          "reproduce.cpp, its CMakeLists.txt and inputs.h5, to attach to a report of a bug in "
          "LibTorch: they need LibTorch and HDF5 only");
  attach_format(options, task.format);
  task.output.attach(options);
  return options.parse(std::move(arguments));
}

/// Without bytes there is nothing to replay, whatever else is known.
void require_bytes(const ReplayReport& report, const std::vector<const Run*>& runs) {
  if (report.outcome != ReplayOutcome::trouble) return;
  for (std::size_t k = 0; k < report.runs.size(); ++k) {
    if (!report.runs[k].lacks_bytes) continue;
    const std::int64_t step = report.runs[k].step;
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no bytes of this op, it was recorded at level {}",
                            report.runs[k].path, runs[k]->info().level),
                step == kSetup ? "record it with --level full"
                               : fmt::format("record it with --level full --steps {}", step));
  }
}

int run_replay(const Command& command, Arguments arguments) {
  ReplayTask task;
  if (!parse_replay(command, std::move(arguments), task)) return 0;
  if (task.with.empty() && !task.with_event.empty())
    throw Error(ErrorCode::usage, "--with-event needs --with",
                "ulpscope replay DUMP EVENT --with DUMP2 --with-event EVENT2");
  const auto a = open_run(task.dump);
  const auto b = task.with.empty() ? nullptr : open_run(task.with);
  const RecordedPlace place = find_place(*a, task.event);
  const RecordedPlace place_b =
      b ? find_place(*b, task.with_event.empty() ? task.event : task.with_event) : RecordedPlace{};
  const ReplayerFactory factory = replayer_factory(*a);
  if (!factory)
    throw Error(ErrorCode::usage, "nothing here can replay ops: " + why_no_replayer(*a),
                "it is ulpscope-replay-VERSION, built with Ulpscope where LibTorch is found");
  const ReplayReport report = [&] {
    const Working working("replaying");
    return explain(*a, place, b.get(), place_b, factory, task.replay);
  }();
  require_bytes(report, {a.get(), b.get()});
  if (!task.directory.empty()) export_program(task.directory, report.base == 0 ? *a : *b, report);
  if (task.format == Format::json) {
    render_replay_json(report, std::cout);
  } else {
    Page page(task.output.terminal());
    render_replay(report, page);
    std::cout << page.text() << std::flush;
  }
  return static_cast<int>(exit_code(report.outcome));
}

}  // namespace

const Command kReplayCommand{
    "replay",
    "Run a recorded op again and name what changes its bits.",
    "DUMP EVENT [--with DUMP] [OPTIONS]",
    "Calls the op with the inputs, strides, alignment, threads and flags that were recorded, in a "
    "process of its own, and says first whether it gives the recorded bits. Then it changes one "
    "condition at a time: threads, ATen capability, the instruction sets of oneDNN, deterministic "
    "mode, oneDNN, strides, alignment, a part of the batch. The table says of each whether the "
    "bits are those of A (the dump) and B (--with), and how far they are from the op in float64. "
    "With --with, the first sentence names the condition that makes B's bits. An op that ran on "
    "a GPU is replayed on one; one call may take 120 s.\n"
    "Needs the bytes of the op: record with --level full.\n"
    "Exit codes: 0 the op gives the recorded bits, and those of both runs are equal; 1 the runs' "
    "bits differ; 2 trouble, also where no run's op gives its recorded bits.",
    "ulpscope replay runs/a 17/140913\n"
    "ulpscope replay runs/a 17/140913 --with runs/b",
    Exit::trouble,
    run_replay};

}  // namespace ulpscope::cli
