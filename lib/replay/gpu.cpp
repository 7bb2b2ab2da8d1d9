#include "replay/gpu.hpp"

#include <ATen/Context.h>

#include "ulpscope/error.hpp"

namespace ulpscope::replay {

c10::Device gpu(int number) {
  const auto gpus = static_cast<int>(at::getNumGPUs());
  if (gpus == 0) throw Error(ErrorCode::usage, "it ran on a GPU, and none can be used here");
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(number % gpus)};
}

}  // namespace ulpscope::replay
