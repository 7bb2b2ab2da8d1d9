#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <map>
#include <optional>

#include "cli/base/words.hpp"
#include "cli/engines/engines_text.hpp"
#include "cli/inputs/open_run.hpp"
#include "cli/inputs/watched_run.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "cli/render/checks_text.hpp"
#include "cli/render/event_text.hpp"
#include "cli/render/modules_text.hpp"
#include "cli/render/page.hpp"
#include "cli/render/value_text.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "cli/term/working.hpp"
#include "cli/values/event_path.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/place.hpp"
#include "core/counts.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/stored_value.hpp"
#include "values/tree_glob.hpp"
#include "values/value_name.hpp"

namespace ulpscope::cli {
namespace {

using stored::EventName;
using stored::is_glob;
using stored::names_event;
using stored::parse_event_name;
using stored::parse_step_path;

/// What of a dump to show.
struct Path {
  enum class Kind : std::uint8_t {
    summary,
    steps,
    settings,
    layers,
    checks,
    step,
    event,
    other,  ///< a module, values of the layer tree, or of an event
  };
  Kind kind = Kind::summary;
  std::int64_t step = kSetup;
  std::uint64_t event = 0;
};

Path parse_path(const std::string& text) {
  if (text.empty()) return {};
  if (text == "steps") return {Path::Kind::steps};
  if (text == "settings") return {Path::Kind::settings};
  if (text == "layers") return {Path::Kind::layers};
  if (text == "checks") return {Path::Kind::checks};
  const auto step = parse_step_path(text);
  if (!step) return {Path::Kind::other};
  Path path{Path::Kind::step};
  path.step = step->step;
  if (step->event) {
    path.kind = Path::Kind::event;
    path.event = *step->event;
  }
  return path;
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

/// What to inspect next; without descriptions if the width is not enough.
void print_ways_on(const std::string& dump, Page& page) {
  const std::string inspect = "ulpscope inspect " + escaped(shell_quoted(dump));
  const auto ways = [&](bool words) {
    Table table;
    const auto add = [&](std::string_view label, std::string_view path, std::string_view what) {
      table.row({{fmt::format("{:<{}}", label, kLabelWidth - 2), Ink::dim},
                 {fmt::format("{} {}", inspect, path)},
                 {words ? std::string(what) : "", Ink::dim}});
    };
    add("next", "layers", "modules and their parameters");
    add("", "checks", "what in this run makes runs differ");
    add("", "settings", "versions, threads, flags, variables");
    add("", "steps", "then STEP for its events, STEP/EVENT");
    return table;
  };
  const Table table = ways(true);
  print_table(table.width() <= page.terminal().width ? table : ways(false), page);
}

void print_summary(const Run& run, Page& page) {
  const RunInfo& info = run.info();
  page.labelled("dump", escaped(info.path), Ink::bold);
  page.labelled("",
                fmt::format("{}, {}, {}, {}, level {}", core::counted(info.ranks, "rank"),
                            core::counted(info.steps, "step"), core::counted(info.events, "event"),
                            core::counted(info.values, "value"), escaped(info.level)));
  std::vector<std::string> words;
  for (const std::string& word : info.command) words.push_back(escaped(shell_quoted(word)));
  if (!words.empty()) page.labelled("command", fmt::format("{}", fmt::join(words, " ")));
  if (!info.complete) page.labelled("incomplete", escaped(info.incomplete_reason), Ink::yellow);
  page.line();

  bool any_created = false;
  for (const std::uint32_t rank : run.ranks())
    for (const Lane& lane : run.lanes(rank)) any_created |= !lane.created_by.empty();
  Table table;
  table.row({{"rank", Ink::dim, true},
             {"lane", Ink::dim},
             {"events", Ink::dim, true},
             {"thread", Ink::dim},
             {any_created ? "created by" : "", Ink::dim}});
  for (const std::uint32_t rank : run.ranks()) {
    for (const Lane& lane : run.lanes(rank)) {
      table.row({{fmt::format("{}", rank), Ink::plain, true},
                 {comparison::lane_name(lane)},
                 {core::grouped(lane.events), Ink::plain, true},
                 {escaped(lane.thread_name)},
                 {escaped(lane.created_by)}});
    }
  }
  print_table(table, page);
  page.line();
  print_ways_on(info.path, page);
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
                 {core::grouped(counts.events), Ink::plain, true},
                 {core::grouped(counts.values), Ink::plain, true}});
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

Error no_such_step(const Run& run, std::int64_t step) {
  return {ErrorCode::usage, fmt::format("'{}' has no step {}", run.info().path, step_name(step)),
          "ulpscope inspect DUMP steps lists them"};
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
      page.line(page.paint(Ink::bold, fmt::format("rank {}, {}, step {}", rank,
                                                  comparison::lane_name(lane), step_name(step))));
      print_table(table, page);
    }
  }
  if (!found) throw no_such_step(run, step);
}

/// How much of an event to show.
struct Detail {
  bool engines = false;
  const Run* other = nullptr;  ///< with `engines`: a second run whose engine is requested
};

void print_whole_event(const Run& run, std::uint32_t rank, const Lane& lane, const Event& event,
                       const Detail& detail, Page& page) {
  render_event(event, page);
  if (!detail.engines) return;
  if (detail.other == nullptr) return render_engines({run, rank, event}, nullptr, page);
  const auto found =
      comparison::find_event(*detail.other, rank, {.lane = lane.id, .position = event.position});
  if (found.event == nullptr)
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no event {}", detail.other->info().path, event.position),
                "--against takes a dump of the same program");
  const RecordedEvent other{*detail.other, rank, *found.event};
  render_engines({run, rank, event}, &other, page);
}

void print_event(const Run& run, const Path& path, const Detail& detail, Page& page) {
  bool found = false;
  bool step_found = false;
  for (const std::uint32_t rank : run.ranks()) {
    for_each_block(run, rank, [&](const Lane& lane, const Block& block) {
      if (block.step != path.step) return;
      step_found = true;
      for (const Event& event : block.events) {
        if (event.position != path.event) continue;
        if (found) page.line();
        found = true;
        page.line(page.paint(
            Ink::bold,
            fmt::format("rank {}, {}, step {}, event {}", rank, comparison::lane_name(lane),
                        step_name(path.step), core::grouped(event.position))));
        print_whole_event(run, rank, lane, event, detail, page);
      }
    });
  }
  if (!step_found) throw no_such_step(run, path.step);
  if (!found) {
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no event {} in step {}", run.info().path, path.event,
                            step_name(path.step)),
                fmt::format("ulpscope inspect DUMP {} lists its events", step_name(path.step)));
  }
}

/// An event in any step: "event:140913".
bool print_named_event(const Run& run, const std::string& text, const Detail& detail, Page& page) {
  const EventName wanted = parse_event_name(text);
  bool found = false;
  for (const std::uint32_t rank : run.ranks()) {
    for_each_block(run, rank, [&](const Lane& lane, const Block& block) {
      if (wanted.lane ? *wanted.lane != lane.id : lane.role != LaneRole::main) return;
      for (const Event& event : block.events) {
        if (event.position != wanted.position) continue;
        if (found) page.line();
        found = true;
        page.line(page.paint(
            Ink::bold,
            fmt::format("rank {}, {}, step {}, event {}", rank, comparison::lane_name(lane),
                        step_name(block.step), core::grouped(event.position))));
        print_whole_event(run, rank, lane, event, detail, page);
      }
    });
  }
  return found;
}

/// One value in full, several as a list. False if there is none.
bool print_values(const Run& run, const std::string& text, Page& page) {
  auto values = find_values(run, text);
  if (values.empty() && !names_event(text) && !is_glob(text)) {
    values = find_values(run, text + "/**");
  }
  if (values.empty()) return false;
  if (values.size() == 1) {
    const StoredValue& value = values.front();
    const auto recorded = run.statistics(value.rank, value.digest, value.geometry.dtype);
    render_value(value, recorded, row_major_bytes(run, value), page);
    return true;
  }
  Table table;
  const bool many_ranks = run.ranks().size() > 1;
  for (const StoredValue& value : values) {
    auto row = value_row(value);
    if (many_ranks) row.insert(row.begin(), {fmt::format("rank {}", value.rank), Ink::dim});
    table.row(std::move(row));
  }
  print_table(table, page);
  return true;
}

bool names_whole_event(const std::string& text) {
  return names_event(text) && text.find('/') == std::string::npos;
}

void print_other(const Run& run, const std::string& text, const Detail& detail, Page& page) {
  const bool found = names_whole_event(text) ? print_named_event(run, text, detail, page)
                                             : print_values(run, text, page);
  if (found) return;
  if (render_module(run, text, page)) return;
  const bool without_bytes = text.starts_with("steps/") && run.info().level != "full";
  throw Error(
      ErrorCode::usage, fmt::format("'{}' holds nothing called '{}'", run.info().path, text),
      without_bytes
          ? "values of layers are in dumps recorded with --level full"
          : "inspect DUMP layers lists modules, inspect DUMP \"**\" values of layers; other "
            "paths are steps, settings, checks, 17, setup, 17/140913 and 17/140913/output.0");
}

int run_inspect(const Command& command, Arguments arguments) {
  std::string dump;
  std::string path_text;
  bool engines = false;
  std::string against;
  OutputOptions output;
  Options options(command);
  options.positional("DUMP", "the dump: DUMP or DUMP@rank=2,steps=10-19", dump);
  options.positional("PATH",
                     "steps, settings, layers, checks, a step (17 or setup), an event of a step "
                     "(17/140913), a module, a value, or a glob of values",
                     path_text, false);
  options.flag("--engines", "ENGINES", "run a convolution with all engines of cuDNN", engines)
      .more(
          "Says of each whether three repeats agree, how far it is from what was recorded and from "
          "float64, and so which one the run used. Needs cuDNN 9, a GPU, and bytes in the dump.");
  options
      .value("--against", "DUMP", "AGAINST", "name the engine of the same event there as well",
             [&](const auto&, const auto& value) { against = value; })
      .more("With --engines; the event's inputs must be equal in both dumps");
  output.attach(options);
  if (!options.parse(std::move(arguments))) return 0;

  const Path path = parse_path(path_text);
  if (engines && path.kind != Path::Kind::event && !names_whole_event(path_text))
    throw Error(ErrorCode::usage, "--engines needs an event",
                "name one: ulpscope inspect DUMP 17/140913 --engines");
  if (!against.empty() && !engines)
    throw Error(ErrorCode::usage, "--against needs --engines",
                "ulpscope compare compares two dumps");
  Working working(fmt::format("opening {}", escaped(dump)));
  const auto opened = open_run(dump);
  const auto other = against.empty() ? nullptr : open_run(against);
  const Detail detail{engines, other.get()};
  working.begin("inspecting", WorkUnit::events, opened->info().events);
  const WatchedRun watched(
      *opened, [&working](std::uint64_t events) { working.add(events); }, [](std::uint64_t) {});
  const Run* const run = &watched;
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
    case Path::Kind::layers:
      render_modules(*run, page);
      break;
    case Path::Kind::checks:
      render_checks(*run, page);
      break;
    case Path::Kind::step:
      print_step(*run, path.step, page);
      break;
    case Path::Kind::event:
      print_event(*run, path, detail, page);
      break;
    case Path::Kind::other:
      print_other(*run, path_text, detail, page);
      break;
  }
  working.end();
  std::cout << page.text() << std::flush;
  return 0;
}

}  // namespace

const Command kInspectCommand{
    "inspect",
    "Show what a dump holds: steps, events, layers, tensors, settings.",
    "DUMP [PATH] [OPTIONS]",
    "Without a path: what was recorded, and its lanes. The paths steps, settings and layers list "
    "those; checks looks in this run alone for what makes runs differ: generators without a seed "
    "or "
    "shared by threads, epochs and batches that come again, ops without a fixed order, forwards "
    "recomputed with other results, ranks with other batch sizes; a step lists its events, an "
    "event of a step shows all that is known of it, a module "
    "its "
    "parameters and calls, a value its dtype, shape, statistics and first elements. Values are "
    "those "
    "of the layer tree (steps/000017/forward/layer1.conv1/0/output.0) and of events "
    "(17/140913/output.0, or event:140913/output.0 in any step); a glob lists those that it "
    "matches, ** stands for any number of parts.",
    "ulpscope inspect runs/a layers\n"
    "ulpscope inspect runs/a checks\n"
    "ulpscope inspect runs/a 17/140913\n"
    "ulpscope inspect runs/a \"steps/000017/forward/layer1*/**\"",
    Exit::trouble,
    run_inspect};

}  // namespace ulpscope::cli
