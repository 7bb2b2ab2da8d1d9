#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "capture/environment_values.hpp"
#include "ulpscope/digest.hpp"
#include "ulpscope/dtype.hpp"
#include "ulpscope/statistics.hpp"

/// Digests of values in a device's memory. They are computed there, in the order of the program's
/// own work, and are known some time later.
namespace ulpscope::capture {

/// Tensors of this device are read where they are.
extern const c10::DeviceType kHostDevice;
/// Those of this device by the backend.
extern const c10::DeviceType kBackendDevice;

/// A value as it will be when the device has finished its current work. The spans are not kept.
struct DeviceValue {
  std::uint64_t ticket = 0;
  StridedBytes bytes;
  Dtype dtype = Dtype::undefined;
  c10::DeviceIndex device = 0;
  bool logical = false;     ///< the digest in logical order too
  bool statistics = false;  ///< wanted with the digest
  bool content = false;     ///< likewise, packed in memory order
};

struct DeviceResult {
  std::uint64_t ticket = 0;
  bool failed = false;
  Digest digest;
  Digest logical;  ///< zero if it was not wanted
  Dtype dtype = Dtype::undefined;
  std::optional<Statistics> statistics;
  std::optional<std::span<const std::byte>> content;
};

class DeviceBackend {
 public:
  DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;

  /// Has a value's digest computed after everything that the calling thread has given the device.
  /// Does not wait for the device, only for space. False if it cannot be: the stream is being
  /// captured into a graph, the value is too large, the device has failed.
  [[nodiscard]] virtual bool enqueue(const DeviceValue& value) noexcept = 0;

  /// Waits for results and delivers what there is, in order. For one thread at a time. False if
  /// there was nothing.
  virtual bool drain(std::chrono::milliseconds timeout,
                     const std::function<void(const DeviceResult&)>& take) noexcept = 0;

  /// Copies between the host's memory and a device's, after everything that the calling thread has
  /// given the device, and waits for it. False if it cannot: the stream is being captured into a
  /// graph, the device has failed.
  [[nodiscard]] virtual bool copy(void* to, const void* from, std::size_t bytes,
                                  c10::DeviceIndex device) noexcept = 0;

  /// Which graph capture records the calling thread's work for a device, 0 for none.
  [[nodiscard]] virtual std::uint64_t capture_of(c10::DeviceIndex device) noexcept = 0;
  /// The calling thread's.
  [[nodiscard]] virtual c10::DeviceIndex current_device() noexcept = 0;

  /// What is known about the devices used for the first time since the last call: `device.N.name`
  /// and similar settings. For the thread that drains.
  [[nodiscard]] virtual EnvironmentValues new_settings() { return {}; }

 protected:
  ~DeviceBackend() = default;
};

/// The one of this process, opened at the first call; null if there is no such device or it
/// cannot be used.
[[nodiscard]] DeviceBackend* device_backend() noexcept;

}  // namespace ulpscope::capture
