#pragma once

#include "ulpscope/error.hpp"

namespace ulpscope::replay {

/// Ends a request that cannot be answered, with the reason.
[[noreturn]] inline void refuse(const char* why) { throw Error(ErrorCode::usage, why); }

}  // namespace ulpscope::replay
