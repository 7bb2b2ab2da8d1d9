#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <optional>

#include "cli/command.hpp"
#include "cli/open_run.hpp"
#include "cli/options.hpp"
#include "cli/output_options.hpp"
#include "cli/render/event_text.hpp"
#include "cli/render/page.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/numbers.hpp"
#include "cli/term/table.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

/// What of a dump to show: `steps`, `settings`, a step, or an event of a step.
struct Path {
  enum class Kind : std::uint8_t { summary, steps, settings, step, event };
  Kind kind = Kind::summary;
  std::int64_t step = kSetup;
  std::uint64_t event = 0;
};

Path parse_path(const std::string& text) {
  if (text.empty()) return {};
  if (text == "steps") return {Path::Kind::steps};
  if (text == "settings") return {Path::Kind::settings};
  const std::size_t slash = text.find('/');
  const std::string step = text.substr(0, slash);
  Path path{Path::Kind::step};
  try {
    path.step = step == "setup" ? kSetup : signed_number("PATH", step);
    if (slash != std::string::npos) {
      path.kind = Path::Kind::event;
      path.event = whole_number("PATH", text.substr(slash + 1));
    }
  } catch (const Error&) {
    throw Error(ErrorCode::usage, fmt::format("'{}' is no path in a dump", text),
                "paths are steps, settings, 17, setup and 17/140913");
  }
  return path;
}

std::string step_name(std::int64_t step) {
  return step == kSetup ? "setup" : fmt::format("{}", step);
}

/// Calls `use` with every block of a rank, lane by lane.
template <class Use>
void for_each_block(const Run& run, std::uint32_t rank, Use&& use) {
  for (const Lane& lane : run.lanes(rank)) {
    const std::size_t count = run.block_count(rank, lane.id);
    for (std::size_t i = 0; i < count; ++i) use(lane, run.block(rank, lane.id, i));
  }
}

void print_table(const Table& table, Page& page) {
  for (const std::string& line : table.lines(page.terminal())) page.line(line);
}

void print_summary(const Run& run, Page& page) {
  const RunInfo& info = run.info();
  page.labelled("dump", escaped(info.path), Ink::bold);
  page.labelled("", fmt::format("{}, {}, {}, {}, level {}", counted(info.ranks, "rank"),
                                counted(info.steps, "step"), counted(info.events, "event"),
                                counted(info.values, "value"), escaped(info.level)));
  std::vector<std::string> words;
  for (const std::string& word : info.command) words.push_back(escaped(shell_quoted(word)));
  if (!words.empty()) page.labelled("command", fmt::format("{}", fmt::join(words, " ")));
  if (!info.complete) page.labelled("incomplete", escaped(info.incomplete_reason), Ink::yellow);
  page.line();

  Table table;
  table.row({{"rank", Ink::dim, true},
             {"lane", Ink::dim},
             {"events", Ink::dim, true},
             {"thread", Ink::dim}});
  for (const std::uint32_t rank : run.ranks()) {
    for (const Lane& lane : run.lanes(rank)) {
      table.row({{fmt::format("{}", rank), Ink::plain, true},
                 {lane_name(lane)},
                 {grouped(lane.events), Ink::plain, true},
                 {escaped(lane.thread_name)}});
    }
  }
  print_table(table, page);
}

void print_steps(const Run& run, Page& page) {
  struct Counts {
    std::uint64_t events = 0;
    std::uint64_t values = 0;
  };
  Table table;
  table.row({{"rank", Ink::dim, true},
             {"step", Ink::dim, true},
             {"events", Ink::dim, true},
             {"values", Ink::dim, true}});
  for (const std::uint32_t rank : run.ranks()) {
    std::map<std::int64_t, Counts> steps;
    for_each_block(run, rank, [&steps](const Lane&, const Block& block) {
      Counts& counts = steps[block.step];
      counts.events += block.events.size();
      for (const Event& event : block.events) {
        for (const Slot& slot : event.slots) {
          if ((slot.flags & (slot_flag::undefined | slot_flag::no_digest)) == 0) ++counts.values;
        }
      }
    });
    for (const auto& [step, counts] : steps) {
      table.row({{fmt::format("{}", rank), Ink::plain, true},
                 {step_name(step), Ink::plain, true},
                 {grouped(counts.events), Ink::plain, true},
                 {grouped(counts.values), Ink::plain, true}});
    }
  }
  print_table(table, page);
}

void print_settings(const Run& run, Page& page) {
  Table table;
  table.row({{"rank", Ink::dim, true},
             {"from step", Ink::dim, true},
             {"setting", Ink::dim},
             {"value", Ink::dim}});
  for (const std::uint32_t rank : run.ranks()) {
    for (const EnvironmentEntry& entry : run.environment(rank)) {
      table.row({{fmt::format("{}", rank), Ink::plain, true},
                 {step_name(entry.step), Ink::plain, true},
                 {escaped(entry.key)},
                 {escaped(entry.value)}});
    }
  }
  print_table(table, page);
}

void print_step(const Run& run, std::int64_t step, Page& page) {
  bool found = false;
  for (const std::uint32_t rank : run.ranks()) {
    for (const Lane& lane : run.lanes(rank)) {
      Table table;
      const std::size_t count = run.block_count(rank, lane.id);
      for (std::size_t i = 0; i < count; ++i) {
        const Block block = run.block(rank, lane.id, i);
        if (block.step != step) continue;
        for (const Event& event : block.events) table.row(event_row(event));
      }
      if (table.empty()) continue;
      if (found) page.line();
      found = true;
      page.line(page.paint(
          Ink::bold, fmt::format("rank {}, {}, step {}", rank, lane_name(lane), step_name(step))));
      print_table(table, page);
    }
  }
  if (!found) {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no step {}", run.info().path, step_name(step)),
                "ulpscope inspect DUMP steps lists them");
  }
}

void print_event(const Run& run, const Path& path, Page& page) {
  bool found = false;
  for (const std::uint32_t rank : run.ranks()) {
    for_each_block(run, rank, [&](const Lane& lane, const Block& block) {
      if (block.step != path.step) return;
      for (const Event& event : block.events) {
        if (event.position != path.event) continue;
        if (found) page.line();
        found = true;
        page.line(page.paint(Ink::bold,
                             fmt::format("rank {}, {}, step {}, event {}", rank, lane_name(lane),
                                         step_name(path.step), grouped(event.position))));
        render_event(event, page);
      }
    });
  }
  if (!found) {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no event {} in step {}", run.info().path, path.event,
                            step_name(path.step)),
                fmt::format("ulpscope inspect DUMP {} lists its events", step_name(path.step)));
  }
}

int run_inspect(const Command& command, Arguments arguments) {
  std::string dump;
  std::string path_text;
  OutputOptions output;
  Options options(command);
  options.positional("DUMP", "the dump: DUMP or DUMP@rank=2,steps=10-19", dump);
  options.positional("PATH",
                     "steps, settings, a step (17 or setup), or an event of a step (17/140913)",
                     path_text, false);
  output.attach(options);
  if (!options.parse(std::move(arguments))) return 0;

  const Path path = parse_path(path_text);
  const auto run = open_run(dump);
  Page page(output.terminal());
  switch (path.kind) {
    case Path::Kind::summary:
      print_summary(*run, page);
      break;
    case Path::Kind::steps:
      print_steps(*run, page);
      break;
    case Path::Kind::settings:
      print_settings(*run, page);
      break;
    case Path::Kind::step:
      print_step(*run, path.step, page);
      break;
    case Path::Kind::event:
      print_event(*run, path, page);
      break;
  }
  std::cout << page.text() << std::flush;
  return 0;
}

}  // namespace

const Command kInspectCommand{
    "inspect",
    "Show what a dump holds: its steps, events, tensors and settings.",
    "DUMP [PATH] [OPTIONS]",
    "Without a path: what was recorded, and its lanes. The paths steps and settings list those, a "
    "step lists its events, and an event of a step shows all that is known of it.",
    "ulpscope inspect runs/a\n"
    "ulpscope inspect runs/a 17/140913",
    Exit::trouble,
    run_inspect};

}  // namespace ulpscope::cli
