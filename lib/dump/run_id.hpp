#pragma once

#include "ulpscope/digest.hpp"

namespace ulpscope::dump {

/// Tells a recording from every other one: 128 random bits.
using RunId = Digest;

[[nodiscard]] RunId new_run_id();

}  // namespace ulpscope::dump
