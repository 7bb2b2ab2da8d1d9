#include "compare/model/layers_view.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool is_shown(EventKind kind) noexcept {
  return kind != EventKind::op && kind != EventKind::node && kind != EventKind::scope &&
         kind != EventKind::kernel;
}

[[nodiscard]] bool holds_ops(const Block& block) {
  return std::any_of(block.events.begin(), block.events.end(),
                     [](const Event& event) { return event.kind == EventKind::op; });
}

}  // namespace

bool holds_ops(const Run& run, std::uint32_t rank) {
  for (const Lane& lane : run.lanes(rank))
    for (std::size_t k = 0; k < run.block_count(rank, lane.id); ++k)
      if (holds_ops(run.block(rank, lane.id, k))) return true;
  return false;
}

Block LayersView::of(Block block) {
  std::vector<Event> shown;
  for (Event& event : block.events) {
    while (!open_.empty() && open_.back().position != event.parent) open_.pop_back();
    const std::uint64_t around = open_.empty() ? event.parent : open_.back().shown;
    const bool kept = is_shown(event.kind);
    open_.push_back({event.position, kept ? event.position : around});
    if (!kept) continue;
    event.parent = around;
    shown.push_back(event);
  }
  block.events = std::move(shown);
  return block;
}

}  // namespace ulpscope::comparison
