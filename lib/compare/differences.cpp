#include "compare/differences.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "compare/effect.hpp"
#include "compare/elements.hpp"
#include "compare/value_names.hpp"

namespace ulpscope::comparison {
namespace {

enum class Asked : std::uint8_t { distance, repeats };

/// Calls `ask` for every tensor of a finding whose bytes tell something.
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
  const Limits& limits = tolerance.limits(rule_for(record, tolerance));
  for_each_asked(record, [&](const TensorReport&, const TensorEvidence& evidence, Asked asked) {
    questions.push_back(
        {record.ranks, evidence.digest, evidence.geometry, limits, asked == Asked::repeats});
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
    if (tolerance.any())
      tensor.tolerance = ToleranceResult{answer.inside, rule_for(record, tolerance)};
    evidence.rows_permuted = answer.rows_permuted;
    evidence.numbers_permuted = answer.numbers_permuted;
    evidence.ratio = answer.ratio;
  });
  if (record.effect) record.finding.notes.push_back(effect_words(*record.effect));
  return without_bytes;
}

std::optional<double> constant_ratio(const TensorBytes& tensor, double tolerance) {
  if (!is_floating_point(tensor.dtype)) return std::nullopt;
  const auto left = decode(tensor.dtype, tensor.bytes.reference);
  const auto right = decode(tensor.dtype, tensor.bytes.candidate);
  if (!left || !right) return std::nullopt;
  double largest = 0;
  std::size_t at = 0;
  std::size_t nonzero = 0;
  for (std::size_t i = 0; i < left->size(); ++i) {
    const double size = std::abs((*left)[i].value);
    if (!std::isfinite(size) || !std::isfinite((*right)[i].value)) return std::nullopt;
    if (size > 0) ++nonzero;
    if (size <= largest) continue;
    largest = size;
    at = i;
  }
  constexpr std::size_t kFewest = 4;  // any one number is a multiple of any other
  if (nonzero < kFewest) return std::nullopt;
  const double ratio = (*right)[at].value / (*left)[at].value;
  if (!std::isfinite(ratio) || ratio == 0 || std::abs(ratio - 1) < 100 * tolerance)
    return std::nullopt;
  for (std::size_t i = 0; i < left->size(); ++i) {
    const double expected = ratio * (*left)[i].value;
    if (std::abs((*right)[i].value - expected) > tolerance * std::abs(ratio) * largest)
      return std::nullopt;
  }
  return ratio;
}

}  // namespace ulpscope::comparison
