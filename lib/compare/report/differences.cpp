#include "compare/report/differences.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "compare/diff/effect.hpp"
#include "compare/measure/value_names.hpp"

namespace ulpscope::comparison {
namespace {

enum class Asked : std::uint8_t { distance, repeats };

/// Calls `ask` for every tensor of a finding whose bytes matter.
template <class AnyRecord, class Ask>
void for_each_asked(AnyRecord& record, const Ask& ask) {
  auto& tensors = record.finding.tensors;
  const bool picks_places =
      record.finding.kind == FindingKind::origin &&
      std::any_of(tensors.begin(), tensors.end(),
                  [](const TensorReport& tensor) { return tensor.dtype == Dtype::int64; });
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    auto& evidence = record.evidence.tensors[k];
    if (!tensors[k].equal && evidence.compared) ask(tensors[k], evidence, Asked::distance);
    if (picks_places && tensors[k].equal) ask(tensors[k], evidence, Asked::repeats);
  }
  if (!record.effect) return;
  auto& [report, evidence] = record.effect->tensor;
  if (!report.equal && evidence.compared) ask(report, evidence, Asked::distance);
}

/// The rule that holds for the values of a finding.
[[nodiscard]] std::optional<std::size_t> rule_for(const Record& record,
                                                  const Tolerance& tolerance) {
  return tolerance.rule_for([&] { return names_of(record.finding); });
}

}  // namespace

std::vector<ValueQuestion> questions_about(const Record& record, const Tolerance& tolerance) {
  std::vector<ValueQuestion> questions;
  std::optional<Limits> limits;
  if (tolerance.any()) limits = tolerance.limits(rule_for(record, tolerance));
  for_each_asked(record, [&](const TensorReport&, const TensorEvidence& evidence, Asked asked) {
    ValueQuestion& question = questions.emplace_back();
    question.ranks = record.ranks;
    question.digests = evidence.digest;
    question.geometries = evidence.geometry;
    question.repeats = asked == Asked::repeats;
    question.evidence = asked == Asked::distance;
    if (asked == Asked::distance) question.limits = limits;
  });
  return questions;
}

std::uint64_t enter_answers(Record& record, const Tolerance& tolerance,
                            std::span<const ValueAnswer> answers) {
  std::uint64_t without_bytes = 0;
  std::size_t next = 0;
  for_each_asked(record, [&](TensorReport& tensor, TensorEvidence& evidence, Asked asked) {
    const ValueAnswer& answer = answers[next++];
    if (asked == Asked::repeats) {
      evidence.repeats = answer.repeats;
      return;
    }
    if (!answer.known) {
      ++without_bytes;
      return;
    }
    tensor.difference = answer.difference;
    tensor.difference->budget = evidence.budget;
    if (answer.inside)
      tensor.tolerance = ToleranceResult{*answer.inside, rule_for(record, tolerance)};
    evidence.rows_permuted = answer.rows_permuted;
    evidence.numbers_permuted = answer.numbers_permuted;
    evidence.ratio = answer.ratio;
  });
  if (record.effect) record.finding.notes.push_back(effect_words(*record.effect));
  return without_bytes;
}

void put_tolerated_last(std::vector<Record>& records, const OutsideValue& outside) {
  const auto is_tolerated = [](const Record& record) {
    return record.finding.diverges && inside_tolerance(record.finding);
  };
  const auto can_explain = [&](const Record& record) {
    const Finding& finding = record.finding;
    return finding.diverges && !is_tolerated(record) && finding.event.reference &&
           std::tuple(finding.step.value_or(kSetup), *finding.event.reference) <=
               std::tuple(outside.step, outside.event);
  };
  if (std::none_of(records.begin(), records.end(), can_explain)) return;
  const auto diverging_end = std::find_if(records.begin(), records.end(), [](const Record& record) {
    return !record.finding.diverges;
  });
  std::stable_partition(records.begin(), diverging_end,
                        [&](const Record& record) { return !is_tolerated(record); });
}

}  // namespace ulpscope::comparison
