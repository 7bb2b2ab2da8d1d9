#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "device/batch.hpp"
#include "device/stream.hpp"

/// Digests of values of one device, requested by any thread on any stream and taken by one thread.
///
/// Kernels write into page-locked memory of the host and mark there that they are done, so taking
/// results only reads memory: nothing waits for the device, no stream gets work that is not the
/// value's own, and a stream that is being captured is never touched. Everything is allocated when
/// the queue is opened.
namespace ulpscope::device {

/// A value on the device, as the stream will have left it.
struct QueuedValue {
  std::uint64_t ticket = 0;
  Value value;
  bool logical = false;     ///< the digest in logical order too
  bool statistics = false;  ///< wanted with the digest
  bool content = false;     ///< likewise, packed in memory order, if there is memory for it
};

struct QueueResult {
  std::uint64_t ticket = 0;
  Digest digest;
  Digest logical;                                ///< zero if it was not wanted
  const StatisticsTotals* statistics = nullptr;  ///< null if they were not wanted
  Dtype dtype = Dtype::undefined;
  std::uint64_t bytes = 0;             ///< packed
  const std::byte* content = nullptr;  ///< null if it was not wanted
};

/// What a queue needs of CUDA. None of it waits for the device but `open`.
struct QueueCalls {
  /// Page-locked memory that the device writes to under the same address; null if there is none.
  void* (*allocate_host)(std::size_t bytes) noexcept;
  /// Of the device, all 0, known to its kernels.
  std::byte* (*allocate_scratch)(std::size_t bytes) noexcept;
  /// Or is one on which nothing can be requested.
  bool (*is_captured)(Stream stream) noexcept;
  /// Packed in memory order; there is space for zeros up to a multiple of 16 bytes.
  bool (*copy_to_host)(std::byte* to, const Value& value, Stream stream) noexcept;
  bool (*digest)(std::span<const Value> values, std::span<std::byte> scratch,
                 const Results& results, Stream stream) noexcept;
};

struct QueueSizes {
  std::uint32_t values = std::uint32_t{1} << 14;  ///< in flight at once
  std::size_t scratch = std::size_t{5} << 20;     ///< per stream: values of up to a GiB
  std::uint32_t streams = 16;                     ///< that a program uses
  std::size_t content = 0;                        ///< bytes of contents in flight
  std::chrono::milliseconds patience{2000};       ///< how long a thread waits for space
};

class DigestQueue {
 public:
  DigestQueue(const QueueCalls& calls, const QueueSizes& sizes) noexcept;
  DigestQueue(const DigestQueue&) = delete;
  DigestQueue& operator=(const DigestQueue&) = delete;

  /// Allocates what the queue needs. False if there is not enough.
  [[nodiscard]] bool open() noexcept;

  /// False if it is not possible: the stream is being captured, the value is too large, there are
  /// more streams than expected, there was no space in time, or CUDA failed.
  [[nodiscard]] bool enqueue(const QueuedValue& value, Stream stream) noexcept;

  /// Delivers results in the order of enqueue(), up to the first that is not there yet. False if
  /// none is there.
  template <class Take>
  bool take_ready(Take&& take) noexcept {
    bool any = false;
    QueueResult result;
    while (front(result)) {
      take(result);
      pop();
      any = true;
    }
    return any;
  }

  /// Values that have not been taken.
  [[nodiscard]] std::size_t waiting() noexcept;

 private:
  struct Entry {
    std::uint64_t ticket = 0;
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::size_t content = 0;        ///< offset
    std::size_t content_bytes = 0;  ///< that it takes of the contents' memory
    std::uint32_t place = 0;
    std::uint32_t mark = 0;
    Dtype dtype = Dtype::undefined;
    bool logical = false;
    bool statistics = false;
    bool has_content = false;
  };

  [[nodiscard]] bool front(QueueResult& result) noexcept;
  void pop() noexcept;
  [[nodiscard]] bool has_room(std::size_t content_bytes, std::size_t& offset) const noexcept;
  [[nodiscard]] std::span<std::byte> scratch_of(Stream stream) noexcept;
  [[nodiscard]] bool is_done(std::uint32_t place, std::uint32_t mark) const noexcept;

  const QueueCalls& calls_;
  const QueueSizes sizes_;
  std::mutex mutex_;
  std::deque<Entry> entries_;
  std::vector<Stream> streams_;  ///< which piece of the scratch memory each has
  std::byte* scratch_ = nullptr;
  Digest* digests_ = nullptr;  ///< two places for each value: in memory order, in logical order
  StatisticsTotals* statistics_ = nullptr;
  std::uint32_t* done_ = nullptr;
  std::byte* contents_ = nullptr;
  std::uint64_t next_ = 0;
  bool stuck_ = false;  ///< there was no space in time, and there has been none since
};

}  // namespace ulpscope::device
