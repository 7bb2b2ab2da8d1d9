#include "capture/device_backend.hpp"

namespace ulpscope::capture {

const c10::DeviceType kHostDevice = c10::DeviceType::CPU;
const c10::DeviceType kBackendDevice = c10::DeviceType::CUDA;

DeviceBackend* device_backend() noexcept { return nullptr; }

}  // namespace ulpscope::capture
