#pragma once

#include <cstdint>

#include "cli/render/page.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// Runs an event's convolutions with every engine that cuDNN has and says which one the run used.
/// @throws Error with ErrorCode::usage where libulpscope_cudnn.so is not beside this program or
/// finds no cuDNN or device, or where the event is no convolution that can be run again.
void render_engines(const Run& run, std::uint32_t rank, const Event& event, Page& page);

}  // namespace ulpscope::cli
