#pragma once

#include <cstdint>

#include "cli/render/page.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// An event and the run that recorded it.
struct RecordedEvent {
  const Run& run;
  std::uint32_t rank;
  const Event& event;
};

/// Runs an event's convolutions with every engine that cuDNN has and says which one the run used,
/// and which one another run used that recorded the same event on the same inputs.
/// @param other null without another run.
/// @throws Error with ErrorCode::usage where libulpscope_cudnn.so is not beside this program or
/// finds no cuDNN or device, where the event is no convolution that can be run again, or where the
/// other one is another convolution or of other inputs.
void render_engines(const RecordedEvent& recorded, const RecordedEvent* other, Page& page);

}  // namespace ulpscope::cli
