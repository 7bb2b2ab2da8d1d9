#pragma once

#include "ulpscope/digest.hpp"

namespace ulpscope::dump {

/// Identifies a recording: 128 random bits.
using RunId = Digest;

[[nodiscard]] RunId new_run_id();

}  // namespace ulpscope::dump
