#include "cli/replay/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "cli/replay/find_replayer.hpp"
#include "compare/model/lane_reader.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr unsigned kRepeats = 20;  // an op that differs by chance should show that
constexpr std::chrono::seconds kPatience{120};

/// Where a run has the finding's op, empty if several lanes have such an event or none has.
std::optional<RecordedPlace> place_in(const Run& run, std::uint32_t rank, const Finding& finding,
                                      std::uint64_t position) {
  std::optional<RecordedPlace> found;
  for (const Lane& lane : run.lanes(rank)) {
    const auto held = comparison::find_event(run, rank, {lane.id, position});
    if (held.event == nullptr || held.event->op != finding.op) continue;
    if (found) return std::nullopt;
    found = RecordedPlace{rank, lane.id, position};
  }
  return found;
}

/// The candidate's number of a rank of the reference.
std::uint32_t partner_of(std::uint32_t rank, const Report& report) {
  for (const RankPair& pair : report.rank_pairs)
    if (pair.numbers.reference == rank) return pair.numbers.candidate;
  return rank;
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
    case ReplayFactor::cudnn:
    case ReplayFactor::device:
      return "backend";
    case ReplayFactor::tf32:
      return "tf32";
    case ReplayFactor::reduced_precision:
      return "reduced-precision";
    case ReplayFactor::algorithm:
      return "algorithm";
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
    first.notes.push_back("not replayed: " + why_no_replayer(reference));
    return std::nullopt;
  }
  try {
    const auto place = place_in(reference, first.rank, first, *first.event.reference);
    const auto place_b =
        place_in(candidate, partner_of(first.rank, report), first, *first.event.candidate);
    if (place && place_b)
      return explain(
          reference, *place, &candidate, *place_b, factory,
          {.repeats = kRepeats, .libraries = {}, .patience = kPatience, .most_threads = 0});
    first.notes.emplace_back("not replayed: several threads have such an event");
    return std::nullopt;
  } catch (const Error& error) {
    first.notes.push_back(fmt::format("not replayed: {}", error.what()));
    return std::nullopt;
  }
}

void confirm_cause(Report& report, const ReplayReport& replay) {
  const std::string_view id = cause_of(replay);
  const bool as_recorded =
      !replay.deterministic ||
      std::any_of(replay.variants.begin(), replay.variants.end(),
                  [&](const ReplayVariant& variant) {
                    return variant.factor == replay.factor && variant.recorded_by_other;
                  });
  if (id.empty() || !as_recorded || replay.outcome != ReplayOutcome::differs ||
      !replay.unequal.empty())
    return;
  const auto found =
      std::find_if(report.causes.begin(), report.causes.end(),
                   [&](const Cause& cause) { return cause.finding == 0 && cause.id == id; });
  Cause cause;
  if (found != report.causes.end()) {
    cause = *found;
    report.causes.erase(found);
  }
  cause.tested = true;
  if (replay.factor != ReplayFactor::threads) cause.attempt.clear();
  cause.id = id;
  cause.confidence = Confidence::certain;
  cause.evidence.insert(cause.evidence.begin(), fmt::format("replayed: {}", replay.mechanism));
  report.causes.insert(report.causes.begin(), std::move(cause));
}

}  // namespace ulpscope::cli
