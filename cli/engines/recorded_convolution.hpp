#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/engine_trials.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// A convolution that an event computed, in a form that can be computed again.
struct EventConvolution {
  std::string result;  ///< "output", "grad_input", "grad_weight"
  device::RecordedConvolution convolution;
  std::vector<std::byte> bytes;  ///< the recorded result, row-major
};

/// One for a forward, one for each gradient of a backward.
/// @throws Error with ErrorCode::usage if the event is not a convolution that cuDNN can run alone
/// (transposed, with a bias, of integers), or if the dump does not hold its bytes.
[[nodiscard]] std::vector<EventConvolution> convolutions_of(const Run& run, std::uint32_t rank,
                                                            const Event& event);

}  // namespace ulpscope::cli
