#pragma once

#include "device/cudnn/engines.hpp"

namespace ulpscope::test {

/// Host engines in place of cuDNN's, for convolutions of two spatial dimensions in float32 and
/// float64. They sum the same products:
enum HostEngine : std::int64_t {
  kForwards,     ///< from the first to the last
  kBackwards,    ///< from the last to the first
  kEitherWay,    ///< one way and the other in turn, and says so
  kRefuses,      ///< does not support anything
  kTooLarge,     ///< needs more workspace than there is
  kHostEngines,  ///< how many there are
};

[[nodiscard]] const device::EngineFunctions& host_engines() noexcept;

}  // namespace ulpscope::test
