#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "ulpscope/replay.hpp"

namespace ulpscope::replay {

/// The arguments of an op that are not tensors, by their index in the schema, as LibTorch takes
/// them. With Precision::float64 a floating-point dtype is float64. Every device is the CPU, unless
/// `on_gpu`, and every generator is the default one.
///
/// @throws Error with ErrorCode::corrupt if the bytes are damaged, and with ErrorCode::usage for
/// an argument whose value was not recorded.
[[nodiscard]] std::map<std::size_t, c10::IValue> stored_arguments(std::span<const std::byte> bytes,
                                                                  Precision precision, bool on_gpu);

}  // namespace ulpscope::replay
