#include "compare/value_judge.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "compare/elements.hpp"
#include "compare/tensor_bytes.hpp"
#include "compare/value_match.hpp"

namespace ulpscope::comparison {

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
  const auto tensor = tensor_bytes(runs, ranks, {reference.digest, candidate.digest},
                                   {*reference.geometry, *candidate.geometry});
  if (!judged && !tensor) ++unknown_;
  if (!tensor) return;
  if (!judged) {
    const ToleranceResult result = tolerance_.judge(*tensor, names);
    tolerance_.count(result);
    if (!result.inside) ++outside_;
  }
  if (grows)
    grow(difference(tensor->dtype, tensor->shape, tensor->strides, tensor->bytes.reference,
                    tensor->bytes.candidate));
}

bool ValueJudge::allows(const TensorBytes& tensor, const NamesOf& names) {
  if (!tolerance_.any()) return false;
  const ToleranceResult result = tolerance_.judge(tensor, names);
  tolerance_.count(result);
  return result.inside;
}

void ValueJudge::loss(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                      const Slot& reference, const Slot& candidate) {
  constexpr std::uint64_t kOne = 1;
  const bool has_bytes = (reference.flags & candidate.flags & slot_flag::has_content) != 0;
  if (!has_bytes || reference.geometry == nullptr || candidate.geometry == nullptr ||
      step_ == kSetup || element_count(*reference.geometry) != kOne || losses_.contains(step_))
    return;
  const auto tensor = tensor_bytes(runs, ranks, {reference.digest, candidate.digest},
                                   {*reference.geometry, *candidate.geometry});
  if (!tensor) return;
  const auto left = decode(tensor->dtype, tensor->bytes.reference);
  const auto right = decode(tensor->dtype, tensor->bytes.candidate);
  if (!left || !right || left->size() != kOne || right->size() != kOne) return;
  losses_[step_] = {left->front().value, right->front().value};
}

bool ValueJudge::follows_path(bool in_backward) noexcept {
  constexpr std::size_t kLongest = 512;
  if (step_ == kSetup) return false;
  if (path_.points.empty()) {
    path_in_backward_ = in_backward;
    return true;
  }
  return path_.step == step_ && path_in_backward_ == in_backward && path_.points.size() < kLongest;
}

void ValueJudge::on_the_way(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                            const Slot& reference, const Slot& candidate, PathPoint point) {
  const auto tensor = tensor_bytes(runs, ranks, {reference.digest, candidate.digest},
                                   {*reference.geometry, *candidate.geometry});
  if (!tensor || !is_floating_point(tensor->dtype)) return;
  const Difference apart = difference(tensor->dtype, tensor->shape, tensor->strides,
                                      tensor->bytes.reference, tensor->bytes.candidate);
  point.scaled_max = apart.scaled_max;
  point.ulp_max = apart.ulp_max;
  path_.step = step_;
  path_.points.push_back(std::move(point));
}

void ValueJudge::grow(const Difference& difference) {
  GrowthPoint& point = growth_[step_];
  point.step = step_;
  point.ulp_max = std::max(point.ulp_max.value_or(0), difference.ulp_max);
  if (difference.scaled_max)
    point.scaled_max = std::max(point.scaled_max.value_or(0), *difference.scaled_max);
}

std::vector<GrowthPoint> ValueJudge::growth() const {
  std::vector<GrowthPoint> points;
  for (const auto& [step, point] : growth_) {
    points.push_back(point);
    if (const auto loss = losses_.find(step); loss != losses_.end())
      points.back().loss = loss->second;
  }
  return points;
}

}  // namespace ulpscope::comparison
