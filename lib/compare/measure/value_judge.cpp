#include "compare/measure/value_judge.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "compare/measure/elements.hpp"
#include "compare/measure/tensor_bytes.hpp"
#include "compare/measure/value_study.hpp"
#include "compare/model/value_match.hpp"

namespace ulpscope::comparison {
namespace {

/// What a path stays in: all that is before the loss, the backward pass, or the optimizer's step.
[[nodiscard]] Phase part_of_step(Phase phase) noexcept {
  return phase == Phase::backward || phase == Phase::optimizer ? phase : Phase::forward;
}

}  // namespace

void ValueJudge::begin_step(std::int64_t step) {
  step_ = step;
  judged_before_ = std::exchange(judged_, {});
  grown_.clear();
}

void ValueJudge::differs(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                         const Slot& reference, const Slot& candidate, const NamesOf& names) {
  const std::pair contents(reference.digest, candidate.digest);
  const bool gradient = (reference.flags & slot_flag::gradient) && step_ != kSetup &&
                        (reference.flags & candidate.flags & slot_flag::has_content);
  const bool grows = gradient && grown_.insert(contents).second;
  const bool judged = !names || !tolerance_.any() || judged_before_.contains(contents) ||
                      !judged_.insert(contents).second;
  if (judged && !grows) return;
  if (!share_.takes(packed_bytes(*reference.geometry))) return;
  ValueQuestion question{.ranks = ranks,
                         .digests = {reference.digest, candidate.digest},
                         .geometries = {*reference.geometry, *candidate.geometry},
                         .distance = grows,
                         .limits = {}};
  std::optional<std::size_t> rule;
  if (!judged) {
    rule = tolerance_.rule_for(names);
    question.limits = tolerance_.limits(rule);
  }
  const ValueAnswer answer = study(runs, question);
  if (!judged && !answer.known) ++own_.unknown;
  if (!answer.known) return;
  if (!judged) {
    count(own_, {*answer.inside, rule});
    if (!*answer.inside) outside(runs, question, names());
  }
  if (!grows) return;
  GrowthPoint& point = own_.growth[step_];
  point.step = step_;
  grow(point, answer.difference->ulp_max, answer.difference->scaled_max);
}

void ValueJudge::outside(const Both<const Run*>& runs, ValueQuestion question,
                         const ValueNames& names) {
  ++own_.outside;
  if (own_.first_outside && own_.first_outside->step <= step_) return;
  question.distance = true;
  const ValueAnswer answer = study(runs, question);
  own_.first_outside = OutsideValue{.step = step_,
                                    .event = names.event,
                                    .op = names.op,
                                    .module = names.module,
                                    .tensor = names.tensor,
                                    .ulp_max = answer.difference->ulp_max,
                                    .absolute_max = answer.difference->absolute_max,
                                    .scaled_max = answer.difference->scaled_max,
                                    .limits = *question.limits};
}

bool ValueJudge::allows(const TensorBytes& tensor, const NamesOf& names) {
  if (!tolerance_.any()) return false;
  const ToleranceResult result = tolerance_.judge(tensor, names);
  count(common_, result);
  return result.inside;
}

void ValueJudge::loss(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                      const Slot& reference, const Slot& candidate) {
  constexpr std::uint64_t kOne = 1;
  const bool has_bytes = (reference.flags & candidate.flags & slot_flag::has_content) != 0;
  if (!has_bytes || reference.geometry == nullptr || candidate.geometry == nullptr ||
      step_ == kSetup || element_count(*reference.geometry) != kOne ||
      common_.losses.contains(step_))
    return;
  const auto tensor = tensor_bytes(runs, ranks, {reference.digest, candidate.digest},
                                   {*reference.geometry, *candidate.geometry});
  if (!tensor) return;
  const auto left = decode(tensor->dtype, tensor->bytes.reference);
  const auto right = decode(tensor->dtype, tensor->bytes.candidate);
  if (!left || !right || left->size() != kOne || right->size() != kOne) return;
  common_.losses[step_] = {left->front().value, right->front().value};
}

bool ValueJudge::follows_path(Phase phase) noexcept {
  constexpr std::size_t kLongest = 512;
  if (step_ == kSetup) return false;
  const Phase part = part_of_step(phase);
  if (common_.path.points.empty()) {
    path_part_ = part;
    return true;
  }
  if (common_.path.step != step_) return false;
  path_ended_ = path_ended_ || part != path_part_;
  return !path_ended_ && common_.path.points.size() < kLongest;
}

void ValueJudge::on_the_way(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                            const Slot& reference, const Slot& candidate, PathPoint point) {
  const Both<Digest> digests{reference.digest, candidate.digest};
  const Both<Geometry> geometries{*reference.geometry, *candidate.geometry};
  // The flag first: searching for bytes that were not recorded would open every segment.
  if (!(reference.flags & candidate.flags & slot_flag::has_content) ||
      !is_floating_point(reference.geometry->dtype) ||
      !holds_bytes(runs, ranks, digests, geometries))
    return;
  common_.path.step = step_;
  common_.path.points.push_back(std::move(point));
  common_.path_questions.push_back({.ranks = ranks,
                                    .digests = digests,
                                    .geometries = geometries,
                                    .distance = true,
                                    .limits = {}});
}

void ValueJudge::count(ValueSums& sums, const ToleranceResult& result) {
  if (!result.rule) return;
  sums.rules.resize(std::max(sums.rules.size(), *result.rule + 1));
  ValueSums::RuleCount& rule = sums.rules[*result.rule];
  ++(result.inside ? rule.passed : rule.failed);
}

ValueSums ValueJudge::sums(bool with_common) const {
  ValueSums sums = own_;
  if (with_common) sums.add_rank(common_);
  return sums;
}

}  // namespace ulpscope::comparison
