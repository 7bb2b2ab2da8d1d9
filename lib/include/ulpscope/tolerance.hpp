#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace ulpscope {

/// How far apart two numbers may be. A number is inside if it is within `max_ulp`, or if |candidate
/// - reference| <= atol + rtol * |reference|. Two NaNs are inside, an infinity is close only to
/// itself. ULP are those of floating-point dtypes: only `rtol` and `atol` apply to integers and
/// bool.
struct Limits {
  std::optional<std::uint64_t> max_ulp;
  std::optional<double> rtol;
  std::optional<double> atol;

  [[nodiscard]] bool any() const noexcept { return max_ulp || rtol || atol; }
};

/// The tolerance for the values of some ops or modules. A value belongs to the op that wrote it;
/// one that no recorded op of both runs wrote belongs to the op that reads it.
struct ToleranceRule {
  std::string op = "*";               ///< glob on the name of the op or of one that called it
  std::optional<std::string> module;  ///< glob on the module's dotted path, "" being the root
  Limits limits;
  std::string reason;
  std::optional<std::chrono::year_month_day> expires;  ///< the last day on which it applies
  std::string where;                                   ///< "tolerance.toml:12", for the report
};

}  // namespace ulpscope
