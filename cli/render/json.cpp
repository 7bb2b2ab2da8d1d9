#include "cli/render/json.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "cli/render/json_documents.hpp"
#include "cli/render/json_values.hpp"
#include "cli/render/tolerance_text.hpp"

namespace ulpscope::cli {
namespace {

template <class T, class F>
Json both(const Both<T>& values, F&& convert) {
  return {{"reference", convert(values.reference)}, {"candidate", convert(values.candidate)}};
}

Json count_json(const ClassCount& count) {
  return Json::array({integer(count.reference), integer(count.candidate)});
}

Json worst_json(const WorstElement& worst) {
  const auto bits = [&worst](std::uint64_t value) {
    return fmt::format("0x{:0{}x}", value, (worst.bit_width + 3) / 4);
  };
  return {{"index", sizes_json(worst.index)},
          {"reference", decimal(worst.reference)},
          {"candidate", decimal(worst.candidate)},
          {"bits", Json::array({bits(worst.bits[0]), bits(worst.bits[1])})}};
}

Json own_json(const std::array<OwnBudget, 2>& own) {
  const auto one = [](const OwnBudget& run) {
    return Json{{"inside", run.inside}, {"used", optional(run.used, real)}};
  };
  return {{"reference", one(own[0])}, {"candidate", one(own[1])}};
}

Json budget_json(const Budget& budget) {
  return {{"ulp", real(budget.ulp)},
          {"inside", budget.inside},
          {"why", budget.why},
          {"used", optional(budget.used, real)},
          {"own", optional(budget.own, own_json)}};
}

Json axes_json(const std::vector<AxisDifference>& axes) {
  Json array = Json::array();
  for (const AxisDifference& axis : axes)
    array.push_back({{"size", integer(axis.size)},
                     {"differing", integer(axis.differing)},
                     {"indices", axis.indices}});
  return array;
}

Json difference_json(const Difference& difference) {
  Json histogram = Json::array();
  for (const HistogramBin& bin : difference.histogram) {
    histogram.push_back(Json::array({integer(bin.lower_bound), integer(bin.count)}));
  }
  return {{"elements", integer(difference.elements)},
          {"differing", integer(difference.differing)},
          {"ulp",
           {{"max", integer(difference.ulp_max)},
            {"mean", real(difference.ulp_mean)},
            {"histogram", std::move(histogram)}}},
          {"absolute",
           {{"max", real(difference.absolute_max)}, {"rms", real(difference.absolute_rms)}}},
          {"scaled_max", optional(difference.scaled_max, real)},
          {"worst", optional(difference.worst, worst_json)},
          {"classes",
           {{"nan", count_json(difference.nan)},
            {"inf", count_json(difference.inf)},
            {"signed_zero", integer(difference.signed_zero)},
            {"subnormal", count_json(difference.subnormal)}}},
          {"axes", axes_json(difference.axes)},
          {"budget", optional(difference.budget, budget_json)}};
}

Json tolerance_json(const ToleranceResult& result) {
  const auto index = [](std::size_t rule) { return Json(rule); };
  return {{"inside", result.inside}, {"rule", optional(result.rule, index)}};
}

Json tensor_json(const TensorReport& tensor) {
  return {{"role", name(tensor.role)},
          {"index", tensor.index},
          {"element", tensor.element},
          {"name", tensor.name},
          {"dtype", name(tensor.dtype)},
          {"shape", both(tensor.shape, sizes_json)},
          {"equal", tensor.equal},
          {"difference", optional(tensor.difference, difference_json)},
          {"tolerance", optional(tensor.tolerance, tolerance_json)}};
}

Json argument_json(const ArgumentReport& argument) {
  const auto text = [](const std::string& value) { return Json(value); };
  return {{"name", argument.name},
          {"of", known(argument.of)},
          {"reference", optional(argument.reference, text)},
          {"candidate", optional(argument.candidate, text)}};
}

Json model_json(const ModelDifference& model) {
  const auto text = [](const std::string& value) { return Json(value); };
  return {{"root", model.root},
          {"path", model.path},
          {"what", name(model.what)},
          {"reference", optional(model.reference, text)},
          {"candidate", optional(model.candidate, text)}};
}

Json neighbour_json(const Neighbour& neighbour) {
  return {{"event", neighbour.event == kNone ? Json(nullptr) : integer(neighbour.event)},
          {"op", neighbour.op},
          {"module", neighbour.module},
          {"equal", neighbour.equal},
          {"finding", neighbour.finding},
          {"note", known(neighbour.note)}};
}

Json run_json(const RunSummary& run) {
  return {{"path", run.path},
          {"format", known(run.format)},
          {"command", strings(run.command)},
          {"complete", run.complete},
          {"ranks", run.ranks},
          {"steps", integer(run.steps)},
          {"events", integer(run.events)},
          {"values", integer(run.values)},
          {"level", run.level},
          {"injected", known(run.injected)}};
}

Json rank_pair_json(const RankPair& pair) {
  const RankIdentity& identity = pair.identity;
  const Json declared = identity.declared.empty() ? Json()
                                                  : Json{{"variable", identity.declared},
                                                         {"rank", identity.rank},
                                                         {"restart", identity.restart}};
  return {{"reference", pair.numbers.reference},
          {"candidate", pair.numbers.candidate},
          {"by", name(pair.by)},
          {"declared", declared}};
}

Json coverage_json(const Coverage& coverage) {
  const NotCompared& left_out = coverage.not_compared;
  return {{"aligned", integer(coverage.aligned)},
          {"moved", integer(coverage.moved)},
          {"only_reference", integer(coverage.only_reference)},
          {"only_candidate", integer(coverage.only_candidate)},
          {"not_compared",
           {{"uninitialised", integer(left_out.uninitialised)},
            {"handle", integer(left_out.handle)},
            {"layout", integer(left_out.layout)},
            {"no_bytes", integer(left_out.no_bytes)},
            {"ignored", integer(left_out.ignored)},
            {"opaque", integer(left_out.opaque)}}},
          {"outcomes", integer(coverage.outcomes)},
          {"outcomes_recorded", coverage.outcomes_recorded},
          {"roots", integer(coverage.roots)},
          {"unseen", strings(coverage.unseen)}};
}

Json propagated_json(const Propagated& propagated) {
  Json steps = Json::array();
  for (const auto& [first, last] : propagated.steps) {
    steps.push_back(Json::array({integer(first), integer(last)}));
  }
  return {{"events", integer(propagated.events)},
          {"steps", std::move(steps)},
          {"note", propagated.note.empty() ? Json() : Json(propagated.note)}};
}

Json growth_json(const GrowthPoint& point) {
  const auto count = [](std::uint64_t value) { return integer(value); };
  const auto losses = [](const Both<double>& loss) { return both(loss, real); };
  return {{"step", integer(point.step)},
          {"scaled_max", optional(point.scaled_max, real)},
          {"ulp_max", optional(point.ulp_max, count)},
          {"loss", optional(point.loss, losses)}};
}

Json path_json(const Path& path) {
  const auto point_json = [](const PathPoint& point) -> Json {
    return {{"event", integer(point.event)},
            {"op", point.op},
            {"module", point.module},
            {"scaled_max", optional(point.scaled_max, real)},
            {"ulp_max", integer(point.ulp_max)}};
  };
  if (path.points.empty()) return nullptr;
  return {{"step", integer(path.step)}, {"points", list(path.points, point_json)}};
}

Json environment_json(const EnvironmentDifference& difference) {
  const auto text = [](const std::string& value) { return Json(value); };
  const auto range = [](const std::pair<std::int64_t, std::int64_t>& steps) {
    return Json::array({steps.first == kSetup ? Json(nullptr) : integer(steps.first),
                        steps.second == kNoEnd ? Json(nullptr) : integer(steps.second)});
  };
  return {{"key", difference.key},
          {"reference", optional(difference.reference, text)},
          {"candidate", optional(difference.candidate, text)},
          {"can_change_bits", difference.can_change_bits},
          {"steps", difference.steps.empty() ? Json(nullptr) : list(difference.steps, range)}};
}

Json cause_json(const Cause& cause) {
  return {{"id", cause.id},
          {"confidence", name(cause.confidence)},
          {"finding", cause.finding},
          {"evidence", strings(cause.evidence)},
          {"against", strings(cause.against)},
          {"try", strings(cause.attempt)}};
}

Json golden_json(const GoldenConditions& conditions) {
  return {{"same_conditions", conditions.differ.empty()},
          {"differ", list(conditions.differ, environment_json)}};
}

Json rule_json(const RuleUse& use) {
  const ToleranceRule& rule = use.rule;
  const auto text = [](const std::string& value) { return Json(value); };
  const auto date = [](const std::chrono::year_month_day& day) { return Json(date_text(day)); };
  return {{"where", rule.where},
          {"op", rule.op},
          {"module", optional(rule.module, text)},
          {"max_ulp",
           optional(rule.limits.max_ulp, [](std::uint64_t value) { return integer(value); })},
          {"rtol", optional(rule.limits.rtol, real)},
          {"atol", optional(rule.limits.atol, real)},
          {"reason", known(rule.reason)},
          {"expires", optional(rule.expires, date)},
          {"expired", use.expired},
          {"passed", integer(use.passed)},
          {"failed", integer(use.failed)}};
}

Json limits_json(const Limits& limits) {
  const auto count = [](std::uint64_t value) { return integer(value); };
  return {{"max_ulp", optional(limits.max_ulp, count)},
          {"rtol", optional(limits.rtol, real)},
          {"atol", optional(limits.atol, real)}};
}

Json outside_json(const OutsideValue& value) {
  const auto text = [](const std::string& module) { return Json(module); };
  return {{"step", value.step == kSetup ? Json(nullptr) : integer(value.step)},
          {"event", value.event == kNone ? Json(nullptr) : integer(value.event)},
          {"op", value.op},
          {"module", optional(value.module, text)},
          {"tensor", value.tensor},
          {"ulp_max", integer(value.ulp_max)},
          {"absolute_max", real(value.absolute_max)},
          {"scaled_max", optional(value.scaled_max, real)},
          {"allowed", limits_json(value.limits)}};
}

Json tensor_totals_json(const TensorTotals& totals) {
  return {{"compared", integer(totals.compared)},
          {"differing", integer(totals.differing)},
          {"inside", integer(totals.inside)},
          {"other_type", integer(totals.other_type)}};
}

Json op_budget_json(const OpBudget& op) {
  return {{"op", op.op},
          {"results", integer(op.results)},
          {"outside", integer(op.outside)},
          {"largest_used", optional(op.largest_used, real)},
          {"why", op.why}};
}

Json replay_summary_json(const ReplaySummary& replay) {
  Json reasons = Json::array();
  for (const auto& [reason, times] : replay.reasons)
    reasons.push_back({{"reason", reason}, {"ops", integer(times)}});
  return {{"inside", integer(replay.inside)},
          {"outside", integer(replay.outside)},
          {"unjudged", integer(replay.unjudged)},
          {"reasons", reasons}};
}

Json budget_summary_json(const Report& report) {
  const BudgetSummary& budget = *report.budget;
  return {{"inside", integer(budget.inside)},
          {"allowed", integer(budget.allowed)},
          {"outside", integer(budget.outside)},
          {"without_bytes", integer(budget.without_bytes)},
          {"without_model", integer(budget.without_model)},
          {"largest_used", optional(budget.largest_used, real)},
          {"ops", list(report.op_budgets, op_budget_json)},
          {"replay", optional(report.replay, replay_summary_json)}};
}

Json position_json(const std::optional<std::uint64_t>& event) {
  return optional(event, [](std::uint64_t value) { return integer(value); });
}

Json absorbed_json(const Absorbed& absorbed) {
  return {{"op", absorbed.op},
          {"step", optional(absorbed.step, [](std::int64_t step) { return integer(step); })},
          {"event", both(absorbed.event, position_json)}};
}

}  // namespace

Json finding_json(const Finding& finding) {
  const auto text = [](const std::string& value) { return Json(value); };
  const auto neighbours = [](const Both<std::string>& names) {
    return Json::array({names.reference, names.candidate});
  };
  return {{"kind", name(finding.kind)},
          {"diverges", finding.diverges},
          {"absorbed", optional(finding.absorbed, absorbed_json)},
          {"of_file", finding.of_file},
          {"rank", finding.rank},
          {"lane", finding.lane},
          {"step", optional(finding.step, [](std::int64_t step) { return integer(step); })},
          {"phase", finding.of_file ? Json(nullptr) : Json(name(finding.phase))},
          {"root", finding.root},
          {"module", optional(finding.module, text)},
          {"module_type", known(finding.module_type)},
          {"between", optional(finding.between, neighbours)},
          {"op", known(finding.op)},
          {"overload", finding.overload},
          {"meaning", known(finding.meaning)},
          {"parents", strings(finding.parents)},
          {"children", both(finding.children, strings)},
          {"kernels", both(finding.kernels, strings)},
          {"forward_op", known(finding.forward_op)},
          {"device", finding.device},
          {"where", known(finding.where)},
          {"file", known(finding.file)},
          {"source", known(finding.source)},
          {"event", both(finding.event, position_json)},
          {"tensors", list(finding.tensors, tensor_json)},
          {"arguments", list(finding.arguments, argument_json)},
          {"neighbours", list(finding.neighbours, neighbour_json)},
          {"notes", strings(finding.notes)}};
}

Json report_json(const Report& report) {
  const Finding* first = report.first();
  return {{"format", "ulpscope-report"},
          {"schema_version", kReportSchemaVersion},
          {"verdict", name(report.verdict)},
          {"summary", report.summary},
          {"golden", optional(report.golden, golden_json)},
          {"reference", run_json(report.reference)},
          {"candidate", run_json(report.candidate)},
          {"rank_pairs", list(report.rank_pairs, rank_pair_json)},
          {"coverage", coverage_json(report.coverage)},
          {"first", first == nullptr ? Json(nullptr) : finding_json(*first)},
          {"findings", list(report.findings, finding_json)},
          {"propagated", propagated_json(report.propagated)},
          {"growth", list(report.growth, growth_json)},
          {"path", path_json(report.path)},
          {"environment", list(report.environment, environment_json)},
          {"models", list(report.models, model_json)},
          {"causes", list(report.causes, cause_json)},
          {"rules", list(report.rules, rule_json)},
          {"first_outside", optional(report.first_outside, outside_json)},
          {"budget", report.budget ? budget_summary_json(report) : Json(nullptr)},
          {"tensors", optional(report.tensors, tensor_totals_json)}};
}

std::string text_of(const Json& document) {
  return document.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

std::string compact_text_of(const Json& document) {
  return document.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void render_json(const Report& report, std::ostream& out) { out << text_of(report_json(report)); }

}  // namespace ulpscope::cli
