#include "compare/diff/accumulations.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compare/measure/ratio.hpp"
#include "compare/measure/rounding.hpp"
#include "compare/measure/value_study.hpp"

namespace ulpscope::comparison {
namespace {

/// Of two sums of the same numbers; empty if it is not one number, or not known.
[[nodiscard]] std::optional<double> accumulated_ratio(const Both<const Run*>& runs,
                                                      const Both<std::uint32_t>& ranks,
                                                      const Both<Digest>& digests,
                                                      const Both<Geometry>& geometries) {
  const auto apart = study(runs, {.ranks = ranks,
                                  .digests = digests,
                                  .geometries = geometries,
                                  .distance = true,
                                  .limits = {}});
  if (!apart.known) return std::nullopt;
  const auto pair = ValuePair::open(runs, ranks, digests, geometries);
  return constant_ratio(*pair, *apart.difference,
                        rounding_distance(pair->dtype(), roundings::kOneBatch));
}

}  // namespace

void Accumulations::begin_step(std::int64_t step) {
  step_ = step;
  gradients_.clear();
}

void Accumulations::add(Side side, const Event& gradient, bool anew) {
  const auto slot = std::find_if(gradient.slots.begin(), gradient.slots.end(), [](const Slot& one) {
    return (one.flags & slot_flag::gradient) && !one.name.empty() && one.geometry != nullptr;
  });
  if (slot == gradient.slots.end()) return;
  const std::string name(slot->name);
  Last& last = on(gradients_[name], side);
  anew = on(zeroed_, side).erase(name) != 0 || anew;
  last.times = anew ? 1 : last.times + 1;
  last.digest = slot->digest;
  last.geometry = *slot->geometry;
}

void Accumulations::zero(Side side, const Event& event) {
  for (const Slot& slot : event.slots)
    if (slot.role == Role::mutated && (slot.flags & slot_flag::gradient) && !slot.name.empty())
      on(zeroed_, side).emplace(slot.name);
}

void Accumulations::find_gradients_of_one_run() {
  OtherGradients found;
  found.step = step_;
  std::size_t common = 0;
  for (const auto& [name, last] : gradients_) {
    if (last.reference.times > 0 && last.candidate.times > 0)
      ++common;
    else
      on(found.only, last.reference.times > 0 ? Side::reference : Side::candidate).push_back(name);
  }
  if (common == 0 || (found.only.reference.empty() && found.only.candidate.empty())) return;
  for (const Side side : kSides)
    std::sort(on(found.only, side).begin(), on(found.only, side).end());
  of_one_run_ = std::move(found);
}

void Accumulations::end_step(const Both<const Run*>& runs, const Both<std::uint32_t>& ranks) {
  if (!of_one_run_) find_gradients_of_one_run();
  if (other_) return;
  OtherAccumulation found;
  found.step = step_;
  double least = 0;
  double most = 0;
  double rounded = 0;  // of the least precise gradient
  std::size_t measured = 0;
  for (const auto& [name, last] : gradients_) {
    const Last& a = last.reference;
    const Last& b = last.candidate;
    if (a.times == 0 || b.times == 0 || a.times == b.times) continue;
    ++found.parameters;
    found.times = {a.times, b.times};
    const auto ratio =
        accumulated_ratio(runs, ranks, {a.digest, b.digest}, {a.geometry, b.geometry});
    if (!ratio) continue;
    least = measured == 0 ? *ratio : std::min(least, *ratio);
    most = measured == 0 ? *ratio : std::max(most, *ratio);
    rounded = std::max(rounded, rounding_distance(a.geometry.dtype, roundings::kOneBatch));
    ++measured;
  }
  if (found.parameters == 0) return;
  // Parameters whose gradient is zero except for rounding have no ratio.
  if (2 * measured > found.parameters && most - least <= rounded * std::abs(most))
    found.ratio = (least + most) / 2;
  other_ = found;
}

}  // namespace ulpscope::comparison
