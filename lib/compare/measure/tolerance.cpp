#include "compare/measure/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compare/measure/elements.hpp"
#include "compare/model/words.hpp"
#include "core/glob.hpp"

namespace ulpscope::comparison {
namespace {

/// The limits for one dtype.
struct Bounds {
  bool has_ulp = false;
  std::uint64_t ulp = 0;
  double relative = 0;
  double absolute = 0;
};

[[nodiscard]] bool inside(const Number& reference, const Number& candidate, const Bounds& bounds) {
  const double a = reference.value;
  const double b = candidate.value;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  const std::uint64_t steps = apart(reference, candidate);
  const double distance = bounds.has_ulp ? std::abs(a - b) : static_cast<double>(steps);
  return steps <= bounds.ulp || distance <= bounds.absolute + bounds.relative * std::abs(a);
}

[[nodiscard]] bool matches(const ToleranceRule& rule, const ValueNames& names) {
  if (rule.module && !(names.module && core::glob_match_module(*rule.module, *names.module)))
    return false;
  return rule.op == "*" || std::any_of(names.ops.begin(), names.ops.end(), [&](const auto& op) {
           return core::glob_match_op(rule.op, op);
         });
}

}  // namespace

bool all_inside(Dtype dtype, std::span<const std::byte> reference_bytes,
                std::span<const std::byte> candidate_bytes, const Limits& limits) {
  const bool has_ulp = is_floating_point(dtype) || is_complex(dtype);
  const Bounds bounds{has_ulp, has_ulp ? limits.max_ulp.value_or(0) : 0, limits.rtol.value_or(0),
                      limits.atol.value_or(0)};
  if (!limits.any()) return false;
  if (reference_bytes.size() != candidate_bytes.size()) return false;
  const auto all = with_numbers(dtype, [&]<class Numbers>(Numbers) {
    const std::size_t count = reference_bytes.size() / sizeof(typename Numbers::Bits);
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = bits_at<Numbers>(reference_bytes, i);
      const auto other = bits_at<Numbers>(candidate_bytes, i);
      if (one != other && !inside(Numbers::number(one), Numbers::number(other), bounds))
        return false;
    }
    return true;
  });
  return all.value_or(false);
}

Tolerance::Tolerance(const CompareOptions& options) : limits_(options.limits) {
  for (const ToleranceRule& rule : options.rules) {
    const bool expired = rule.expires && options.today && *rule.expires < *options.today;
    rules_.push_back({rule, expired, 0, 0});
  }
}

std::optional<std::size_t> Tolerance::rule_for(const NamesOf& names) const {
  if (rules_.empty()) return std::nullopt;
  const ValueNames known = names();
  for (std::size_t index = 0; index < rules_.size(); ++index)
    if (!rules_[index].expired && matches(rules_[index].rule, known)) return index;
  return std::nullopt;
}

const Limits& Tolerance::limits(std::optional<std::size_t> rule) const {
  return rule ? rules_[*rule].rule.limits : limits_;
}

ToleranceResult Tolerance::judge(const TensorBytes& tensor, const NamesOf& names) const {
  const std::optional<std::size_t> rule = rule_for(names);
  return {all_inside(tensor.dtype, tensor.bytes.reference, tensor.bytes.candidate, limits(rule)),
          rule};
}

}  // namespace ulpscope::comparison
