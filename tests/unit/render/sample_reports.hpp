#pragma once

#include "ulpscope/report.hpp"

/// Reports as the comparison makes them, built by hand.
namespace ulpscope::test {

/// Two runs of one program, equal in every bit.
Report identical_report();

/// A convolution's weight gradient parts at step 17, recorded with bytes, caused by threads.
Report origin_report();

/// Recorded at digest level: an argument differs, and three findings follow.
Report arguments_report();

}  // namespace ulpscope::test
