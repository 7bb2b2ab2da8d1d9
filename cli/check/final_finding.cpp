#include "cli/check/final_finding.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "cli/check/run_progress.hpp"

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

/// What is paired by what it has done: threads that train, and processes that declare no rank and
/// were created by another one.
struct Loose {
  std::size_t trainers = 0;
  std::size_t processes = 0;
  friend bool operator==(const Loose&, const Loose&) = default;
};

Loose loose_parts(const Run& run) {
  Loose found;
  for (const std::uint32_t rank : run.ranks()) {
    const RankIdentity identity = run.identity(rank);
    if (identity.declared.empty() && identity.creator) ++found.processes;
    for (const Lane& lane : run.lanes(rank))
      if (lane.role == LaneRole::trainer && run.block_count(rank, lane.id) > 0) ++found.trainers;
  }
  return found;
}

bool is_of_loose_process(const Finding& finding, const Run& run) {
  const std::vector<std::uint32_t> ranks = run.ranks();
  if (std::find(ranks.begin(), ranks.end(), finding.rank) == ranks.end()) return true;
  const RankIdentity identity = run.identity(finding.rank);
  return identity.declared.empty() && identity.creator;
}

/// The main thread is one in each run, and before its first step it needs no others.
bool is_in_main_setup(const Finding& finding) {
  return !finding.step && (finding.lane == "main" || finding.lane == "autograd");
}

}  // namespace

bool is_final(const Finding& finding, const Run& reference, const Run& candidate,
              std::int64_t newest_step) {
  if (finding.step.value_or(kSetup) < newest_step) return true;
  return holds_whatever_follows(finding) && ops_around_have_ended(finding, reference, candidate);
}

bool partners_are_there(const Report& report, const Run& reference, const Run& candidate,
                        std::int64_t first_step) {
  const Finding& finding = *report.first();
  if (reference.info().complete && candidate.info().complete) return true;
  const Loose there = loose_parts(reference);
  const Loose here = loose_parts(candidate);
  const bool has_trainers = std::max(there.trainers, here.trainers) > 0;
  const bool is_loose = (has_trainers && !is_in_main_setup(finding)) ||
                        is_of_loose_process(finding, reference) ||
                        is_of_loose_process(finding, candidate);
  if (!is_loose) return true;
  if (there != here) return false;
  if (reference.info().complete) return true;
  const auto agreed_before = [&](const Finding& any) {
    return any.step.value_or(kSetup) > std::max<std::int64_t>(first_step, 0);
  };
  const std::int64_t step = finding.step.value_or(kSetup);
  return std::all_of(report.findings.begin(), report.findings.end(), agreed_before) ||
         std::min(newest_step(reference), newest_step(candidate)) >= step + kStepsToBegin;
}

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

}  // namespace ulpscope::cli
