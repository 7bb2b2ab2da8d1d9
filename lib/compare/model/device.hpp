#pragma once

#include <algorithm>
#include <cstdint>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

inline constexpr std::uint8_t kCudaDevice = 1;  ///< of c10::DeviceType

/// Whether an op reads or leaves a tensor on a GPU.
[[nodiscard]] inline bool runs_on_gpu(const Event& event) noexcept {
  return std::any_of(event.slots.begin(), event.slots.end(), [](const Slot& slot) {
    return slot.geometry != nullptr && slot.geometry->device_type == kCudaDevice;
  });
}

}  // namespace ulpscope::comparison
