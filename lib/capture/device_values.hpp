#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>

#include "capture/content.hpp"
#include "capture/storage_table.hpp"

/// Digests that are not known yet: a ticket stands for each, in slots and in what is known of
/// memory. A thread of its own takes them from the device and tells the writer.
namespace ulpscope::capture {

/// Whether a tensor's bytes lie where the device backend reads them.
[[nodiscard]] bool is_on_device(const at::Tensor& tensor);

/// Asks for the digest of a tensor's content as the device will have it. 0 where it cannot be had.
[[nodiscard]] std::uint64_t request_digest(const at::Tensor& tensor, const Content& content);

/// Puts the digest in the place of a region's ticket, where it has become known.
void settle(Region& region) noexcept;

/// Waits until what was asked for is known, or nothing has become known for so long, and ends the
/// thread that tells.
void finish_device_values(std::chrono::milliseconds patience) noexcept;

/// fork() copies locks as they stand: held while it does.
void lock_device_values();
void unlock_device_values();

/// A forked child has neither that thread nor the device.
void forget_device_values() noexcept;

}  // namespace ulpscope::capture
