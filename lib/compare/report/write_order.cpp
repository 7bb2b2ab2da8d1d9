#include "compare/report/write_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "compare/model/place.hpp"

namespace ulpscope::comparison {
namespace {

constexpr std::size_t kWritesKept = 4096;  ///< of a tensor

using Writers = std::map<std::uint32_t, std::uint32_t>;  ///< lanes, by the number of the write
using Tensor = std::pair<std::string, std::string>;      ///< root and name

[[nodiscard]] bool is_of_program(const Lane& lane) noexcept {
  return lane.role == LaneRole::main || lane.role == LaneRole::thread ||
         lane.role == LaneRole::trainer;
}

[[nodiscard]] std::map<std::uint32_t, Lane> lanes_of_program(const Run& run, std::uint32_t rank) {
  std::map<std::uint32_t, Lane> lanes;
  for (Lane& lane : run.lanes(rank))
    if (is_of_program(lane)) lanes.emplace(lane.id, std::move(lane));
  return lanes;
}

void add_writes(const Event& event, std::uint32_t lane, std::map<Tensor, Writers>& tensors) {
  constexpr std::uint32_t kNamed = slot_flag::parameter | slot_flag::buffer;
  if (event.kind != EventKind::op) return;
  for (const Slot& slot : event.slots) {
    if (slot.role != Role::mutated || !(slot.flags & kNamed) || slot.name.empty()) continue;
    Writers& writers = tensors[{std::string(event.root), std::string(slot.name)}];
    if (writers.size() < kWritesKept) writers.try_emplace(slot.writes, lane);
  }
}

[[nodiscard]] std::map<Tensor, Writers> writers_of(const Run& run, std::uint32_t rank,
                                                   const std::map<std::uint32_t, Lane>& lanes) {
  std::map<Tensor, Writers> tensors;
  for (const auto& [id, lane] : lanes)
    for (std::size_t index = 0; index < run.block_count(rank, id); ++index) {
      const Block block = run.block(rank, id, index);
      for (const Event& event : block.events) add_writes(event, id, tensors);
    }
  return tensors;
}

[[nodiscard]] bool by_several(const Writers& writers) {
  return std::any_of(writers.begin(), writers.end(),
                     [&](const auto& write) { return write.second != writers.begin()->second; });
}

}  // namespace

std::string other_write_order(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks) {
  Both<std::map<std::uint32_t, Lane>> lanes;
  for (const Side side : kSides) {
    on(lanes, side) = lanes_of_program(*on(runs, side), on(ranks, side));
    if (on(lanes, side).size() < 2) return {};
  }
  Both<std::map<Tensor, Writers>> tensors;
  for (const Side side : kSides)
    on(tensors, side) = writers_of(*on(runs, side), on(ranks, side), on(lanes, side));
  for (const auto& [tensor, writers] : tensors.reference) {
    const auto other = tensors.candidate.find(tensor);
    if (other == tensors.candidate.end() || !by_several(writers) || !by_several(other->second))
      continue;
    const Writers& others = other->second;
    auto b = others.begin();
    std::size_t number = 1;
    for (auto a = writers.begin(); a != writers.end() && b != others.end(); ++a, ++b, ++number) {
      const std::string in_reference = lane_name(lanes.reference.at(a->second));
      const std::string in_candidate = lane_name(lanes.candidate.at(b->second));
      if (in_reference != in_candidate)
        return fmt::format("{}: its write {} is by {} in the reference and by {} in the candidate",
                           tensor.second, number, in_reference, in_candidate);
    }
  }
  return {};
}

}  // namespace ulpscope::comparison
