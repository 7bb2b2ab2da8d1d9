#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/batch.hpp"
#include "device/comparison.hpp"
#include "device/queue.hpp"
#include "device/stream.hpp"

/// What libulpscope_device.so offers. It is opened by name where there is a GPU, so that nothing
/// else needs CUDA; the device is the one whose context is current in the calling thread.
///
/// Work is only enqueued: nothing here but copy() allocates, waits, copies from memory that is not
/// page-locked, throws or prints, so that all of it may be called while a stream is captured into a
/// graph.
namespace ulpscope::device {

enum class Problem : std::uint8_t {
  none,
  sizes,    ///< needs_of() or plan() rejects the values
  staging,  ///< too little staging memory: see Needs::staging_bytes()
  scratch,  ///< too little: see Needs::scratch_bytes(), ComparisonScratch::bytes_for()
  results,  ///< fewer places than values
  cuda,     ///< a call of CUDA failed
};

struct [[nodiscard]] Outcome {
  Problem problem = Problem::none;
  int cuda_error = 0;  ///< a `cudaError_t`

  [[nodiscard]] bool ok() const noexcept { return problem == Problem::none; }
};

/// Memory for batches on one stream at a time.
struct Memory {
  std::span<std::byte> scratch;  ///< on the device, aligned to 16 bytes, given to prepare() once
  /// Page-locked memory of the host and as much on the device, aligned to 8 bytes: for batches that
  /// do not fit into a kernel's parameters. Unchanged until the stream has passed the batch.
  std::span<std::byte> staging;
  std::byte* staged = nullptr;
};

/// Properties of a device, as CUDA reports them.
struct Facts {
  char name[256];
  int capability;  ///< 90: compute capability 9.0
  int multiprocessors;
  int ecc;  ///< 1: on
  std::uint64_t memory_total;
  std::uint64_t memory_free;
  int driver;   ///< the newest CUDA that the driver supports, 13000: 13.0
  int runtime;  ///< of this library
};

struct Functions {
  static constexpr std::uint32_t kVersion = 4;

  std::uint32_t version;

  /// Loads every kernel onto the current device, so that nothing is loaded later, and gets scratch
  /// memory ready. May wait; not for a stream that is being captured. Scratch memory serves batches
  /// or comparisons, not both.
  Outcome (*prepare)(std::span<std::byte> scratch, Stream stream) noexcept;

  /// Digests of values, and statistics if `results` has a place for them, in one launch. Equal to
  /// ulpscope::digest_in_memory_order() or digest_in_logical_order(), bit for bit. Spans are read
  /// before this returns.
  Outcome (*enqueue_digests)(std::span<const Value> values, const Memory& memory,
                             const Results& results, Stream stream) noexcept;

  /// How far the candidate is from the reference, for difference_from(). `result` is on the device.
  Outcome (*enqueue_difference)(const Value& reference, const Value& candidate,
                                std::span<std::byte> scratch, DifferenceRecord* result,
                                Stream stream) noexcept;

  /// What CUDA calls an error.
  const char* (*error_text)(int cuda_error) noexcept;

  /// Makes a device current in the calling thread and says which one was, or -1 for a failure.
  int (*enter_device)(int device) noexcept;
  void (*leave_device)(int before) noexcept;

  /// Of the device that is current.
  bool (*describe)(Facts* facts) noexcept;

  /// CUDA's number of the capture that records a stream's work, 0 for none.
  std::uint64_t (*capture_of)(Stream stream) noexcept;

  /// Copies between any memory of the host and the device that is current, after the stream's work
  /// so far, and waits for it. Not for a stream that is being captured. False for a failure.
  bool (*copy)(void* to, const void* from, std::size_t bytes, Stream stream) noexcept;

  /// For a DigestQueue of the device that is current.
  const QueueCalls* queue_calls;
};

}  // namespace ulpscope::device

extern "C" {
/// Null if the library is not of this version.
__attribute__((visibility("default"))) const ulpscope::device::Functions* ulpscope_device_functions(
    std::uint32_t version);
}
