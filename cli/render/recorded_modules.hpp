#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ulpscope/run.hpp"
#include "ulpscope/stored_value.hpp"

namespace ulpscope::cli {

struct ModuleCall {
  std::int64_t step;
  Phase phase;
  std::uint64_t position;
};

/// What a run shows of one module.
struct RecordedModule {
  std::uint32_t rank = 0;
  std::string root;
  std::string path;  ///< "" is the root itself
  std::string type;  ///< empty if it is not known
  std::vector<ModuleCall> calls;
  std::map<std::string, Geometry> parameters;  ///< by name
  std::set<std::string> gradients;             ///< names of parameters that get one

  /// "layer1.conv1", "(root)".
  [[nodiscard]] std::string name() const { return path.empty() ? "(root)" : path; }
};

/// By rank, root and path: "layers.10" after "layers.9".
[[nodiscard]] std::vector<RecordedModule> recorded_modules(const Run& run);

/// Those of that name: "layer1.conv1", "(root)", and with its root "Critic::conv1".
[[nodiscard]] std::vector<RecordedModule> find_modules(const Run& run, std::string_view name);

/// Values of the layer tree that belong to a module.
[[nodiscard]] std::vector<StoredValue> values_of(const Run& run, const RecordedModule& module);

}  // namespace ulpscope::cli
