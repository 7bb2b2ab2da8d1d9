#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/check/follow.hpp"
#include "cli/commands/record_watched.hpp"
#include "cli/inputs/open_run.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/record/cannot_run.hpp"
#include "cli/record/injection.hpp"
#include "cli/record/record_settings.hpp"
#include "cli/record/selection.hpp"
#include "cli/record/session.hpp"
#include "cli/record/write.hpp"
#include "cli/team/launch.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/say.hpp"
#include "cli/version.hpp"
#include "core/counts.hpp"
#include "ulpscope/error.hpp"
#include "writer/dump_directory.hpp"
#include "writer/recording_lock.hpp"

namespace ulpscope::cli {
namespace {

/// Takes the command out of `arguments` and leaves the options.
Arguments split_command(const Options& options, Arguments& arguments) {
  auto first = arguments.begin() + static_cast<std::ptrdiff_t>(options.leading_options(arguments));
  const bool marked = first != arguments.end() && *first == "--";
  Arguments command(first + (marked ? 1 : 0), arguments.end());
  arguments.erase(first, arguments.end());
  return command;
}

void add_what_is_recorded(Options& options, RecordOptions& to) {
  ring::Settings& settings = to.settings;
  options
      .value("--level", "digest|stats|full", "LEVEL", "what is kept of every value",
             [&](const auto& source, const auto& value) {
               settings.level =
                   static_cast<ring::Level>(choice(source, value, {"digest", "stats", "full"}));
             })
      .more(
          "Level digest (the default) keeps a 128-bit digest, stats also minimum, maximum, mean, "
          "norm and counts of NaN and infinity, full also its bytes, which compare needs to say "
          "how far apart two values are");
  options
      .value("--capture", "ops|layers", "CAPTURE", "every op, or what goes in and out of modules",
             [&](const auto& source, const auto& value) {
               settings.capture =
                   static_cast<ring::CaptureScope>(choice(source, value, {"ops", "layers"}));
             })
      .more(
          "By default ops; layers keeps module outputs, gradients and parameters at a fraction of "
          "the cost");
  options
      .value("--steps", "RANGE", "STEPS", "only these steps: 0-19, 5, 5- or setup",
             [&](const auto& source, const auto& value) {
               const StepRange range = step_range(source, value);
               settings.first_step = range.first;
               settings.last_step = range.last;
             })
      .more(
          "Steps count from 0; a range that begins at 0 includes setup, which is what comes "
          "before the first step");
  options
      .value(
          "--modules", "GLOB", "MODULES", "only modules of that name (repeatable)",
          [&](const auto& source, const auto& value) { add_glob(settings.modules, source, value); },
          true)
      .more("A glob of named_modules() paths: 'layer1.*'");
  options
      .value(
          "--ops", "GLOB", "OPS", "only ops of that name (repeatable)",
          [&](const auto& source, const auto& value) { add_glob(settings.ops, source, value); },
          true)
      .more("A glob: 'aten::*conv*'");
  options
      .value(
          "--ignore", "GLOB", "IGNORE", "no ops and modules of that name (repeatable)",
          [&](const auto& source, const auto& value) { add_glob(settings.ignore, source, value); },
          true)
      .more("It wins over --modules and --ops");
  options
      .value("--full-steps", "RANGE", "FULL_STEPS", "with --level full: bytes of these steps only",
             [&](const auto& source, const auto& value) {
               const StepRange range = step_range(source, value);
               settings.first_full_step = range.first;
               settings.last_full_step = range.last;
             })
      .more(
          "Everything is digested, so that the comparison stays complete; bytes, and what --stacks "
          "records, are kept where they are needed to explain a difference")
      .rare();
  options
      .value(
          "--full-ops", "GLOB", "FULL_OPS",
          "with --level full: bytes of these ops only (repeatable)",
          [&](const auto& source, const auto& value) {
            add_glob(settings.full_ops, source, value);
          },
          true)
      .rare();
  options
      .value("--verify", "full|off", "VERIFY", "digest inputs again where code could write",
             [&](const auto& source, const auto& value) {
               settings.verify = static_cast<ring::Verify>(choice(source, value, {"full", "off"}));
             })
      .more(
          "With full (the default) a write that is no op is found where it is read; with off "
          "inputs are trusted, which is cheaper");
}

void add_what_is_written(Options& options, RecordOptions& to) {
  options
      .value(
          "--redact", "GLOB", "REDACT", "mask settings and words that match (repeatable)",
          [&](const auto& source, const auto& value) { to.redact.push_back(glob(source, value)); },
          true)
      .more(
          "A dump holds the command line and the values of known variables. Of settings whose "
          "name or value matches, and of words of the command line that match, as a whole or "
          "before or behind their '=', the value becomes <redacted> before anything is stored");
  options
      .value("--max-bytes", "N", "MAX_BYTES", "keep no more bytes once the dump has N (K, M, G)",
             [&](const auto& source, const auto& value) {
               to.max_bytes = some_bytes(source, value, "--level digest keeps no bytes at all");
             })
      .more("With --level full; digests go on, and the dump says where the bytes end");
  options
      .value("--keep-last", "N", "KEEP_LAST", "keep the last N steps only",
             [&](const auto& source, const auto& value) {
               to.keep_last =
                   at_least_one(source, value, fmt::format("{} 20 keeps the last 20", source));
             })
      .more(
          "For a difference that shows late in a long run: what is older, setup included, is "
          "removed while the program runs");
}

void add_rarely_needed(Options& options, RecordOptions& to) {
  constexpr const char* kOtherwise = "without it a segment is published when it has grown large";
  options
      .value(
          "--set", "NAME=on|off", "SET",
          "begin with mkldnn or deterministic on or off (repeatable)",
          [&](const auto& source, const auto& value) { set_flag(to.settings, source, value); },
          true)
      .more("It changes what the program computes; the program may change the setting back")
      .rare();
  options
      .value("--ring-bytes", "N", "RING_BYTES", "memory between program and writer, per thread",
             [&](const auto& source, const auto& value) {
               to.settings.ring_bytes = ring_bytes(source, value);
             })
      .rare();
  options
      .value("--segment-steps", "N", "SEGMENT_STEPS",
             "publish a segment, which can be read at once, after N steps",
             [&](const auto& source, const auto& value) {
               to.segment_steps = at_least_one(source, value, kOtherwise);
             })
      .rare();
  options
      .value("--segment-seconds", "N", "SEGMENT_SECONDS", "the same after N seconds",
             [&](const auto& source, const auto& value) {
               to.segment_seconds = at_least_one(source, value, kOtherwise);
             })
      .rare();
  options
      .value("--segment-bytes", "N", "SEGMENT_BYTES",
             "the same after N bytes of contents (K, M, G; 256M)",
             [&](const auto& source, const auto& value) {
               to.segment_bytes = some_bytes(source, value, kOtherwise);
             })
      .rare();
}

/// What `record` does beside recording.
struct Following {
  std::string reference;  ///< a dump to compare with while the command runs; empty: none
  bool stop = false;
};

/// Values of another run that the command's ops are given.
struct Injecting {
  std::string dump;  ///< empty: none
  std::optional<ring::injection::At> at;
};

void add_injecting(Options& options, Injecting& to) {
  options
      .value("--inject", "DUMP", "INJECT", "give the program the values that this dump has",
             [&to](const auto&, const auto& value) { to.dump = value; })
      .more(
          "So that a difference that does not follow from earlier ones shows: the program's "
          "results are not its own then. The dump needs bytes (--level full)")
      .rare();
  options
      .value("--inject-at", "op|module|origins", "INJECT_AT", "with --inject: where they are given",
             [&to](const auto& source, const auto& value) {
               to.at = static_cast<ring::injection::At>(
                   choice(source, value, {"op", "module", "origins"}));
             })
      .more(
          "What each op reads (op, the default), what the first op of a module reads, or what an "
          "op leaves that makes other results of equal inputs (origins)")
      .rare();
}

void add_following(Options& options, Following& to) {
  options
      .value("--against", "DUMP", "AGAINST", "compare with this dump while the command runs",
             [&to](const auto&, const auto& value) { to.reference = value; })
      .more(
          "As soon as the program computes something else, what it did so far is compared, and one "
          "line says where the runs diverge first")
      .rare();
  options.flag("--stop", "STOP", "with --against: stop the program where it diverges", to.stop)
      .more("Within the step, with SIGSTOP, so that a debugger can attach to it")
      .rare();
}

/// False when help was requested and printed.
bool parse(const Command& command, Arguments arguments, RecordOptions& record_options,
           Following& following, Injecting& injecting) {
  bool stacks = false;
  bool no_stacks = false;
  bool kernels = false;
  Options options(command);
  options.value("-o,--output", "DUMP", "DUMP", "where the dump goes (runs/PROGRAM-N)",
                [&](const auto&, const auto& value) { record_options.dump = value; });
  add_what_is_recorded(options, record_options);
  options.flag("--stacks", "STACKS", "record where in the program each op was called", stacks)
      .more("File and line need a program built with -g. Those of Python code are always recorded");
  options.flag("--no-stacks", "NO_STACKS", "leave out where in Python code, too", no_stacks).rare();
  options.flag("--kernels", "KERNELS", "record which kernels each op launches on a GPU", kernels)
      .more("Told by CUPTI, which no profiler of the program can use at the same time")
      .rare();
  add_what_is_written(options, record_options);
  add_following(options, following);
  add_injecting(options, injecting);
  options.flag("--require", "REQUIRE", "fail if nothing can be recorded, or nothing was",
               record_options.require);
  options.flag("--force", "FORCE", "replace the dump that is there", record_options.force);
  add_rarely_needed(options, record_options);
  record_options.command = split_command(options, arguments);
  if (!options.parse(std::move(arguments))) return false;
  if (stacks && no_stacks)
    throw Error(ErrorCode::usage, "--stacks and --no-stacks contradict each other");
  record_options.settings.stacks = stacks      ? ring::Stacks::all
                                   : no_stacks ? ring::Stacks::none
                                               : ring::Stacks::python;
  record_options.settings.kernels = kernels ? 1 : 0;
  record_options.creator = fmt::format("ulpscope {}", kVersion);
  refuse_contradictions(record_options);
  if (following.stop && following.reference.empty())
    throw Error(ErrorCode::usage, "--stop needs a dump to compare with",
                "give one with --against DUMP");
  if (injecting.at && injecting.dump.empty())
    throw Error(ErrorCode::usage, "--inject-at needs the values of a dump",
                "give one with --inject DUMP");
  record_options.settings.inject_at = injecting.at.value_or(ring::injection::At::op);
  if (!injecting.dump.empty()) refuse_partial_injection(record_options.settings);
  if (record_options.command.empty()) {
    throw Error(ErrorCode::usage, "record needs a command to run",
                fmt::format("usage: ulpscope {} {}", command.name, command.synopsis));
  }
  return true;
}

/// A launcher of MPI may have started one recording for each process: the hint says what is meant.
[[noreturn]] void refuse(const writer::BeingRecorded& error) {
  if (launch().alone()) throw error;
  throw Error(
      error.code(), error.what(),
      std::string(error.hint()) +
          "; `ulpscope record -o DUMP -- mpirun ...` makes its processes ranks of one dump");
}

int record_and_say(const RecordOptions& options) {
  const RecordResult result = record(options);
  say(fmt::format("ulpscope: {}", escaped(closing_line(result))));
  if (!result.status.recorded && options.require) return static_cast<int>(Exit::not_started);
  const std::string nothing = why_nothing_was_selected(options, result);
  if (nothing.empty()) return result.exit_code;
  say(fmt::format("ulpscope: note: nothing was selected: {}", escaped(nothing)));
  return options.require ? static_cast<int>(Exit::not_started) : result.exit_code;
}

int record_alone(const RecordOptions& options) {
  try {
    return record_and_say(options);
  } catch (const writer::BeingRecorded& error) {
    refuse(error);
  } catch (const CannotRun& error) {
    say_error(error.what(), error.hint());
    return static_cast<int>(error.exit());
  }
}

/// Calls `record`; what it throws is reported and becomes the exit code.
template <class Record>
int reporting(const RecordingHooks& hooks, const Record& record) {
  Trouble trouble;
  trouble.exit = Exit::not_started;
  try {
    return record();
  } catch (const CannotRun& error) {
    trouble = {error.what(), std::string(error.hint()), error.exit()};
  } catch (const Error& error) {
    trouble.message = error.what();
    trouble.hint = error.hint();
  } catch (const std::exception& error) {
    trouble.message = error.what();
  }
  hooks.failed(trouble);
  return static_cast<int>(trouble.exit);
}

/// The same in a process of its own, which must not return.
int record_beside(RecordOptions options, const RecordingHooks& hooks) {
  options.watch = hooks.watch;
  options.after_round = hooks.after_round;
  return reporting(hooks, [&options] { return record_and_say(options); });
}

/// Names the dump, so that it can be read while it is recorded.
std::filesystem::path dump_of(const RecordOptions& options) {
  const std::string program = std::filesystem::path(options.command.front()).filename().string();
  return writer::DumpDirectory(options.dump, program, options.force).path();
}

void announce(const Report& report, const StoppedProcesses& stopped) {
  say(fmt::format("ulpscope: {}", escaped(report.summary)));
  if (!stopped.empty())
    say(fmt::format("ulpscope: stopped: gdb -p {} attaches to it, kill -CONT {} lets it go on",
                    stopped.front(), fmt::join(stopped, " ")));
}

/// What was recorded after the last published segment is read again for each comparison.
constexpr std::uint32_t kSecondsToReadAgain = 5;

int record_against(RecordOptions options, const Following& following) {
  static_cast<void>(open_run(following.reference));
  std::error_code error;
  if (std::filesystem::equivalent(following.reference, options.dump, error))
    throw Error(ErrorCode::usage, "--against names the dump that is to be written",
                "choose a different place with -o");
  options.dump = dump_of(options);
  const bool step_by_step = options.keep_last != 0;
  if (step_by_step)
    options.segment_steps = 1;
  else if (options.segment_seconds == 0)
    options.segment_seconds = kSecondsToReadAgain;
  const auto record = [&options](RecordingWatch& watch) {
    return record_beside(options, hooks_of(watch));
  };
  const FollowResult result =
      follow({record, options.dump, following.reference, following.stop, step_by_step}, announce);
  if (result.trouble) {
    say_error(result.trouble->message, result.trouble->hint);
    return static_cast<int>(result.trouble->exit);
  }
  if (!result.failure.empty())
    say(fmt::format("ulpscope: note: not compared to its end: {}", escaped(result.failure)));
  else if (!result.diverged)
    say(fmt::format("ulpscope: equal to {} in {}", escaped(following.reference),
                    core::counted(result.steps, "step")));
  return result.exit_code;
}

/// Null if none are.
std::unique_ptr<InjectionFile> values_to_give(const Injecting& injecting, RecordOptions& options) {
  if (injecting.dump.empty()) return nullptr;
  auto values =
      std::make_unique<InjectionFile>(*open_run(injecting.dump), options.settings.inject_at);
  options.settings.injection.set(values->path().string());
  return values;
}

int run_record(const Command& command, Arguments arguments) {
  RecordOptions options;
  Following following;
  Injecting injecting;
  if (!parse(command, std::move(arguments), options, following, injecting)) return 0;
  const auto values = values_to_give(injecting, options);
  return following.reference.empty() ? record_alone(options) : record_against(options, following);
}

int run_write(const Command& command, Arguments arguments) {
  try {
    RecordOptions options;
    Following following;
    Injecting injecting;
    if (!parse(command, std::move(arguments), options, following, injecting)) return 0;
    const auto values = values_to_give(injecting, options);
    write(options);
    return 0;
  } catch (const Error& error) {  // the program listens to standard output
    fmt::print("refused\n{}\n{}\n", error.what(), error.hint());
    throw;
  }
}

}  // namespace

int record_watched(Arguments arguments, const RecordingHooks& hooks) {
  return reporting(hooks, [&] {
    RecordOptions options;
    Following following;
    Injecting injecting;
    if (!parse(kRecordCommand, std::move(arguments), options, following, injecting)) return 0;
    return record_beside(options, hooks);
  });
}

const Command kRecordCommand{
    "record",
    "Run a program and record every op it computes.",
    "[OPTIONS] -- COMMAND [ARGUMENTS]",
    "Runs the command unchanged and writes a dump of every LibTorch op in it and in the processes "
    "that it starts: digests of inputs and results, arguments, random numbers, settings. Streams, "
    "signals, the directory and the exit code are the command's own; DUMP/status.json says whether "
    "all of it was recorded, and why not.\n"
    "A program that uses no LibTorch, or one that cannot be entered (statically linked, "
    "set-user-id, built with a sanitizer), runs unrecorded and one line says why.\n"
    "Exit codes: the command's own, 128 + signal if a signal ended it, 125 if ulpscope could not "
    "start it or, with --require, recorded nothing, 126 or 127 if it cannot be run or found.",
    "ulpscope record -o runs/a -- ./train --epochs 1\n"
    "ulpscope record --level full --steps 0-2 -- ./train",
    Exit::not_started,
    run_record};

const Command kWriteCommand{
    "write",
    "Write what a program records through ulpscope::Recorder.",
    "[OPTIONS] -- PROGRAM [ARGUMENTS]",
    "Started by that program, which it outlives; prints where it listens and where the dump goes.",
    "ulpscope write -o runs/a -- ./train",
    Exit::not_started,
    run_write};

}  // namespace ulpscope::cli
