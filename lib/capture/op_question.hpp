#pragma once

#include <cstddef>

#include "preload/preload.h"

/// Each op asks LibTorch whether anybody observes it, and where somebody does, its arguments and
/// results are packed for the observer. Ops of which nothing would be recorded, whatever their
/// arguments are, are told that nobody does: which of them asks shows in the address it asks from.
namespace ulpscope::capture {

/// Puts the answer in the place of LibTorch's, for as long as ops are observed.
void interpose_question(const UlpscopeSymbol* symbols, std::size_t count);

/// Whether ops are observed from now on.
void answer_question(bool observed) noexcept;

}  // namespace ulpscope::capture
