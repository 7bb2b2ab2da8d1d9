#include "cli/render/inspect_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/base/words.hpp"
#include "cli/render/event_text.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "cli/values/event_path.hpp"
#include "compare/model/place.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

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

std::string place_text(const LocatedEvent& event) {
  return fmt::format("rank {}, {}, step {}", event.rank, comparison::lane_name(event.lane),
                     step_name(event.step));
}

}  // namespace

void render_run(const Run& run, Page& page) {
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

void render_steps(const Run& run, Page& page) {
  Table table;
  table.row({{"rank", Ink::dim, true},
             {"step", Ink::dim, true},
             {"events", Ink::dim, true},
             {"values", Ink::dim, true}});
  for (const StepCounts& counts : count_steps(run)) {
    table.row({{fmt::format("{}", counts.rank), Ink::plain, true},
               {step_name(counts.step), Ink::plain, true},
               {core::grouped(counts.events), Ink::plain, true},
               {core::grouped(counts.values), Ink::plain, true}});
  }
  print_table(table, page);
}

void render_recorded_settings(const Run& run, Page& page) {
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

void render_step(const Run& run, std::int64_t step, Page& page) {
  std::vector<std::pair<std::string, Table>> lanes;  // each below its place
  for_each_event(run, stored::StepPath{step, std::nullopt}, [&](const LocatedEvent& event) {
    std::string place = place_text(event);
    if (lanes.empty() || lanes.back().first != place) lanes.emplace_back(std::move(place), Table());
    lanes.back().second.row(event_row(event.event));
  });
  for (const auto& [place, table] : lanes) {
    if (&place != &lanes.front().first) page.line();
    page.line(page.paint(Ink::bold, place));
    print_table(table, page);
  }
}

void render_located(const LocatedEvent& event, bool first, Page& page) {
  if (!first) page.line();
  page.line(page.paint(Ink::bold, fmt::format("{}, event {}", place_text(event),
                                              core::grouped(event.event.position))));
  render_event(event.event, page);
}

}  // namespace ulpscope::cli
