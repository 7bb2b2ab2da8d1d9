#pragma once

#include "device/queue.hpp"

namespace ulpscope::device {

/// On the device that is current in the calling thread.
extern const QueueCalls kCudaQueueCalls;

}  // namespace ulpscope::device
