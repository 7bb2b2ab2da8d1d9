#pragma once

#include <cstddef>

#include "preload/preload.h"

/// Each op asks LibTorch whether anybody observes it, and where somebody does, its arguments and
/// results are packed for the observer. For an op of which nothing would be recorded, whatever its
/// arguments are, the answer is no. The address that it asks from shows which op it is.
namespace ulpscope::capture {

/// Puts the answer in the place of LibTorch's, for as long as ops are observed.
void interpose_question(const UlpscopeSymbol* symbols, std::size_t count);

/// Whether ops are observed from now on.
void answer_question(bool observed) noexcept;

}  // namespace ulpscope::capture
