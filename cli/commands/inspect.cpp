#include <fmt/format.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/engines/engines_text.hpp"
#include "cli/inputs/open_run.hpp"
#include "cli/inputs/watched_run.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/options/output_options.hpp"
#include "cli/options/text_or_json.hpp"
#include "cli/render/checks_text.hpp"
#include "cli/render/event_json.hpp"
#include "cli/render/inspect_json.hpp"
#include "cli/render/inspect_text.hpp"
#include "cli/render/json_documents.hpp"
#include "cli/render/modules_text.hpp"
#include "cli/render/page.hpp"
#include "cli/render/value_text.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "cli/term/working.hpp"
#include "cli/values/recorded_events.hpp"
#include "compare/model/lane_reader.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/stored_value.hpp"
#include "values/tree_glob.hpp"
#include "values/value_name.hpp"

namespace ulpscope::cli {
namespace {

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
    event,  ///< of a step
    other,  ///< an event of any step, a module, values of the layer tree or of an event
  };
  Kind kind = Kind::summary;
  stored::StepPath step;  ///< of a step or event
  std::string text;
};

Path parse_path(const std::string& text) {
  using Kind = Path::Kind;
  Path path{.kind = Kind::other, .step = {}, .text = text};
  if (text.empty()) path.kind = Kind::summary;
  if (text == "steps") path.kind = Kind::steps;
  if (text == "settings") path.kind = Kind::settings;
  if (text == "layers") path.kind = Kind::layers;
  if (text == "checks") path.kind = Kind::checks;
  if (const auto step = parse_step_path(text)) {
    path.kind = step->event ? Kind::event : Kind::step;
    path.step = *step;
  }
  return path;
}

/// How much of an event to show.
struct Detail {
  bool engines = false;
  const Run* other = nullptr;  ///< with `engines`: a second run whose engine is requested
};

void print_engines(const Run& run, const LocatedEvent& event, const Detail& detail, Page& page) {
  if (!detail.engines) return;
  const RecordedEvent own{run, event.rank, event.event};
  if (detail.other == nullptr) return render_engines(own, nullptr, page);
  const std::uint64_t position = event.event.position;
  const auto found = comparison::find_event(*detail.other, event.rank,
                                            {.lane = event.lane.id, .position = position});
  if (found.event == nullptr)
    throw Error(ErrorCode::usage,
                fmt::format("'{}' has no event {}", detail.other->info().path, position),
                "--against takes a dump of the same program");
  const RecordedEvent other{*detail.other, event.rank, *found.event};
  render_engines(own, &other, page);
}

/// What a path names that is neither a step nor one of its events.
std::vector<StoredValue> values_named(const Run& run, const std::string& text) {
  auto values = find_values(run, text);
  if (values.empty() && !names_event(text) && !is_glob(text))
    values = find_values(run, text + "/**");
  return values;
}

Error nothing_called(const Run& run, const std::string& text) {
  const bool without_bytes = text.starts_with("steps/") && run.info().level != "full";
  return {ErrorCode::usage, fmt::format("'{}' holds nothing called '{}'", run.info().path, text),
          without_bytes
              ? "values of layers are in dumps recorded with --level full"
              : "inspect DUMP layers lists modules, inspect DUMP \"**\" values of layers; other "
                "paths are steps, settings, checks, 17, setup, 17/140913 and 17/140913/output.0"};
}

/// One value in full, several as a list.
void print_values(const Run& run, const std::vector<StoredValue>& values, Page& page) {
  if (values.size() == 1) {
    const StoredValue& value = values.front();
    const auto recorded = run.statistics(value.rank, value.digest, value.geometry.dtype);
    return render_value(value, recorded, row_major_bytes(run, value), page);
  }
  Table table;
  const bool many_ranks = run.ranks().size() > 1;
  for (const StoredValue& value : values) {
    auto row = value_row(value);
    if (many_ranks) row.insert(row.begin(), {fmt::format("rank {}", value.rank), Ink::dim});
    table.row(std::move(row));
  }
  for (const std::string& line : table.lines(page.terminal())) page.line(line);
}

Json values_json(const Run& run, const std::vector<StoredValue>& values) {
  if (values.size() > 1) return list(values, [](const auto& value) { return value_json(value); });
  const StoredValue& value = values.front();
  const auto recorded = run.statistics(value.rank, value.digest, value.geometry.dtype);
  return Json::array({value_json(value, recorded, row_major_bytes(run, value))});
}

bool names_whole_event(const std::string& text) {
  return names_event(text) && text.find('/') == std::string::npos;
}

void print_other(const Run& run, const Path& path, const Detail& detail, Page& page) {
  bool first = true;
  const auto print = [&](const LocatedEvent& event) {
    render_located(event, first, page);
    print_engines(run, event, detail, page);
    first = false;
  };
  if (path.kind == Path::Kind::event) return for_each_event(run, path.step, print);
  if (names_whole_event(path.text)) {
    if (for_each_event(run, parse_event_name(path.text), print)) return;
  } else if (const auto values = values_named(run, path.text); !values.empty()) {
    return print_values(run, values, page);
  }
  if (!render_module(run, path.text, page)) throw nothing_called(run, path.text);
}

void print(const Run& run, const Path& path, const Detail& detail, Page& page) {
  switch (path.kind) {
    case Path::Kind::summary:
      return render_run(run, page);
    case Path::Kind::steps:
      return render_steps(run, page);
    case Path::Kind::settings:
      return render_recorded_settings(run, page);
    case Path::Kind::layers:
      return render_modules(run, page);
    case Path::Kind::checks:
      return render_checks(run, page);
    case Path::Kind::step:
      return render_step(run, path.step.step, page);
    case Path::Kind::event:
    case Path::Kind::other:
      return print_other(run, path, detail, page);
  }
}

/// The events that a path names, one by one. False if it names none.
bool print_events_json(const Run& run, const Path& path, Working& working) {
  InspectStream document(run, Listed::events, std::cout);
  const auto add = [&](const LocatedEvent& event) {
    working.end();
    document.add(event_json(event));
  };
  if (path.kind == Path::Kind::step || path.kind == Path::Kind::event) {
    for_each_event(run, path.step, add);
  } else if (!names_whole_event(path.text) ||
             !for_each_event(run, parse_event_name(path.text), add)) {
    return false;
  }
  document.finish();
  return true;
}

Json other_json(const Run& run, const std::string& text) {
  const auto values =
      names_whole_event(text) ? std::vector<StoredValue>{} : values_named(run, text);
  if (!values.empty()) return inspect_json(run, Listed::values, values_json(run, values));
  const auto modules = find_modules(run, text);
  if (modules.empty()) throw nothing_called(run, text);
  return inspect_json(run, Listed::modules, modules_json(modules, Calls::listed));
}

Json document(const Run& run, const Path& path) {
  switch (path.kind) {
    case Path::Kind::summary:
      return inspect_json(run, Listed::lanes, lanes_json(run));
    case Path::Kind::steps:
      return inspect_json(run, Listed::steps, steps_json(run));
    case Path::Kind::settings:
      return inspect_json(run, Listed::settings, settings_json(run));
    case Path::Kind::layers:
      return inspect_json(run, Listed::modules,
                          modules_json(recorded_modules(run), Calls::counted));
    case Path::Kind::checks:
      return inspect_json(run, Listed::checks, checks_json(run));
    case Path::Kind::step:
    case Path::Kind::event:
    case Path::Kind::other:
      break;
  }
  return other_json(run, path.text);
}

int run_inspect(const Command& command, Arguments arguments) {
  std::string dump;
  std::string path_text;
  bool engines = false;
  std::string against;
  Format format = Format::text;
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
  attach_format(options, format);
  output.attach(options);
  if (!options.parse(std::move(arguments))) return 0;

  const Path path = parse_path(path_text);
  if (engines && path.kind != Path::Kind::event && !names_whole_event(path_text))
    throw Error(ErrorCode::usage, "--engines needs an event",
                "name one: ulpscope inspect DUMP 17/140913 --engines");
  if (engines && format == Format::json)
    throw Error(ErrorCode::usage, "--engines prints text alone", "leave --format json out");
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
  if (format == Format::json && print_events_json(watched, path, working)) return 0;
  std::string result;
  if (format == Format::json) {
    result = text_of(document(watched, path));
  } else {
    Page page(output.terminal());
    print(watched, path, detail, page);
    result = page.text();
  }
  working.end();
  std::cout << result << std::flush;
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
