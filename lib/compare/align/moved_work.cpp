#include "compare/align/moved_work.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "compare/align/lane_ops.hpp"
#include "compare/model/draws.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {
namespace {

/// How often a lane did what: an op, which values it read or drew and what it made of them.
using Done = std::unordered_map<std::uint64_t, std::uint64_t>;

void add_done(const Run& run, std::uint32_t rank, std::uint32_t lane, Done& done) {
  for_each_op(run, rank, lane, [&](const Event& op, std::int64_t) {
    const std::uint64_t read = input_key(op);
    const std::uint64_t made = output_key(op);
    if ((read != 0 || drew(op)) && made != 0)
      ++done[KeyHash().add(structure_key(op, Place::ignored)).add(read).add(made).value()];
  });
}

[[nodiscard]] std::uint64_t times(const Done& done, std::uint64_t op) {
  const auto found = done.find(op);
  return found == done.end() ? 0 : found->second;
}

}  // namespace

bool has_moved_work(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                    const std::vector<Both<std::optional<Lane>>>& pairs,
                    const Both<std::vector<Lane>>& threads) {
  std::vector<Both<Done>> done;
  for (const auto& pair : pairs) {
    Both<Done> both;
    bool trains = false;
    for (const Side side : kSides) {
      if (!on(pair, side) || on(pair, side)->role != LaneRole::trainer) continue;
      add_done(*on(runs, side), on(ranks, side), on(pair, side)->id, on(both, side));
      trains = true;
    }
    if (trains) done.push_back(std::move(both));
  }
  if (done.empty()) return false;
  Both<Done>& others = done.emplace_back();
  for (const Side side : kSides)
    for (const Lane& lane : on(threads, side))
      add_done(*on(runs, side), on(ranks, side), lane.id, on(others, side));
  // By content: pairs of which the reference did it more often, and those of which the candidate
  // did.
  std::unordered_map<std::uint64_t, Both<bool>> lone;
  for (const Both<Done>& pair : done)
    for (const Side side : kSides)
      for (const auto& [op, count] : on(pair, side))
        if (count > times(on(pair, the_other(side)), op)) on(lone[op], side) = true;
  return std::any_of(lone.begin(), lone.end(),
                     [](const auto& op) { return op.second.reference && op.second.candidate; });
}

bool has_main_taken_others(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks) {
  Both<Done> main;
  Both<Done> all;
  for (const Side side : kSides) {
    for (const Lane& lane : on(runs, side)->lanes(on(ranks, side)))
      add_done(*on(runs, side), on(ranks, side), lane.id,
               on(lane.role == LaneRole::main ? main : all, side));
    for (const auto& [op, count] : on(main, side)) on(all, side)[op] += count;
  }
  return main.reference != main.candidate && all.reference == all.candidate;
}

}  // namespace ulpscope::comparison
