#include "compare/value_judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "compare/elements.hpp"
#include "compare/tensor_bytes.hpp"
#include "compare/value_match.hpp"

namespace ulpscope::comparison {
namespace {

/// Whether one number is close enough: within the ULP bound, or within atol + rtol * |reference|.
[[nodiscard]] bool inside(const Number& reference, const Number& candidate,
                          const CompareOptions& options) {
  const double a = reference.value;
  const double b = candidate.value;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b && reference.place == candidate.place) return true;
  if (options.max_ulp && apart(reference, candidate) <= *options.max_ulp) return true;
  if (!options.rtol && !options.atol) return false;
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= options.atol.value_or(0) + options.rtol.value_or(0) * std::abs(a);
}

[[nodiscard]] bool all_inside(const TensorBytes& tensor, const CompareOptions& options) {
  const auto reference = decode(tensor.dtype, tensor.bytes.reference);
  const auto candidate = decode(tensor.dtype, tensor.bytes.candidate);
  if (!reference || !candidate) return false;
  for (std::size_t i = 0; i < reference->size(); ++i)
    if (!inside((*reference)[i], (*candidate)[i], options)) return false;
  return true;
}

}  // namespace

void ValueJudge::begin_step(std::int64_t step) {
  step_ = step;
  seen_.clear();
}

void ValueJudge::differs(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                         const Slot& reference, const Slot& candidate) {
  const bool gradient = (reference.flags & slot_flag::gradient) && step_ != kSetup;
  if (!gradient && !has_tolerance()) return;
  const bool recorded = reference.flags & candidate.flags & slot_flag::has_content;
  if (!recorded && !has_tolerance()) return;
  if (!seen_.emplace(reference.digest, candidate.digest).second) return;
  const auto tensor = tensor_bytes(runs, ranks, {reference.digest, candidate.digest},
                                   {*reference.geometry, *candidate.geometry});
  if (!tensor) {
    ++unknown_;
    return;
  }
  if (has_tolerance() && !all_inside(*tensor, options_)) ++outside_;
  if (gradient)
    grow(difference(tensor->dtype, tensor->shape, tensor->strides, tensor->bytes.reference,
                    tensor->bytes.candidate));
}

void ValueJudge::loss(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks,
                      const Slot& reference, const Slot& candidate) {
  constexpr std::uint64_t kOne = 1;
  if (reference.geometry == nullptr || candidate.geometry == nullptr || step_ == kSetup ||
      element_count(*reference.geometry) != kOne || losses_.contains(step_))
    return;
  const auto tensor = tensor_bytes(runs, ranks, {reference.digest, candidate.digest},
                                   {*reference.geometry, *candidate.geometry});
  if (!tensor) return;
  const auto left = decode(tensor->dtype, tensor->bytes.reference);
  const auto right = decode(tensor->dtype, tensor->bytes.candidate);
  if (!left || !right || left->size() != kOne || right->size() != kOne) return;
  losses_[step_] = {left->front().value, right->front().value};
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
