#include "cli/render/modules_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "cli/render/recorded_modules.hpp"
#include "cli/render/value_text.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "cli/values/event_path.hpp"
#include "core/counts.hpp"

namespace ulpscope::cli {
namespace {

std::string last_part(const std::string& path) {
  return path.empty() ? "(root)" : path.substr(path.rfind('.') + 1);
}

Cell count_cell(std::size_t count) {
  return {count == 0 ? std::string() : core::grouped(count), Ink::plain, true};
}

void print(const Table& table, Page& page) {
  for (const std::string& line : table.lines(page.terminal())) page.line(line);
}

Table parameters_table(const RecordedModule& module) {
  Table table;
  for (const auto& [name, geometry] : module.parameters) {
    const bool has_gradient = module.gradients.contains(name);
    table.row({{escaped(name)},
               {geometry_text(geometry)},
               {has_gradient ? "with gradient" : "", Ink::dim}});
  }
  return table;
}

Table calls_table(const RecordedModule& module) {
  Table table;
  if (module.calls.empty()) return table;
  table.row({{"step", Ink::dim, true}, {"phase", Ink::dim}, {"event", Ink::dim, true}});
  for (const ModuleCall& call : module.calls) {
    table.row({{step_name(call.step), Ink::plain, true},
               {std::string(name(call.phase))},
               {core::grouped(call.position), Ink::plain, true}});
  }
  return table;
}

Table values_table(const std::vector<StoredValue>& values) {
  Table table;
  for (const StoredValue& value : values) table.row(value_row(value));
  return table;
}

std::vector<Cell> module_row(const RecordedModule& module) {
  const std::string& path = module.path;
  const auto depth =
      static_cast<std::size_t>(path.empty() ? 0 : 1 + std::count(path.begin(), path.end(), '.'));
  return {{std::string(2 * depth, ' ') + escaped(last_part(path))},
          {escaped(module.type)},
          count_cell(module.calls.size()),
          count_cell(module.parameters.size()),
          count_cell(module.gradients.size())};
}

/// The modules of one root.
void print_modules(std::span<const RecordedModule> modules, Page& page) {
  const RecordedModule& first = modules.front();
  page.line(page.paint(Ink::bold, fmt::format("rank {}, {}", first.rank, escaped(first.root))));
  Table table;
  table.row({{"module", Ink::dim},
             {"type", Ink::dim},
             {"calls", Ink::dim, true},
             {"parameters", Ink::dim, true},
             {"gradients", Ink::dim, true}});
  for (const RecordedModule& module : modules) table.row(module_row(module));
  print(table, page);
}

void print_module(const Run& run, const RecordedModule& module, Page& page) {
  page.labelled("module", escaped(module.name()), Ink::bold);
  page.labelled(
      "", fmt::format("{}of {}, rank {}", module.type.empty() ? "" : escaped(module.type) + " ",
                      escaped(module.root), module.rank));
  for (const Table& table :
       {parameters_table(module), calls_table(module), values_table(values_of(run, module))}) {
    if (table.empty()) continue;
    page.line();
    print(table, page);
  }
}

}  // namespace

void render_modules(const Run& run, Page& page) {
  const std::vector<RecordedModule> modules = recorded_modules(run);
  if (modules.empty()) page.line("no event of this dump belongs to a module");
  for (auto begin = modules.begin(); begin != modules.end();) {
    const auto end = std::find_if(begin, modules.end(), [&](const RecordedModule& module) {
      return module.rank != begin->rank || module.root != begin->root;
    });
    if (begin != modules.begin()) page.line();
    print_modules({begin, end}, page);
    begin = end;
  }
}

bool render_module(const Run& run, std::string_view path, Page& page) {
  const std::vector<RecordedModule> modules = find_modules(run, path);
  for (const RecordedModule& module : modules) {
    if (&module != &modules.front()) page.line();
    print_module(run, module, page);
  }
  return !modules.empty();
}

}  // namespace ulpscope::cli
