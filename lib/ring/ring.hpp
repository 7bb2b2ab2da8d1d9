#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ring/layout.hpp"
#include "ring/mapping.hpp"

/// One ring: bytes from one thread of a program being recorded to the writer. The data is mapped
/// twice back to back, so that every message is contiguous at any position.
namespace ulpscope::ring {

/// Says to every producer of a process whether its session still records. Lies in a page that
/// reads as zeros in a forked child, however it was forked.
struct SessionGuard {
  std::atomic<std::uint64_t> token;  ///< the session's token; with kOver added when it is over
};
inline constexpr std::uint64_t kOver = 1;

/// What a producer needs to know about the session that it belongs to.
struct SessionLink {
  SessionGuard* guard = nullptr;
  const WriterPage* writer = nullptr;
  std::uint64_t token = 0;  ///< even and not 0
  std::uint32_t give_up_milliseconds = 10'000;
};

/// The writing end. Belongs to one thread; no call throws, allocates, raises a signal or changes
/// errno. A default constructed producer records nothing.
class Producer {
 public:
  Producer() noexcept = default;
  Producer(RingMapping mapping, const SessionLink& session) noexcept;
  Producer(Producer&& other) noexcept;
  Producer& operator=(Producer&& other) noexcept;
  /// Closes the ring: what was committed is still delivered.
  ~Producer();

  /// Space for `size` bytes (a multiple of 8), contiguous and aligned to 8, or nullptr. Waits while
  /// the ring is full and the writer works. nullptr with recording() still true: this message was
  /// rejected because it is larger than max_message() or not a multiple of 8; nothing else changed.
  /// nullptr with recording() false: nothing will be recorded any more in this process.
  [[nodiscard]] void* reserve(std::uint32_t size) noexcept {
    if (!recording()) return note_end();
    if (size - 8 > max_message_ - 8 || size % 8 != 0) return nullptr;
    if (limit_ - head_ < size && !make_room(size)) return nullptr;
    return data_ + (head_ & mask_);
  }

  /// Hands the first `size` reserved bytes to the writer: they are delivered even if the program is
  /// killed right after. Several messages reserved as one and written consecutively may be
  /// committed as one. 0 takes the reservation back.
  /// @pre `size` is a multiple of 8 and not larger than what was reserved.
  void commit(std::uint32_t size) noexcept {
    head_ += size;
    header_->head.store(head_, std::memory_order_release);
  }

  /// False in a forked child, after the writer has gone and for a default constructed producer.
  [[nodiscard]] bool recording() const noexcept {
    return link_.guard != nullptr &&
           link_.guard->token.load(std::memory_order_relaxed) == link_.token;
  }

  [[nodiscard]] std::uint32_t max_message() const noexcept { return max_message_; }

  /// Why this producer no longer records.
  [[nodiscard]] ProducerEnd end() const noexcept { return end_; }

 private:
  [[nodiscard]] bool make_room(std::uint32_t size) noexcept;
  [[nodiscard]] bool wait_for_room(std::uint32_t size) noexcept;
  /// In the first lap: what is returned next has memory.
  [[nodiscard]] bool fetch_room(std::uint32_t size) noexcept;
  /// Looks how far the consumer is. False when nothing can be recorded any more.
  [[nodiscard]] bool look_at_writer() noexcept;
  [[nodiscard]] void* note_end() noexcept;
  void give_up(ProducerEnd why) noexcept;
  void close() noexcept;

  RingHeader* header_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t room_end_ = 0;  ///< where head_ would meet the tail last seen
  std::uint64_t limit_ = 0;     ///< not beyond room_end_: how far head_ grows before looking again
  std::uint64_t fetched_ = 0;   ///< bytes of the data that have memory
  std::uint32_t max_message_ = 0;
  ProducerEnd end_ = ProducerEnd::none;
  SessionLink link_;
  RingMapping mapping_;
};

/// The reading end. Treats everything in the shared memory as hostile: counters are read once and
/// checked, its own position is kept in private memory.
///
/// The producer can change bytes after they were returned. Validate a copy: use read(). available()
/// is for bytes whose meaning does not matter (counting, forwarding).
class Consumer {
 public:
  Consumer() noexcept = default;
  explicit Consumer(RingMapping mapping) noexcept;

  /// Committed bytes that were not yet released, contiguous. Empty when there are none and when
  /// the ring is damaged().
  [[nodiscard]] std::span<const std::byte> available() noexcept;

  /// Copies the oldest committed bytes, at most as many as `buffer` holds, and says how many. They
  /// stay in the ring until they are released.
  [[nodiscard]] std::size_t read(std::span<std::byte> buffer) noexcept;

  /// Gives the oldest `bytes` back to the producer.
  /// @pre available() has shown at least that many.
  void release(std::size_t bytes) noexcept;

  /// Notifies the producer that the reader is gone: it stops recording at its next check.
  void close() noexcept;

  /// The producer's counters are inconsistent: nothing more can be read.
  [[nodiscard]] bool damaged() const noexcept { return damaged_; }

  [[nodiscard]] ProducerEnd producer_end() const noexcept;
  [[nodiscard]] std::uint64_t stalls() const noexcept;
  [[nodiscard]] std::uint64_t stalled_nanoseconds() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept { return mapping_.capacity(); }
  [[nodiscard]] std::uint64_t bytes_released() const noexcept { return tail_; }

 private:
  RingMapping mapping_;
  std::uint64_t head_ = 0;  ///< as last seen
  std::uint64_t tail_ = 0;
  bool damaged_ = false;
};

}  // namespace ulpscope::ring
