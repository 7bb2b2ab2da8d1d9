#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/render/json_documents.hpp"
#include "cli/render/json_values.hpp"
#include "cli/render/replay_text.hpp"

namespace ulpscope::cli {
namespace {

Json distance_json(const std::optional<TrueDistance>& distance) {
  if (!distance) return nullptr;
  return {{"ulp_max", integer(distance->ulp_max)},
          {"scaled_max", real(distance->scaled_max)},
          {"scaled_rms", real(distance->scaled_rms)},
          {"nan", integer(distance->nan)}};
}

Json run_json(const ReplayedRun& run) {
  return {{"path", run.path},
          {"rank", run.place.rank},
          {"lane", run.place.lane},
          {"step", run.step == kSetup ? Json(nullptr) : Json(run.step)},
          {"event", integer(run.place.position)},
          {"settings", run.settings},
          {"proved", run.proved()},
          {"failure", known(run.failure)},
          {"from_float64", distance_json(run.distance)}};
}

Json times_json(const std::optional<unsigned>& times) {
  return times ? Json(*times) : Json(nullptr);
}

Json variant_json(const ReplayVariant& variant) {
  return {{"factor", name(variant.factor)},
          {"words", variant.words},
          {"repeats", variant.repeats},
          {"results", variant.results},
          {"same_as_a", times_json(variant.same_as[0])},
          {"same_as_b", times_json(variant.same_as[1])},
          {"recorded_by_other", variant.recorded_by_other},
          {"from_float64", distance_json(variant.distance)},
          {"failure", known(variant.failure)}};
}

const char* name(ReplayOutcome outcome) {
  switch (outcome) {
    case ReplayOutcome::same:
      return "same";
    case ReplayOutcome::differs:
      return "differs";
    case ReplayOutcome::trouble:
      return "trouble";
  }
  return "trouble";
}

}  // namespace

Json replay_json(const ReplayReport& report) {
  Json runs = Json::array();
  for (const ReplayedRun& run : report.runs) runs.push_back(run_json(run));
  Json variants = Json::array();
  for (const ReplayVariant& variant : report.variants) variants.push_back(variant_json(variant));
  return {{"format", "ulpscope-replay"},
          {"schema_version", 1},
          {"outcome", name(report.outcome)},
          {"summary", report.summary},
          {"op", report.op},
          {"mechanism", known(report.mechanism)},
          {"factor", name(report.factor)},
          {"deterministic", report.deterministic},
          {"nearer", report.nearer ? Json(*report.nearer == 0 ? "A" : "B") : Json(nullptr)},
          {"runs", std::move(runs)},
          {"unequal", report.unequal},
          {"variants", std::move(variants)},
          {"notes", report.notes}};
}

void render_replay_json(const ReplayReport& report, std::ostream& out) {
  out << text_of(replay_json(report)) << std::flush;
}

}  // namespace ulpscope::cli
