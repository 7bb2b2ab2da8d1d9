#include "cli/check/check_report.hpp"

#include <algorithm>
#include <iterator>

namespace ulpscope::cli {

std::vector<std::size_t> runs_by_result(const CheckReport& report) {
  std::vector<std::size_t> runs;
  std::transform(report.groups.begin(), report.groups.end(), std::back_inserter(runs),
                 [](const RunGroup& group) { return group.runs.size(); });
  return runs;
}

std::vector<std::size_t> runs_by_result(const CheckReport& report, const RunSplit& split) {
  std::vector<std::size_t> runs;
  for (const auto& result : split.groups) {
    std::size_t& sum = runs.emplace_back(0);
    for (const std::size_t group : result) sum += report.groups.at(group).runs.size();
  }
  return runs;
}

}  // namespace ulpscope::cli
