#include "compare/model/injected.hpp"

namespace ulpscope::comparison {

std::string injected_at(const Run& run, std::uint32_t rank) {
  for (const EnvironmentEntry& entry : run.environment(rank))
    if (entry.key == "capture.inject") return entry.value;
  return {};
}

std::string injected_at(const Run& run) {
  for (const std::uint32_t rank : run.ranks())
    if (std::string at = injected_at(run, rank); !at.empty()) return at;
  return {};
}

}  // namespace ulpscope::comparison
