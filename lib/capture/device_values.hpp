#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>

#include "capture/content.hpp"
#include "capture/storage_table.hpp"

/// Digests that are not known yet: a ticket takes the place of each, in slots and in what is known
/// about memory. A separate thread takes them from the device and sends them to the writer.
namespace ulpscope::capture {

/// Whether a tensor's bytes are where the device backend reads them.
[[nodiscard]] bool is_on_device(const at::Tensor& tensor);

/// Requests the digest of a tensor's content as the device will have it. 0 if it is not available.
[[nodiscard]] std::uint64_t request_digest(const at::Tensor& tensor, const Content& content);

/// Replaces a region's ticket with the digest, if it has become known.
void settle(Region& region) noexcept;

/// Waits until all requested digests are known, or none has arrived for that long, and ends the
/// sending thread.
void finish_device_values(std::chrono::milliseconds patience) noexcept;

/// fork() copies locks in their current state: held during fork().
void lock_device_values();
void unlock_device_values();

/// A forked child has neither that thread nor the device.
void forget_device_values() noexcept;

}  // namespace ulpscope::capture
