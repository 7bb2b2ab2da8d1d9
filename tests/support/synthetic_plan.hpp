#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/synthetic_training.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::test {

/// Differences of structure scattered over two runs of one shape, and their totals.
struct SyntheticPlan {
  Both<SyntheticDifferences> differences;
  Both<std::uint64_t> extra;       ///< events that only one run has
  std::set<std::string> findings;  ///< names of ops, each of them once, that only one run has
};

/// Scatters `count` insertions, deletions, replacements and changes inside ops, no two of them at
/// neighboring places. Every second extra op is one that the program runs anyway.
[[nodiscard]] inline SyntheticPlan scattered(const SyntheticShape& shape, std::size_t count,
                                             unsigned seed = 1) {
  constexpr std::uint64_t kInside = 2;  // ops inside a composite
  const std::vector<bool> composite = SyntheticTraining::places(shape);
  SyntheticPlan plan;
  std::mt19937_64 random(seed);
  std::set<std::pair<std::int64_t, std::uint32_t>> taken;
  for (std::size_t number = 0; taken.size() < count;) {
    const auto step = static_cast<std::int64_t>(random() % static_cast<unsigned>(shape.steps));
    const auto place = static_cast<std::uint32_t>(random() % composite.size());
    const auto kind = number % 4;
    const bool inner = kind == 3;
    if (inner && !composite[place]) continue;
    const auto near = taken.lower_bound({step, place < 3 ? 0 : place - 3});
    if (near != taken.end() && near->first == step && near->second <= place + 3) continue;
    taken.insert({step, place});
    const std::string name =
        number % 8 < 4 ? "aten::gelu" : "aten::planted_" + std::to_string(number);
    const bool in_reference = kind == 1;
    auto& side = in_reference ? plan.differences.reference : plan.differences.candidate;
    if (inner) {
      side.edits[{step, place}] = {Edit::Kind::inner, {}};
      plan.extra.reference += kInside;
      plan.extra.candidate += kInside;
    } else if (kind == 2) {
      const std::string other = "aten::planted_" + std::to_string(number);
      side.edits[{step, place}] = {Edit::Kind::replaced, other};
      plan.findings.insert(other);
      const std::uint64_t events = composite[place] ? 1 + kInside : 1;
      plan.extra.reference += events;
      plan.extra.candidate += events;
    } else {
      side.edits[{step, place}] = {Edit::Kind::extra, name};
      if (name != "aten::gelu") plan.findings.insert(name);
      ++(in_reference ? plan.extra.reference : plan.extra.candidate);
    }
    ++number;
  }
  return plan;
}

}  // namespace ulpscope::test
