#pragma once

#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::test {

/// Every field of an event, as one line: two events are equal if their lines are.
[[nodiscard]] inline std::string describe(const Event& event) {
  std::ostringstream out;
  out << event.position << " in " << event.parent << " of " << event.forward << '@'
      << event.forward_lane << " object " << event.object << " kind "
      << static_cast<int>(event.kind) << ' ' << name(event.phase) << " depth " << event.depth
      << " threads " << event.threads << " flags " << event.flags << ' ' << event.op << '.'
      << event.overload << '(' << event.argument_names << ")->" << event.return_names << " root "
      << event.root << " module " << event.has_module << ':' << event.module << ':'
      << event.module_type << " rng " << event.rng.seed << ' ' << to_string(event.rng.before) << ' '
      << to_string(event.rng.after) << " arguments";
  for (const std::byte byte : event.argument_bytes) out << ' ' << static_cast<int>(byte);
  for (const Slot& slot : event.slots) {
    out << " | " << name(slot.role) << ' ' << slot.index << '.' << slot.element << " flags "
        << slot.flags << ' ' << to_string(slot.digest) << ' ' << to_string(slot.logical_digest)
        << " storage " << slot.storage << '#' << slot.writes << " by " << slot.writer << '@'
        << slot.writer_lane << " align " << static_cast<int>(slot.alignment) << ' ' << slot.name;
    if (slot.geometry == nullptr) continue;
    out << " dtype " << static_cast<int>(slot.geometry->dtype) << " [";
    for (const auto size : slot.geometry->sizes) out << size << ' ';
    out << ']';
  }
  return out.str();
}

/// All events of a lane with their steps, in order.
[[nodiscard]] inline std::vector<std::string> describe(const Run& run, std::uint32_t rank,
                                                       std::uint32_t lane) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < run.block_count(rank, lane); ++i) {
    const Block block = run.block(rank, lane, i);
    for (const Event& event : block.events) {
      lines.push_back("step " + std::to_string(block.step) + ": " + describe(event));
    }
  }
  return lines;
}

/// The steps of rank 0's first lane.
[[nodiscard]] inline std::set<std::int64_t> steps_of(const Run& run) {
  std::set<std::int64_t> steps;
  for (std::size_t i = 0; i < run.block_count(0, 0); ++i) steps.insert(run.block(0, 0, i).step);
  return steps;
}

}  // namespace ulpscope::test
