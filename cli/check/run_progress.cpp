#include "cli/check/run_progress.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "cli/inputs/open_run.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::max();

struct Extent {
  std::uint32_t lane = 0;
  std::int64_t newest = kSetup;
  bool trains = false;  ///< it may have steps of its own
};

std::vector<Extent> extents(const Run& run, std::uint32_t rank) {
  std::vector<Extent> all;
  for (const Lane& lane : run.lanes(rank)) {
    const std::size_t blocks = run.block_count(rank, lane.id);
    if (blocks == 0) continue;
    all.push_back({lane.id, run.block(rank, lane.id, blocks - 1).step,
                   lane.role == LaneRole::main || lane.role == LaneRole::trainer});
  }
  return all;
}

std::int64_t fastest_of(const std::vector<Extent>& lanes) {
  std::int64_t newest = kSetup;
  for (const Extent& lane : lanes) newest = std::max(newest, lane.newest);
  return newest;
}

/// Calls `use` with each rank and its newest step, those aside that take part in no step.
template <class Use>
void for_each_in_steps(const Run& run, const Use& use) {
  for (const std::uint32_t rank : run.ranks()) {
    const std::int64_t of_rank = newest_step(run, rank);
    if (of_rank != kSetup || !run.identity(rank).declared.empty()) use(rank, of_rank);
  }
}

/// The newest step is over if another one has begun. That is known of a program in which one
/// thread alone has steps: what others have made of theirs may not be published.
bool newest_is_over(const Run& run, std::int64_t newest) {
  std::size_t in_steps = 0;
  for (const std::uint32_t rank : run.ranks())
    for (const Extent& lane : extents(run, rank)) in_steps += lane.newest > kSetup ? 1 : 0;
  return in_steps == 1 && run.info().steps_in_run > static_cast<std::uint64_t>(newest + 1);
}

}  // namespace

std::int64_t newest_step(const Run& run, std::uint32_t rank) {
  const std::vector<Extent> lanes = extents(run, rank);
  const std::int64_t fastest = fastest_of(lanes);
  std::int64_t slowest = fastest;
  for (const Extent& lane : lanes) {
    if (!lane.trains || lane.newest == kSetup) continue;
    // Not a new thread each step.
    const bool goes_on =
        fastest - lane.newest < kStepsToBegin || run.block(rank, lane.lane, 0).step < lane.newest;
    if (goes_on) slowest = std::min(slowest, lane.newest);
  }
  return slowest;
}

std::int64_t newest_step(const Run& run) {
  std::int64_t slowest = kNoStep;
  for_each_in_steps(
      run, [&slowest](std::uint32_t, std::int64_t newest) { slowest = std::min(slowest, newest); });
  return slowest == kNoStep ? kSetup : slowest;
}

std::int64_t first_step(const Run& run) {
  std::int64_t first = kSetup;
  for (const std::uint32_t rank : run.ranks()) {
    std::int64_t of_rank = kNoStep;
    for (const Lane& lane : run.lanes(rank))
      if (run.block_count(rank, lane.id) > 0)
        of_rank = std::min(of_rank, run.block(rank, lane.id, 0).step);
    if (of_rank != kNoStep) first = std::max(first, of_rank);
  }
  return first;
}

std::uint64_t steps_over(const Run& run) {
  std::int64_t over = kNoStep;
  if (run.info().complete) {
    for_each_in_steps(run, [&](std::uint32_t rank, std::int64_t) {
      over = std::min(over, fastest_of(extents(run, rank)) + 1);
    });
  } else {
    over = newest_step(run);
    if (over != kSetup && newest_is_over(run, over)) ++over;
  }
  return over == kNoStep || over < 0 ? 0 : static_cast<std::uint64_t>(over);
}

std::uint64_t published_steps(const std::string& dump) {
  try {
    return steps_over(*open_run(dump));
  } catch (const Error&) {
    return 0;
  }
}

bool has_beginning(const std::string& dump) { return first_step(*open_run(dump)) <= 0; }

std::uint64_t all_steps(const std::string& dump) {
  try {
    const auto run = open_run(dump);
    std::int64_t newest = kSetup;
    for (const std::uint32_t rank : run->ranks())
      newest = std::max(newest, fastest_of(extents(*run, rank)));
    return static_cast<std::uint64_t>(newest + 1);
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace ulpscope::cli
