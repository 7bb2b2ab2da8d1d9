#pragma once

#include <string_view>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Two calls of an op are given and leave tensors with equal content, or views of the same part.
[[nodiscard]] bool give_the_same(const Event& reference, const Event& candidate);

/// Other words for the same place or size: a dimension or a position that is counted from the end,
/// a position beyond the last one, a size that is inferred, and whatever else leads to the same
/// view.
[[nodiscard]] bool say_the_same(const Event& reference, const Event& candidate,
                                std::string_view argument, std::string_view reference_text,
                                std::string_view candidate_text);

}  // namespace ulpscope::comparison
