#include <fmt/format.h>

#include "cli/render/check_text.hpp"
#include "cli/render/json_documents.hpp"
#include "cli/render/json_values.hpp"

namespace ulpscope::cli {
namespace {

constexpr int kCheckSchemaVersion = 1;

Json checked_run_json(const CheckedRun& run) {
  return {{"run", run.number},
          {"variant", run.variant},
          {"recorded", run.recorded},
          {"bytes", run.with_bytes},
          {"exit_code", run.exit_code},
          {"seconds", run.took.count()},
          {"result", run.group ? Json(*run.group) : Json(nullptr)}};
}

Json distribution_json(const CheckReport& report, const std::vector<std::size_t>& runs) {
  if (!report.rate) return nullptr;
  return {{"kind", name(distribution(runs))}, {"runs", runs}, {"new_result", new_result(runs)}};
}

Json split_json(const CheckReport& report, const RunSplit& split) {
  return {{"step", split.step ? Json(*split.step) : Json(nullptr)},
          {"results", split.groups},
          {"distribution", distribution_json(report, runs_by_result(report, split))},
          {"first", finding_json(split.at)}};
}

Json rate_json(const CheckReport& report) {
  if (!report.rate) return nullptr;
  return {{"differing", report.rate->seen},
          {"runs", report.rate->runs},
          {"interval_95", {report.rate->low, report.rate->high}}};
}

Json origins_json(const CheckReport& report) {
  if (!report.origins) return nullptr;
  Json further = Json::array();
  for (const Finding& finding : report.origins->further) further.push_back(finding_json(finding));
  return {{"runs", report.origins->runs},
          {"further", further},
          {"report", report_json(report.origins->comparison)}};
}

}  // namespace

void render_check_json(const CheckReport& report, std::ostream& out) {
  Json runs = Json::array();
  for (const CheckedRun& run : report.runs) runs.push_back(checked_run_json(run));
  Json results = Json::array();
  for (const RunGroup& group : report.groups) results.push_back({{"runs", group.runs}});
  Json splits = Json::array();
  for (const RunSplit& split : report.splits) splits.push_back(split_json(report, split));
  Json kept = Json::array();
  for (const auto& path : report.kept) kept.push_back(path.string());
  const Json document = {
      {"format", "ulpscope-check"},
      {"schema_version", kCheckSchemaVersion},
      {"verdict", name(report.verdict)},
      {"runs", runs},
      {"results", results},
      {"splits", splits},
      {"rate", rate_json(report)},
      {"distribution", distribution_json(report, runs_by_result(report))},
      {"observer", name(report.observation)},
      {"notes", report.notes},
      {"interrupted", report.interrupted},
      {"kept", kept},
      {"bytes", report.with_bytes},
      {"replay", report.replay ? replay_json(*report.replay) : Json(nullptr)},
      {"origins", origins_json(report)},
      {"bisection", report.bisection ? bisection_json(*report.bisection) : Json(nullptr)},
      {"report", report.comparison ? report_json(*report.comparison) : Json(nullptr)}};
  out << text_of(document);
}

}  // namespace ulpscope::cli
