#pragma once

#include <string>

#include "compare/report/causes/case.hpp"

namespace ulpscope::comparison {

/// What a finding is in the words of the program, where an op's own say less: "lr of SGD is 0.05
/// and 0.06". Empty where nothing is known beyond the op.
[[nodiscard]] std::string meaning(const Case& of);

}  // namespace ulpscope::comparison
