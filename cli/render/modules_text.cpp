#include "cli/render/modules_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/render/event_text.hpp"
#include "cli/render/value_text.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "core/counts.hpp"
#include "core/module_path.hpp"

namespace ulpscope::cli {
namespace {

struct Call {
  std::int64_t step;
  Phase phase;
  std::uint64_t position;
};

struct Module {
  std::string type;
  std::vector<Call> calls;
  std::map<std::string, std::string> parameters;  ///< by name: dtype and shape
  std::set<std::string> gradients;
};

/// By root, then by path.
using Modules = std::map<std::string, std::map<std::string, Module>>;

void note_slot(const Slot& slot, std::map<std::string, Module>& modules) {
  constexpr std::string_view kGradient = ".grad";
  const bool is_gradient =
      (slot.flags & slot_flag::gradient) != 0 && slot.name.ends_with(kGradient);
  if (is_gradient) {
    const std::string name(slot.name.substr(0, slot.name.size() - kGradient.size()));
    modules[std::string(core::path_around(name))].gradients.insert(name);
  } else if ((slot.flags & slot_flag::parameter) != 0 && !slot.name.empty() &&
             slot.geometry != nullptr) {
    modules[std::string(core::path_around(slot.name))].parameters.emplace(
        slot.name, geometry_text(*slot.geometry));
  }
}

Modules modules_of(const Run& run, std::uint32_t rank) {
  Modules modules;
  for (const Lane& lane : run.lanes(rank)) {
    for (std::size_t i = 0; i < run.block_count(rank, lane.id); ++i) {
      const Block block = run.block(rank, lane.id, i);
      for (const Event& event : block.events) {
        if (event.root.empty()) continue;
        auto& of_root = modules[std::string(event.root)];
        for (const Slot& slot : event.slots) note_slot(slot, of_root);
        if (!event.has_module) continue;
        Module& module = of_root[std::string(event.module)];
        if (!event.module_type.empty()) module.type = event.module_type;
        if (event.kind == EventKind::module) {
          module.calls.push_back({block.step, event.phase, event.position});
        }
      }
    }
  }
  for (auto& [root, of_root] : modules) {
    std::vector<std::string> paths;
    for (const auto& [path, module] : of_root) paths.push_back(path);
    for (std::string path : paths) {
      while (!path.empty()) of_root.try_emplace(path = std::string(core::path_around(path)));
    }
  }
  return modules;
}

std::string last_part(const std::string& path) {
  return path.empty() ? "(root)" : path.substr(path.rfind('.') + 1);
}

Cell count_cell(std::size_t count) {
  return {count == 0 ? std::string() : core::grouped(count), Ink::plain, true};
}

/// Numbers in names by their value: "layers.10" after "layers.9".
bool comes_before(const std::string& a, const std::string& b) {
  return ::strverscmp(a.c_str(), b.c_str()) < 0;
}

void print(const Table& table, Page& page) {
  for (const std::string& line : table.lines(page.terminal())) page.line(line);
}

std::string step_text(std::int64_t step) {
  return step == kSetup ? "setup" : fmt::format("{}", step);
}

void render_found(const Run& run, std::uint32_t rank, const std::string& root,
                  const std::string& path, const Module& module, Page& page) {
  page.labelled("module", escaped(path.empty() ? "(root)" : path), Ink::bold);
  page.labelled(
      "", fmt::format("{}of {}, rank {}", module.type.empty() ? "" : escaped(module.type) + " ",
                      escaped(root), rank));
  if (!module.parameters.empty()) {
    Table table;
    for (const auto& [name, geometry] : module.parameters) {
      const bool has_gradient = module.gradients.contains(name);
      table.row({{escaped(name)}, {geometry}, {has_gradient ? "with gradient" : "", Ink::dim}});
    }
    page.line();
    print(table, page);
  }
  if (!module.calls.empty()) {
    Table table;
    table.row({{"step", Ink::dim, true}, {"phase", Ink::dim}, {"event", Ink::dim, true}});
    for (const Call& call : module.calls) {
      table.row({{step_text(call.step), Ink::plain, true},
                 {std::string(name(call.phase))},
                 {core::grouped(call.position), Ink::plain, true}});
    }
    page.line();
    print(table, page);
  }
  const std::string in_path = path.empty() ? "(root)" : path;
  Table values;
  for (const StoredValue& value : find_values(run, "**")) {
    const std::string whole = "/" + value.path;
    const bool belongs = whole.find("/" + in_path + "/") != std::string::npos ||
                         whole.find("/" + root + "::" + in_path + "/") != std::string::npos;
    if (belongs && value.rank == rank) values.row(value_row(value));
  }
  if (values.empty()) return;
  page.line();
  print(values, page);
}

}  // namespace

void render_modules(const Run& run, Page& page) {
  bool first = true;
  for (const std::uint32_t rank : run.ranks()) {
    for (const auto& [root, of_root] : modules_of(run, rank)) {
      if (!first) page.line();
      first = false;
      page.line(page.paint(Ink::bold, fmt::format("rank {}, {}", rank, escaped(root))));
      Table table;
      table.row({{"module", Ink::dim},
                 {"type", Ink::dim},
                 {"calls", Ink::dim, true},
                 {"parameters", Ink::dim, true},
                 {"gradients", Ink::dim, true}});
      std::vector<std::string> paths;
      for (const auto& [path, module] : of_root) paths.push_back(path);
      std::sort(paths.begin(), paths.end(), comes_before);
      for (const std::string& path : paths) {
        const Module& module = of_root.at(path);
        const auto depth = static_cast<std::size_t>(
            path.empty() ? 0 : 1 + std::count(path.begin(), path.end(), '.'));
        table.row({{std::string(2 * depth, ' ') + escaped(last_part(path))},
                   {escaped(module.type)},
                   count_cell(module.calls.size()),
                   count_cell(module.parameters.size()),
                   count_cell(module.gradients.size())});
      }
      print(table, page);
    }
  }
  if (first) page.line("no event of this dump belongs to a module");
}

bool render_module(const Run& run, std::string_view wanted, Page& page) {
  bool found = false;
  for (const std::uint32_t rank : run.ranks()) {
    for (const auto& [root, of_root] : modules_of(run, rank)) {
      for (const auto& [path, module] : of_root) {
        const std::string name = path.empty() ? "(root)" : path;
        if (wanted != name && wanted != root + "::" + name) continue;
        if (found) page.line();
        found = true;
        render_found(run, rank, root, path, module, page);
      }
    }
  }
  return found;
}

}  // namespace ulpscope::cli
