#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "compare/measure/rounding.hpp"
#include "compare/model/value_match.hpp"
#include "compare/model/words.hpp"
#include "compare/report/causes/rules.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison::causes {
namespace {

[[nodiscard]] bool is_result(const TensorReport& tensor) { return tensor.role != Role::input; }

}  // namespace

std::optional<Cause> ties(const Case& of) {
  if (!of.is(FindingKind::origin) || !facts::Op(of.finding().op).has(facts::fact::chooses))
    return std::nullopt;
  bool indices_differ = false;
  bool values_equal = false;
  std::optional<bool> repeated;
  for (std::size_t k = 0; k < of.finding().tensors.size(); ++k) {
    const TensorReport& tensor = of.finding().tensors[k];
    if (!is_result(tensor)) {
      repeated = of.evidence().tensors[k].repeats;
    } else if (tensor.dtype == Dtype::int64 && !tensor.equal) {
      indices_differ = true;
    } else if (tensor.equal) {
      values_equal = true;
    } else {
      return std::nullopt;
    }
  }
  if (!indices_differ || repeated == false) return std::nullopt;
  Cause cause = of.cause(
      "ties", values_equal || repeated == true ? Confidence::certain : Confidence::possible);
  cause.evidence = {values_equal ? "the chosen values are equal, their indices are not"
                                 : "different places were chosen from equal input"};
  if (repeated == true) cause.evidence.emplace_back("the input holds equal numbers");
  cause.attempt = {"use a stable sort, or make the numbers distinct"};
  return cause;
}

std::optional<Cause> duplicate_index(const Case& of) {
  if (!of.is(FindingKind::origin) || !facts::Op(of.finding().op).has(facts::fact::scatters))
    return std::nullopt;
  std::optional<bool> repeated;
  bool differs = false;
  bool rounded = true;
  for (std::size_t k = 0; k < of.finding().tensors.size(); ++k) {
    const TensorReport& tensor = of.finding().tensors[k];
    if (tensor.role == Role::input && tensor.dtype == Dtype::int64)
      repeated = of.evidence().tensors[k].repeats;
    if (!is_result(tensor) || !tensor.difference) continue;
    const double apart = tensor.difference->scaled_max.value_or(0);
    differs = differs || apart > 0;
    rounded = rounded && apart < rounding_distance(tensor.dtype, roundings::kFewTerms);
  }
  if (repeated == false || (differs && rounded)) return std::nullopt;
  Cause cause =
      of.cause("duplicate-index", repeated == true ? Confidence::likely : Confidence::possible);
  cause.evidence = {
      repeated == true ? "the indices hold the same place more than once, and who writes last is "
                         "not determined"
                       : "where indices hold the same place more than once, who writes last is not "
                         "determined"};
  if (repeated != true) cause.attempt = {"ulpscope record --level full -- " + of.command("")};
  cause.attempt.emplace_back("at::globalContext().setDeterministicAlgorithms(true, false)");
  return cause;
}

std::optional<Cause> int_cast(const Case& of) {
  if (!of.is(FindingKind::origin)) return std::nullopt;
  if (!facts::Op(of.finding().op).has(facts::fact::casts)) return std::nullopt;
  const auto& tensors = of.finding().tensors;
  const bool from_float = std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) {
    return tensor.role == Role::input && is_floating_point(tensor.dtype);
  });
  const bool to_integer = std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) {
    return is_result(tensor) && !tensor.equal && !is_floating_point(tensor.dtype);
  });
  if (!from_float || !to_integer) return std::nullopt;
  Cause cause = of.cause("int-cast", Confidence::likely);
  cause.evidence = {
      "numbers become integers, which is undefined for NaN, infinity and what does not fit"};
  cause.attempt = {"clamp the numbers before the conversion"};
  return cause;
}

std::optional<Cause> int32_index(const Case& of) {
  if (!of.is(FindingKind::origin)) return std::nullopt;
  for (std::size_t k = 0; k < of.finding().tensors.size(); ++k) {
    const std::uint64_t count = element_count(of.evidence().tensors[k].geometry.reference);
    if (count <= std::numeric_limits<std::int32_t>::max()) continue;
    Cause cause = of.cause("int32-index", Confidence::possible);
    cause.evidence = {fmt::format("a tensor has {} elements, more than 32 bits can count", count)};
    cause.attempt = {"split the tensor and see whether the difference stays"};
    return cause;
  }
  return std::nullopt;
}

}  // namespace ulpscope::comparison::causes
