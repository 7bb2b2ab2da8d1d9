#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compare/diff/evidence.hpp"
#include "compare/measure/tolerance.hpp"
#include "compare/measure/value_study.hpp"

namespace ulpscope::comparison {

/// Questions about the tensors of a finding.
[[nodiscard]] std::vector<ValueQuestion> questions_about(const Record& record,
                                                         const Tolerance& tolerance);

/// Enters the answers to questions_about(): how far the tensors are apart and what the numbers
/// show, and whether that is inside the tolerance. Gives the number of tensors whose bytes are not
/// in both dumps.
std::uint64_t enter_answers(Record& record, const Tolerance& tolerance,
                            std::span<const ValueAnswer> answers);

/// Puts findings whose values are inside the tolerance behind those that `outside` can come from:
/// findings at its place or before it, if there are any. Other findings keep their order.
void put_tolerated_last(std::vector<Record>& records, const OutsideValue& outside);

}  // namespace ulpscope::comparison
