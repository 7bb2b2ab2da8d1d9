#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <span>

namespace ulpscope::replay {

/// Puts a device's default generator into a recorded state (core/generator_state.hpp).
/// @throws Error with ErrorCode::usage if the state is not one of that device's generator.
void set_default_generator(c10::Device device, std::span<const std::byte> state);

}  // namespace ulpscope::replay
