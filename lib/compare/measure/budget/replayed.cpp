#include "compare/measure/budget/replayed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "compare/measure/budget/op_view.hpp"
#include "compare/measure/budget/rounding.hpp"
#include "compare/measure/elements.hpp"
#include "compare/measure/recorded_call.hpp"
#include "compare/measure/rounding.hpp"
#include "compare/measure/tensor_bytes.hpp"
#include "compare/model/value_match.hpp"
#include "core/elements.hpp"

namespace ulpscope::comparison::budget {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The share that one number takes of its allowance, given its parts' size.
[[nodiscard]] double share(const Allowance& allowance, Dtype dtype, double truth, double size,
                           double recorded) {
  if (std::isnan(truth) && std::isnan(recorded)) return 0;
  if (truth == recorded) return 0;
  const bool overflow = std::isinf(recorded) && std::abs(truth) >= grain_of(dtype).largest &&
                        std::signbit(truth) == std::signbit(recorded);
  if (overflow) return 0;
  const double distance = std::abs(truth - recorded);
  return std::isfinite(distance) ? distance / allowed(allowance, size, dtype) : kInfinity;
}

/// The largest share of all elements; infinite where one has none, empty if they cannot be read.
[[nodiscard]] std::optional<double> largest_share(const Allowance& allowance,
                                                  const Geometry& geometry,
                                                  const ReplayTensor& truth,
                                                  const std::vector<std::byte>& recorded) {
  const auto exact = decode(truth.dtype, truth.bytes);
  const auto found = decode(geometry.dtype, recorded);
  const std::size_t parts = is_complex(geometry.dtype) ? 2 : 1;
  if (!exact || !found || is_complex(truth.dtype) != is_complex(geometry.dtype) ||
      truth.sizes != geometry.sizes ||
      found->size() * element_size(geometry.dtype) / parts != recorded.size())
    return std::nullopt;
  double used = 0;
  std::size_t at = 0;
  const std::vector<std::int64_t> strides = strides_in_packed(geometry);
  core::for_each_element<1>(geometry.sizes, {strides}, [&](std::int64_t offset) {
    const auto place = static_cast<std::size_t>(offset);
    double size = std::abs((*exact)[at].value);
    if (parts == 2) size = std::hypot((*exact)[at].value, (*exact)[at + 1].value);
    for (std::size_t part = 0; part < parts; ++part, ++at)
      used = std::max(used, share(allowance, geometry.dtype, (*exact)[at].value, size,
                                  (*found)[place * parts + part].value));
  });
  return used;
}

/// Equal numbers have no order: which of them an op has picked is not judged.
[[nodiscard]] bool is_position(const Slot& slot, const std::vector<const Slot*>& results) {
  return slot.geometry->dtype == Dtype::int64 &&
         std::any_of(results.begin(), results.end(),
                     [](const Slot* other) { return other->geometry->dtype != Dtype::int64; });
}

}  // namespace

bool Replayed::inside() const noexcept {
  return std::all_of(results.begin(), results.end(),
                     [](const Result& result) { return result.inside; });
}

double Replayed::used() const noexcept {
  double largest = 0;
  for (const Result& result : results)
    largest = std::max(largest, result.used.value_or(result.inside ? 0 : kInfinity));
  return largest;
}

Replayed replayed(Replayer& replayer, const Run& run, std::uint32_t rank, const Event& event,
                  Model model, Operands operands) {
  Replayed judged;
  RecordedCall call = recorded_call(run, rank, event);
  judged.failure = call.failure;
  judged.lacks_bytes = call.lacks_bytes;
  if (!judged.failure.empty()) return judged;
  ReplayRequest& request = call.request;
  std::vector<const Slot*>& results = call.results;
  OpView op(run, rank, event);
  for (ReplayTensor& input : request.inputs)
    if (is_factor(op.op(), op.argument_name(input.index)))
      round_operands(operands, input.dtype, input.bytes);
  const std::vector<const Slot*> all = results;
  std::erase_if(results, [&](const Slot* slot) { return is_position(*slot, all); });

  bool rounds = false;
  std::vector<Allowance> allowances;
  std::erase_if(results, [&](const Slot* slot) {
    op.look_at(*slot);
    Allowance allowance = allowance_of(model, op, slot->index);
    if (!is_known(allowance)) return true;
    rounds = rounds || !allows_nothing(allowance);
    request.wanted.push_back(place_of(*slot));
    allowances.push_back(std::move(allowance));
    return false;
  });
  if (rounds)
    for (Allowance& allowance : allowances)
      if (allows_nothing(allowance)) allowance.relative = 1;  // its rounding to the dtype
  if (results.empty()) judged.failure = "it left nothing that can be judged";
  judged.lacks_bytes = op.lacks_bytes();
  if (judged.lacks_bytes) judged.failure = "bytes that its budget takes are not in the dump";
  if (!judged.failure.empty()) return judged;

  request.precision = rounds ? Precision::float64 : Precision::recorded;
  const ReplayAnswer answer = replayer.replay(request);
  judged.failure = answer.failure;
  if (answer.failure.empty() && answer.results.size() != results.size())
    judged.failure = "the replayer returned different results than were requested";
  if (!judged.failure.empty()) return judged;

  for (std::size_t k = 0; k < results.size(); ++k) {
    const Slot& slot = *results[k];
    const auto recorded = run.content(rank, slot.digest);
    const auto used =
        recorded && recorded->size() == packed_bytes(*slot.geometry)
            ? largest_share(allowances[k], *slot.geometry, answer.results[k], *recorded)
            : std::nullopt;
    if (!used) {
      judged.results.clear();
      judged.lacks_bytes = !recorded;
      judged.failure = "a result cannot be compared with the replayed one";
      return judged;
    }
    const bool can_take = is_rounded(slot.geometry->dtype) && !allows_nothing(allowances[k]);
    Replayed::Result& result = judged.results.emplace_back();
    result.role = slot.role;
    result.index = slot.index;
    result.element = slot.element;
    result.allowance = allowances[k];
    result.inside = *used <= 1;
    if (can_take && std::isfinite(*used)) result.used = *used;
  }
  return judged;
}

}  // namespace ulpscope::comparison::budget
