#include "cli/replay/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cli/replay/find_replayer.hpp"
#include "cli/values/event_path.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

std::string place_of(const Finding& finding, std::uint64_t event) {
  return fmt::format("{}/{}", step_name(finding.step.value_or(kSetup)), event);
}

bool has_bytes(const Finding& finding) {
  return std::all_of(
      finding.tensors.begin(), finding.tensors.end(),
      [](const TensorReport& tensor) { return tensor.equal || tensor.difference.has_value(); });
}

/// The cause that a condition stands for; empty for those that have none.
std::string_view cause_of(const ReplayReport& replay) {
  if (!replay.deterministic) return "atomic";
  switch (replay.factor) {
    case ReplayFactor::threads:
      return "threads";
    case ReplayFactor::cpu_capability:
    case ReplayFactor::onednn_isa:
      return "isa";
    case ReplayFactor::mkldnn:
      return "backend";
    case ReplayFactor::layout:
      return "layout";
    case ReplayFactor::alignment:
      return "alignment";
    default:
      return {};
  }
}

}  // namespace

std::optional<ReplayReport> explain_first(const Run& reference, const Run& candidate,
                                          Report& report) {
  if (report.first() == nullptr || report.first()->kind != FindingKind::origin) return std::nullopt;
  Finding& first = report.findings.front();
  if (!first.event.reference || !first.event.candidate || !has_bytes(first)) return std::nullopt;
  const ReplayerFactory factory = replayer_factory(reference);
  if (!factory) {
    first.notes.emplace_back("not replayed: no program that replays ops is installed");
    return std::nullopt;
  }
  try {
    return explain(reference, find_place(reference, place_of(first, *first.event.reference)),
                   &candidate, find_place(candidate, place_of(first, *first.event.candidate)),
                   factory);
  } catch (const Error& error) {
    first.notes.push_back(fmt::format("not replayed: {}", error.what()));
    return std::nullopt;
  }
}

void confirm_cause(Report& report, const ReplayReport& replay) {
  const std::string_view id = cause_of(replay);
  if (id.empty() || replay.outcome != ReplayOutcome::differs || !replay.unequal.empty()) return;
  const auto found =
      std::find_if(report.causes.begin(), report.causes.end(),
                   [&](const Cause& cause) { return cause.finding == 0 && cause.id == id; });
  Cause cause;
  if (found != report.causes.end()) {
    cause = *found;
    report.causes.erase(found);
  }
  cause.id = id;
  cause.confidence = Confidence::certain;
  cause.evidence.insert(cause.evidence.begin(), fmt::format("replayed: {}", replay.mechanism));
  report.causes.insert(report.causes.begin(), std::move(cause));
}

}  // namespace ulpscope::cli
