#include "cli/render/recorded_modules.hpp"

#include <cstring>
#include <utility>

#include "core/module_path.hpp"

namespace ulpscope::cli {
namespace {

/// Numbers in names by their value: "layers.10" after "layers.9".
struct ComesBefore {
  bool operator()(const std::string& a, const std::string& b) const {
    const int order = ::strverscmp(a.c_str(), b.c_str());
    return order == 0 ? a < b : order < 0;  // names may go on behind a zero byte
  }
};
using Modules = std::map<std::string, RecordedModule, ComesBefore>;

void note_slot(const Slot& slot, Modules& modules) {
  constexpr std::string_view kGradient = ".grad";
  const bool is_gradient =
      (slot.flags & slot_flag::gradient) != 0 && slot.name.ends_with(kGradient);
  if (is_gradient) {
    const std::string name(slot.name.substr(0, slot.name.size() - kGradient.size()));
    modules[std::string(core::path_around(name))].gradients.insert(name);
  } else if ((slot.flags & slot_flag::parameter) != 0 && !slot.name.empty() &&
             slot.geometry != nullptr) {
    modules[std::string(core::path_around(slot.name))].parameters.emplace(slot.name,
                                                                          *slot.geometry);
  }
}

void note_event(const Event& event, std::int64_t step, Modules& modules) {
  for (const Slot& slot : event.slots) note_slot(slot, modules);
  if (!event.has_module) return;
  RecordedModule& module = modules[std::string(event.module)];
  if (!event.module_type.empty()) module.type = event.module_type;
  if (event.kind == EventKind::module) module.calls.push_back({step, event.phase, event.position});
}

/// The modules that are known only by what they hold.
void add_those_around(Modules& modules) {
  std::vector<std::string> paths;
  for (const auto& [path, module] : modules) paths.push_back(path);
  for (std::string path : paths) {
    while (!path.empty()) modules.try_emplace(path = std::string(core::path_around(path)));
  }
}

/// By root.
std::map<std::string, Modules> modules_of(const Run& run, std::uint32_t rank) {
  std::map<std::string, Modules> roots;
  for (const Lane& lane : run.lanes(rank)) {
    for (std::size_t i = 0; i < run.block_count(rank, lane.id); ++i) {
      const Block block = run.block(rank, lane.id, i);
      for (const Event& event : block.events) {
        if (event.root.empty()) continue;
        note_event(event, block.step, roots[std::string(event.root)]);
      }
    }
  }
  return roots;
}

}  // namespace

std::vector<RecordedModule> recorded_modules(const Run& run) {
  std::vector<RecordedModule> all;
  for (const std::uint32_t rank : run.ranks()) {
    for (auto& [root, modules] : modules_of(run, rank)) {
      add_those_around(modules);
      for (auto& [path, module] : modules) {
        module.rank = rank;
        module.root = root;
        module.path = path;
        all.push_back(std::move(module));
      }
    }
  }
  return all;
}

std::vector<RecordedModule> find_modules(const Run& run, std::string_view name) {
  std::vector<RecordedModule> found;
  for (RecordedModule& module : recorded_modules(run)) {
    if (name == module.name() || name == module.root + "::" + module.name())
      found.push_back(std::move(module));
  }
  return found;
}

std::vector<StoredValue> values_of(const Run& run, const RecordedModule& module) {
  std::vector<StoredValue> values;
  for (StoredValue& value : find_values(run, "**")) {
    const std::string whole = "/" + value.path;
    const bool belongs =
        whole.find("/" + module.name() + "/") != std::string::npos ||
        whole.find("/" + module.root + "::" + module.name() + "/") != std::string::npos;
    if (belongs && value.rank == module.rank) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace ulpscope::cli
