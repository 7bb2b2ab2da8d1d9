#include "cli/check/prefix_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "cli/check/step_follower.hpp"
#include "cli/inputs/open_run.hpp"
#include "dump/recovery.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::cli {
namespace {

struct Place {
  std::uint64_t parent = kNone;
  EventKind kind = EventKind::op;
};

/// What the events of a name and position of any lane run inside, innermost first, as far as it is
/// recorded, and whether all of it is.
struct Surroundings {
  std::vector<EventKind> kinds;
  bool whole = true;
};
std::vector<Surroundings> around(const Run& run, std::uint64_t position, std::string_view op,
                                 std::int64_t first_step) {
  std::vector<Surroundings> found;
  for (const std::uint32_t rank : run.ranks())
    for (const Lane& lane : run.lanes(rank)) {
      std::map<std::uint64_t, Place> places;
      bool is_here = false;
      for (std::size_t k = run.block_count(rank, lane.id); k-- > 0;) {
        const Block block = run.block(rank, lane.id, k);
        if (block.step < first_step) break;
        for (const Event& event : block.events) {
          places[event.position] = {event.parent, event.kind};
          is_here = is_here || (event.position == position && event.op == op);
        }
      }
      if (!is_here) continue;
      Surroundings& surroundings = found.emplace_back();
      std::uint64_t parent = places[position].parent;
      for (; parent != kNone && places.contains(parent); parent = places[parent].parent)
        surroundings.kinds.push_back(places[parent].kind);
      surroundings.whole = parent == kNone;
    }
  return found;
}

/// What is still to come around an event, which is not recorded yet, is no op: another run shows
/// it.
bool only_scopes_are_missing(const Surroundings& part, const std::vector<Surroundings>& others) {
  return part.whole || std::all_of(others.begin(), others.end(), [&](const Surroundings& other) {
           const auto known = std::min(part.kinds.size(), other.kinds.size());
           const auto missing = other.kinds.begin() + static_cast<std::ptrdiff_t>(known);
           return other.whole &&
                  std::find(missing, other.kinds.end(), EventKind::op) == other.kinds.end();
         });
}

/// An event is recorded when it ends. What runs inside an op that has not may differ although that
/// op's results will be equal.
bool ops_around_have_ended(const Finding& finding, const Run& reference, const Run& candidate) {
  if (!finding.event.reference || !finding.event.candidate) return false;
  const std::int64_t step = finding.step.value_or(kSetup);
  const auto there = around(reference, *finding.event.reference, finding.op, step);
  const auto here = around(candidate, *finding.event.candidate, finding.op, step);
  const auto have_ended = [](const auto& parts, const auto& others) {
    return !parts.empty() && std::all_of(parts.begin(), parts.end(), [&](const auto& part) {
      return only_scopes_are_missing(part, others);
    });
  };
  return have_ended(here, there) && have_ended(there, here);
}

/// The newest step of the rank that a finding is of. While it is recorded, a rank may have another
/// number.
std::int64_t newest_around(const Finding& finding, const Run& reference, const Run& candidate) {
  const auto newest = [&finding](const Run& run) {
    const std::vector<std::uint32_t> ranks = run.ranks();
    return std::find(ranks.begin(), ranks.end(), finding.rank) == ranks.end()
               ? newest_step(run)
               : newest_step(run, finding.rank);
  };
  const std::int64_t here = newest(candidate);
  return reference.info().complete ? here : std::min(here, newest(reference));
}

/// Diverges even if every result turns out to be equal.
bool holds_whatever_follows(const Finding& finding) {
  switch (finding.kind) {
    case FindingKind::origin:
    case FindingKind::rng:
    case FindingKind::data:
    case FindingKind::parameter:
    case FindingKind::write:
      return true;
    case FindingKind::arguments:
      return finding.in_outcome;
    case FindingKind::sequence:
    case FindingKind::metadata:
      return false;
  }
  return false;
}

}  // namespace

bool is_final(const Finding& finding, const Run& reference, const Run& candidate,
              std::int64_t newest_step) {
  if (finding.step.value_or(kSetup) < newest_step) return true;
  return holds_whatever_follows(finding) && ops_around_have_ended(finding, reference, candidate);
}

std::int64_t newest_step(const Run& run, std::uint32_t rank) {
  std::int64_t of_rank = kSetup;
  std::int64_t of_trainers = std::numeric_limits<std::int64_t>::max();
  for (const Lane& lane : run.lanes(rank)) {
    const std::size_t blocks = run.block_count(rank, lane.id);
    if (blocks == 0) continue;
    const std::int64_t newest = run.block(rank, lane.id, blocks - 1).step;
    of_rank = std::max(of_rank, newest);
    const bool goes_on = run.block(rank, lane.id, 0).step < newest;  // not a new thread each step
    if (lane.role == LaneRole::trainer && goes_on) of_trainers = std::min(of_trainers, newest);
  }
  return std::min(of_rank, of_trainers);
}

std::int64_t newest_step(const Run& run) {
  std::int64_t newest = std::numeric_limits<std::int64_t>::max();
  for (const std::uint32_t rank : run.ranks()) {
    const std::int64_t of_rank = newest_step(run, rank);
    const bool has_part = of_rank != kSetup || !run.identity(rank).declared.empty();
    if (has_part) newest = std::min(newest, of_rank);
  }
  return newest == std::numeric_limits<std::int64_t>::max() ? kSetup : newest;
}

/// A comparison of some steps alone is quick, however long the run is.
bool PrefixJudge::equal_since_last(const std::string& snapshot) const {
  if (equal_before_ == 0) return false;  // setup may differ, and no selection of steps has it
  const auto end =
      static_cast<std::int64_t>(std::min(published_steps(snapshot), published_steps(reference_)));
  if (end <= equal_before_) return true;
  const std::string steps = fmt::format("@steps={}-{}", equal_before_, end - 1);
  return compare_dumps(reference_ + steps, snapshot + steps).verdict != Verdict::diverged;
}

/// Which ops of two programs are partners may look otherwise once more of them has come.
bool PrefixJudge::is_confirmed(const Finding& finding) {
  const bool needs_it =
      finding.kind == FindingKind::arguments || finding.kind == FindingKind::sequence;
  const Found found{finding.kind, finding.step, finding.event.reference, finding.event.candidate};
  return std::exchange(last_found_, found) == found || !needs_it;
}

PrefixJudge::Judgement PrefixJudge::judge(const std::filesystem::path& snapshot) {
  static_cast<void>(dump::recover(snapshot));
  Judgement judgement;
  const auto reference = open_run(reference_);
  const auto candidate = open_run(snapshot.string());
  if (!equal_since_last(snapshot.string())) {
    Report report = compare(*reference, *candidate);
    if (const Finding* const found = report.first(); report.verdict == Verdict::diverged) {
      if (found != nullptr && is_confirmed(*found) &&
          is_final(*found, *reference, *candidate, newest_around(*found, *reference, *candidate)))
        judgement.diverged = std::move(report);
      else
        judgement.answer = Answer::look_again;
      return judgement;
    }
  }
  std::int64_t newest = newest_step(*candidate);
  if (!reference->info().complete) newest = std::min(newest, newest_step(*reference));
  equal_before_ = std::max(equal_before_, newest);
  return judgement;
}

}  // namespace ulpscope::cli
