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
/// and which one a second run used that recorded the same event on the same inputs.
/// @param other null without a second run.
/// @throws Error with ErrorCode::usage if libulpscope_cudnn.so is not beside this program or finds
/// no cuDNN or device, if the event is not a convolution that can be run again, or if the other
/// event is a different convolution or has different inputs.
void render_engines(const RecordedEvent& recorded, const RecordedEvent* other, Page& page);

}  // namespace ulpscope::cli
