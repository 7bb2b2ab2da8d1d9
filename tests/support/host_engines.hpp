#pragma once

#include "device/cudnn/engines.hpp"

namespace ulpscope::test {

/// Engines of the host in the place of cuDNN's, for convolutions of two spatial dimensions in
/// float32 and float64. They add up the same products:
enum HostEngine : std::int64_t {
  kForwards,     ///< from the first to the last
  kBackwards,    ///< from the last to the first
  kEitherWay,    ///< one way and the other by turns, and says so
  kRefuses,      ///< does not support anything
  kTooLarge,     ///< needs more workspace than there is
  kHostEngines,  ///< how many there are
};

[[nodiscard]] const device::EngineFunctions& host_engines() noexcept;

}  // namespace ulpscope::test
