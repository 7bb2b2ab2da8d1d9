#include "compare/inside_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/model/layers_view.hpp"
#include "compare/report/summary.hpp"

namespace ulpscope::comparison {
namespace {

[[nodiscard]] bool any_rank_holds_ops(const Run& run) {
  const std::vector<std::uint32_t> ranks = run.ranks();
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](std::uint32_t rank) { return holds_ops(run, rank); });
}

[[nodiscard]] bool is_in(std::string_view path, std::string_view module) {
  return module.empty() || path == module ||
         (path.starts_with(module) && path.substr(module.size()).starts_with('.'));
}

/// Whether an op ran inside of the module's call, as far as places show it.
[[nodiscard]] bool is_inside(const Finding& op, const Finding& call) {
  return op.diverges && (op.event.reference || op.event.candidate) && op.rank == call.rank &&
         op.lane == call.lane && op.step == call.step && op.phase == call.phase &&
         op.root == call.root && op.module && call.module && is_in(*op.module, *call.module);
}

[[nodiscard]] std::string event_of(const Finding& op) {
  const auto position = op.event.reference ? op.event.reference : op.event.candidate;
  return op.step ? fmt::format("{}/{}", *op.step, *position) : fmt::format("setup/{}", *position);
}

/// The causes of a finding, moved from the one that has the number `from`.
void move_causes(Report& from, std::size_t index, Report& report, std::size_t to) {
  std::vector<Cause> causes;
  for (Cause& cause : from.causes)
    if (cause.finding == index) {
      cause.finding = to;
      causes.push_back(std::move(cause));
    }
  if (causes.empty()) return;
  std::erase_if(report.causes, [&](const Cause& cause) { return cause.finding == to; });
  report.causes.insert(report.causes.end(), std::make_move_iterator(causes.begin()),
                       std::make_move_iterator(causes.end()));
}

}  // namespace

void look_inside_modules(Report& report, const Run& reference, const Run& candidate,
                         const CompareOptions& options) {
  if (report.verdict != Verdict::diverged || !any_rank_holds_ops(reference) ||
      !any_rank_holds_ops(candidate))
    return;
  CompareOptions by_ops = options;
  by_ops.by_layers = false;
  by_ops.before_values = nullptr;
  Report ops = compare(reference, candidate, by_ops);
  std::vector<bool> taken(ops.findings.size(), false);
  for (std::size_t k = 0; k < report.findings.size(); ++k) {
    Finding& call = report.findings[k];
    if (!call.diverges) continue;
    std::size_t index = 0;
    while (index < ops.findings.size() && (taken[index] || !is_inside(ops.findings[index], call)))
      ++index;
    if (index == ops.findings.size()) continue;
    taken[index] = true;
    Finding& op = ops.findings[index];
    call.meaning = what_happened(op);
    call.arguments = std::move(op.arguments);
    call.notes.push_back(
        fmt::format("inside of it {} is the first op that differs: event {}", op.op, event_of(op)));
    move_causes(ops, index, report, k);
  }
  std::stable_sort(report.causes.begin(), report.causes.end(),
                   [](const Cause& a, const Cause& b) { return a.finding < b.finding; });
  report.summary = summary(report, {});
}

}  // namespace ulpscope::comparison
