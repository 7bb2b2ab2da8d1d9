#include "ulpscope/run_groups.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace ulpscope {
namespace {

/// Where two runs diverge first, in the order of a run; later than all steps if they do not.
std::tuple<std::int64_t, std::uint64_t> moment(const Report& report) {
  const Finding* const first = report.first();
  if (first == nullptr) return {kNoEnd, kNone};
  return {first->step.value_or(kSetup), first->event.reference.value_or(kNone)};
}

}  // namespace

std::size_t RunGroups::add(std::size_t run) {
  std::vector<Report> reports;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    reports.push_back(compare_(groups_[group].runs.front(), run));
    conclusive_ = conclusive_ && reports.back().verdict != Verdict::inconclusive;
    const Verdict verdict = reports.back().verdict;
    if (verdict != Verdict::identical && verdict != Verdict::within) continue;
    groups_[group].runs.push_back(run);
    return group;
  }
  groups_.push_back({{run}});
  reports_.push_back(std::move(reports));
  return groups_.size() - 1;
}

const Report& RunGroups::between(std::size_t first, std::size_t second) const {
  return reports_.at(second).at(first);
}

std::size_t RunGroups::largest() const {
  const auto found = std::max_element(
      groups_.begin(), groups_.end(),
      [](const RunGroup& a, const RunGroup& b) { return a.runs.size() < b.runs.size(); });
  return static_cast<std::size_t>(found - groups_.begin());
}

std::vector<RunSplit> RunGroups::splits() const {
  std::vector<std::size_t> all(groups_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<RunSplit> found;
  split(all, found);
  std::stable_sort(found.begin(), found.end(), [](const RunSplit& a, const RunSplit& b) {
    return a.step.value_or(kSetup) < b.step.value_or(kSetup);
  });
  return found;
}

/// All of `among` agree up to the earliest moment at which two of them diverge. Those that do not
/// diverge there are split further. That two runs both agree with a third one does not mean that
/// they agree with each other, so the two that diverge are never in one part.
void RunGroups::split(const std::vector<std::size_t>& among, std::vector<RunSplit>& found) const {
  const Report* earliest = nullptr;
  std::vector<std::vector<std::size_t>> parts;
  for (std::size_t i = 0; i < among.size(); ++i)
    for (std::size_t j = i + 1; j < among.size(); ++j) {
      const Report& report = between(among[i], among[j]);
      if (report.first() == nullptr) continue;
      if (earliest != nullptr && moment(report) >= moment(*earliest)) continue;
      earliest = &report;
      parts = {{among[i]}, {among[j]}};
    }
  if (earliest == nullptr) return;

  for (const std::size_t group : among) {
    if (group == parts[0].front() || group == parts[1].front()) continue;
    const auto same = std::find_if(parts.begin(), parts.end(), [&](const auto& part) {
      const auto [first, second] = std::minmax(part.front(), group);
      return moment(between(first, second)) > moment(*earliest);
    });
    if (same == parts.end())
      parts.push_back({group});
    else
      same->push_back(group);
  }
  for (auto& part : parts) std::sort(part.begin(), part.end());
  std::sort(parts.begin(), parts.end());
  found.push_back({earliest->first()->step, *earliest->first(), parts});
  for (const auto& part : parts)
    if (part.size() > 1) split(part, found);
}

}  // namespace ulpscope
