#include "compare/model/kernels.hpp"

#include <algorithm>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool has_kernels(const Run& run, std::uint32_t rank) {
  const std::vector<EnvironmentEntry> settings = run.environment(rank);
  return std::any_of(settings.begin(), settings.end(), [](const EnvironmentEntry& setting) {
    return setting.key == "capture.kernels";
  });
}

}  // namespace

std::vector<std::string> kernels_of(const Run& run, std::uint32_t rank, EventPlace place) {
  std::vector<std::string> names;
  if (!has_kernels(run, rank)) return names;
  std::optional<std::size_t> index = find_block(run, rank, place);
  if (!index) return names;
  // What runs inside an event has a parent at its position or after it, and follows without a gap.
  for (; *index < run.block_count(rank, place.lane); ++*index) {
    const Block block = run.block(rank, place.lane, *index);
    for (const Event& event : block.events) {
      if (event.position <= place.position) continue;
      if (event.parent == kNone || event.parent < place.position) return names;
      if (event.kind == EventKind::kernel) names.emplace_back(event.op);
    }
  }
  return names;
}

}  // namespace ulpscope::comparison
