#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/measure/tensor_bytes.hpp"
#include "ulpscope/compare.hpp"
#include "ulpscope/report.hpp"

namespace ulpscope::comparison {

/// What a rule and the report can name a value by.
struct ValueNames {
  std::vector<std::string> ops;       ///< the op that wrote it and those that called it
  std::optional<std::string> module;  ///< empty if it is in none
  std::uint64_t event = kNone;        ///< position of the op that shows it, in the reference
  std::string op;                     ///< of that event
  std::string tensor;                 ///< its own name or its place there: "fc.weight", "out 0"
};
/// Needed only if there are rules.
using NamesOf = std::function<ValueNames()>;

/// The requested tolerance: rules, and limits for everything else.
class Tolerance {
 public:
  explicit Tolerance(const CompareOptions& options);

  [[nodiscard]] bool any() const noexcept { return limits_.any() || !rules_.empty(); }
  [[nodiscard]] bool has_rules() const noexcept { return !rules_.empty(); }

  /// The index of the first rule in force that matches; empty if the limits for everything else
  /// hold.
  [[nodiscard]] std::optional<std::size_t> rule_for(const NamesOf& names) const;
  /// What holds for a value that this rule decides about, or none.
  [[nodiscard]] const Limits& limits(std::optional<std::size_t> rule) const;
  [[nodiscard]] ToleranceResult judge(const TensorBytes& tensor, const NamesOf& names) const;

  [[nodiscard]] const std::vector<RuleUse>& rules() const noexcept { return rules_; }

 private:
  Limits limits_;
  std::vector<RuleUse> rules_;
};

/// Whether every number of a value, or of a piece of it, is inside of the limits; without any, none
/// is.
[[nodiscard]] bool all_inside(Dtype dtype, std::span<const std::byte> reference,
                              std::span<const std::byte> candidate, const Limits& limits);

}  // namespace ulpscope::comparison
