#include "compare/measure/value_study.hpp"

#include "compare/measure/axes.hpp"
#include "compare/measure/permutation.hpp"
#include "compare/measure/ratio.hpp"
#include "compare/measure/rounding.hpp"
#include "compare/measure/tolerance.hpp"
#include "compare/measure/value_pair.hpp"

namespace ulpscope::comparison {
namespace {

/// A value that is searched for repeated numbers is in memory as a whole.
constexpr std::uint64_t kLargestLookedThrough = std::uint64_t{1} << 28;

/// What one reading answers; it is all that most questions need.
void read_once(const ValuePair& pair, const ValueQuestion& question, ValueAnswer& answer) {
  DifferenceStream distance(pair.dtype(), pair.shape(), pair.strides());
  const bool measures = question.distance || question.evidence;
  std::optional<DifferingElements> elements;
  if (question.evidence) elements.emplace(pair);
  if (question.limits) answer.inside = true;
  bool first_pass = true;
  do {
    pair.for_each_piece([&](ValuePair::Piece reference, ValuePair::Piece candidate) {
      if (measures) distance.update(reference, candidate);
      if (!first_pass) return true;
      if (elements) elements->update(reference, candidate);
      if (question.limits && *answer.inside)
        answer.inside = all_inside(pair.dtype(), reference, candidate, *question.limits);
      return measures || *answer.inside;
    });
    first_pass = false;
  } while (measures && distance.again());
  if (measures) answer.difference = distance.finish();
  if (elements) answer.difference->axes = elements->axes();
}

}  // namespace

ValueAnswer study(const ValuePair& pair, const ValueQuestion& question) {
  ValueAnswer answer;
  answer.known = true;
  if (question.distance || question.evidence || question.limits) read_once(pair, question, answer);
  if (!question.evidence) return answer;
  answer.numbers_permuted = answer.difference->sums_equal && same_numbers(pair);
  answer.rows_permuted = answer.numbers_permuted && same_rows(pair);
  answer.ratio =
      constant_ratio(pair, *answer.difference, rounding_distance(pair.dtype(), roundings::kOneOp));
  return answer;
}

ValueAnswer study(const Both<const Run*>& runs, const ValueQuestion& question) {
  const auto pair = ValuePair::open(runs, question.ranks, question.digests, question.geometries);
  if (!pair) return {};
  ValueAnswer answer = study(*pair, question);
  if (question.repeats && pair->size() <= kLargestLookedThrough) {
    const auto bytes =
        runs.reference->content(question.ranks.reference, question.digests.reference);
    if (bytes) answer.repeats = number_repeats(*bytes, element_size(pair->dtype()));
  }
  return answer;
}

}  // namespace ulpscope::comparison
