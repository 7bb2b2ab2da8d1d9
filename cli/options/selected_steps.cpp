#include "cli/options/selected_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "cli/options/dump_argument.hpp"

namespace ulpscope::cli {
namespace {

std::optional<std::int64_t> first_step(const Run& run) {
  std::optional<std::int64_t> first;
  for (const std::uint32_t rank : run.ranks()) {
    for (const Lane& lane : run.lanes(rank)) {
      for (std::size_t k = 0; k < run.block_count(rank, lane.id); ++k) {
        const std::int64_t step = run.block(rank, lane.id, k).step;
        if (step == kSetup) continue;
        first = std::min(first.value_or(step), step);
        break;
      }
    }
  }
  return first;
}

}  // namespace

bool selects_steps(const std::string& argument) {
  return parse_dump_argument(argument).selector.find("steps=") != std::string::npos;
}

std::int64_t offset_by_position(const Run& reference, const Run& candidate) {
  if (reference.info().steps != candidate.info().steps) return 0;
  const auto left = first_step(reference);
  const auto right = first_step(candidate);
  return left && right ? *right - *left : 0;
}

}  // namespace ulpscope::cli
