#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "capture/device_backend.hpp"
#include "capture/interpose.hpp"
#include "capture/library_beside.hpp"
#include "capture/memory.hpp"
#include "capture/recorder.hpp"
#include "device/device.hpp"

namespace ulpscope::capture {

const c10::DeviceType kHostDevice = c10::DeviceType::CPU;
const c10::DeviceType kBackendDevice = c10::DeviceType::CUDA;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostDevices = 64;
/// Bytes of contents that may be on their way to the writer, if they are recorded.
constexpr std::size_t kContents = std::size_t{256} << 20;
constexpr auto kNap = 200us;

const device::Functions* open_kernels() noexcept {
  const auto functions = reinterpret_cast<decltype(&ulpscope_device_functions)>(
      function_beside("libulpscope_device.so", "ulpscope_device_functions"));
  return functions == nullptr ? nullptr : functions(device::Functions::kVersion);
}

/// "13.0" of 13000.
std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// "13.1.0" of the mapped library, empty if none is mapped. Does not access a device.
std::string cublas_version() {
  for (const char* const name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}) {
    void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    using GetProperty = int(int property, int* value);
    const auto get = reinterpret_cast<GetProperty*>(dlsym(library, "cublasGetProperty"));
    std::array<int, 3> parts{};  // MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL of library_types.h
    bool known = get != nullptr;
    for (int i = 0; known && i < 3; ++i) known = get(i, &parts[static_cast<std::size_t>(i)]) == 0;
    dlclose(library);
    if (known)
      return std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." +
             std::to_string(parts[2]);
  }
  return {};
}

/// A device is current in this thread as long as it lives.
class OnDevice {
 public:
  OnDevice(const device::Functions& cuda, int index) noexcept
      : cuda_(cuda), before_(cuda.enter_device(index)) {}
  ~OnDevice() {
    if (before_ >= 0) cuda_.leave_device(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  [[nodiscard]] explicit operator bool() const noexcept { return before_ >= 0; }

 private:
  const device::Functions& cuda_;
  int before_;
};

class CudaBackend final : public DeviceBackend {
 public:
  explicit CudaBackend(const device::Functions& cuda) : cuda_(cuda) {}

  bool enqueue(const DeviceValue& value) noexcept override {
    try {
      const c10::Device device(c10::DeviceType::CUDA, value.device);
      const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
      void* const stream = guard.getStream(device).native_handle();
      const OnDevice on(cuda_, value.device);
      if (!on || cuda_.queue_calls->is_captured(stream)) return false;
      device::DigestQueue* const queue = queue_of(value.device);
      if (queue == nullptr) return false;
      device::QueuedValue queued;
      queued.ticket = value.ticket;
      queued.value.bytes = value.bytes;
      queued.value.dtype = value.dtype;
      queued.logical = value.logical;
      queued.statistics = value.statistics;
      queued.content = value.content;
      return queue->enqueue(queued, stream);
    } catch (...) {
      return false;
    }
  }

  bool copy(void* to, const void* from, std::size_t bytes,
            c10::DeviceIndex index) noexcept override {
    try {
      const c10::Device device(c10::DeviceType::CUDA, index);
      const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
      void* const stream = guard.getStream(device).native_handle();
      const OnDevice on(cuda_, index);
      return on && !cuda_.queue_calls->is_captured(stream) && cuda_.copy(to, from, bytes, stream);
    } catch (...) {
      return false;
    }
  }

  std::uint64_t capture_of(c10::DeviceIndex index) noexcept override {
    try {
      const c10::Device device(c10::DeviceType::CUDA, index);
      const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
      return cuda_.capture_of(guard.getStream(device).native_handle());
    } catch (...) {
      return 0;
    }
  }

  c10::DeviceIndex current_device() noexcept override {
    try {
      return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getDevice().index();
    } catch (...) {
      return 0;
    }
  }

  bool drain(std::chrono::milliseconds timeout,
             const std::function<void(const DeviceResult&)>& take) noexcept override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    bool any = false;
    while (true) {
      for (OneDevice& one : devices_)
        if (device::DigestQueue* const queue = one.queue.load(std::memory_order_acquire))
          any = queue->take_ready([&](const auto& result) { hand_over(result, take); }) || any;
      if (any || std::chrono::steady_clock::now() > deadline) return any;
      std::this_thread::sleep_for(kNap);
    }
  }

  EnvironmentValues new_settings() override {
    EnvironmentValues values;
    for (std::size_t index = 0; index < devices_.size(); ++index) {
      OneDevice& one = devices_[index];
      if (one.described || !one.tried.load(std::memory_order_acquire)) continue;
      one.described = true;
      if (one.queue.load(std::memory_order_acquire) == nullptr)
        values["capture.device." + std::to_string(index)] =
            "its values are not read: CUDA gives no page-locked memory, or none of the device";
      describe(static_cast<c10::DeviceIndex>(index), values);
    }
    return values;
  }

 private:
  struct OneDevice {
    std::atomic<device::DigestQueue*> queue{nullptr};
    std::atomic<bool> tried{false};
    bool described = false;
  };

  device::DigestQueue* queue_of(c10::DeviceIndex index) {
    if (index < 0 || static_cast<std::size_t>(index) >= devices_.size()) return nullptr;
    OneDevice& one = devices_[static_cast<std::size_t>(index)];
    if (device::DigestQueue* const known = one.queue.load(std::memory_order_acquire)) return known;
    const std::lock_guard guard(opening_);
    if (!one.tried.load(std::memory_order_relaxed)) {
      device::QueueSizes sizes;
      if (settings().level == ring::Level::full) sizes.content = kContents;
      auto& queue = immortal<device::DigestQueue>(*cuda_.queue_calls, sizes);
      if (queue.open()) one.queue.store(&queue, std::memory_order_release);
      one.tried.store(true, std::memory_order_release);
    }
    return one.queue.load(std::memory_order_acquire);
  }

  static void hand_over(const device::QueueResult& result,
                        const std::function<void(const DeviceResult&)>& take) {
    DeviceResult told;
    told.ticket = result.ticket;
    told.digest = result.digest;
    told.logical = result.logical;
    told.dtype = result.dtype;
    if (result.statistics != nullptr)
      told.statistics = device::statistics_from(*result.statistics, result.dtype, result.bytes);
    if (result.content != nullptr)
      told.content = std::span(result.content, static_cast<std::size_t>(result.bytes));
    take(told);
  }

  void describe(c10::DeviceIndex index, EnvironmentValues& values) const {
    const OnDevice on(cuda_, index);
    device::Facts facts;
    if (!on || !cuda_.describe(&facts)) return;
    const std::string device = std::to_string(index);
    const std::string key = "device." + device + ".";
    values[key + "name"] = facts.name;
    values[key + "capability"] =
        std::to_string(facts.capability / 10) + "." + std::to_string(facts.capability % 10);
    values[key + "sms"] = std::to_string(facts.multiprocessors);
    values[key + "ecc"] = facts.ecc != 0 ? "on" : "off";
    values[key + "memory_total"] = std::to_string(facts.memory_total);
    values[key + "memory_free"] = std::to_string(facts.memory_free);
    values[key + "driver"] = cuda_version(facts.driver);
    const auto& hooks = at::detail::getCUDAHooks();
    if (hooks.hasCUDART())
      values["cuda.version"] = cuda_version(static_cast<int>(hooks.versionCUDART()));
    if (hooks.hasCuDNN()) values["cudnn.version"] = std::to_string(hooks.versionRuntimeCuDNN());
    if (const std::string version = cublas_version(); !version.empty())
      values["cublas.version"] = version;
    const auto& generator =
        at::globalContext().defaultGenerator(c10::Device(c10::DeviceType::CUDA, index));
    values["rng.device." + device + ".seed"] = std::to_string(generator.current_seed());
  }

  const device::Functions& cuda_;
  std::mutex opening_;
  std::array<OneDevice, kMostDevices> devices_;
};

}  // namespace

DeviceBackend* device_backend() noexcept {
  static DeviceBackend* const backend = []() -> DeviceBackend* {
    const device::Functions* const cuda = open_kernels();
    if (cuda != nullptr) interpose_cuda();
    return cuda == nullptr ? nullptr : &immortal<CudaBackend>(*cuda);
  }();
  return backend;
}

}  // namespace ulpscope::capture
