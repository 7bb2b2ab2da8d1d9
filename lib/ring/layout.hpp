#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ring/settings.hpp"

/// What the program being recorded and the writer share. Everything here is in memory that two
/// processes see; nothing in it is a pointer.
namespace ulpscope::ring {

inline constexpr std::uint64_t kRingMagic = 0x31474e4952504c55;     // "ULPRING1"
inline constexpr std::uint64_t kWriterMagic = 0x3154495257504c55;   // "ULPWRIT1"
inline constexpr std::uint64_t kSessionMagic = 0x3153534553504c55;  // "ULPSESS1"

/// Two lines: neighboring lines are fetched in pairs.
inline constexpr std::size_t kLineBytes = 128;

inline constexpr std::uint64_t kSmallestRing = std::uint64_t{64} << 10;
inline constexpr std::uint64_t kLargestRing = std::uint64_t{1} << 30;

/// Why a producer no longer records.
enum class ProducerEnd : std::uint32_t {
  none,          ///< it still records
  closed,        ///< its thread ended, everything it committed is in the ring
  writer_gone,   ///< the writer process ended
  writer_stuck,  ///< the ring was full and the writer did not move for the stated time
  stopped,       ///< the writer closed the ring, or another thread of the process gave up
  damaged,       ///< the ring's counters are inconsistent
  no_memory,     ///< there was none for what the ring had not yet used
};

/// First page of a ring. `head` and `tail` count bytes from the ring's beginning and never wrap;
/// a byte's place is its count modulo `capacity`.
struct RingHeader {
  std::uint64_t magic;
  std::uint32_t protocol;
  std::uint32_t header_bytes;  ///< where the data begins: one page
  std::uint64_t capacity;      ///< a power of two and a multiple of the page size
  std::uint32_t unfilled;      ///< 1: the producer populates the data's memory when it reaches it

  alignas(kLineBytes) std::atomic<std::uint64_t> head;  ///< written by the producer only
  std::atomic<std::uint64_t> stalls;                    ///< times the ring was full
  std::atomic<std::uint64_t> stalled_nanoseconds;
  std::atomic<ProducerEnd> producer_end;

  alignas(kLineBytes) std::atomic<std::uint64_t> tail;  ///< written by the consumer only

  alignas(kLineBytes) std::atomic<std::uint32_t> consumer_closed;  ///< 1: the reader is gone
};

/// One page for all rings of a writer; read-only in the programs being recorded.
struct WriterPage {
  std::uint64_t magic;
  std::uint32_t protocol;
  std::uint32_t reserved;

  alignas(kLineBytes) std::atomic<std::uint64_t> progress;  ///< moves while the writer works

  /// Robust and held by the writer's thread as long as it lives, so that the kernel removes its
  /// thread id when the writer ends, for whatever reason. Works for a killed writer that has not
  /// been waited for and across pid namespaces, where checking the process id does not.
  alignas(kLineBytes) pthread_mutex_t alive;
};

/// A sentence that a program leaves where no ring carries it. The first one stays.
struct LastWord {
  std::atomic<std::uint32_t> state;  ///< 0: none, 1: being written, 2: complete
  Text<160> sentence;
};

/// One page per process: its messages if it cannot have a ring.
struct SessionPage {
  std::uint64_t magic;
  std::uint32_t protocol;
  std::uint32_t reserved;
  LastWord ended;     ///< why recording of the process ended before the process did
  LastWord no_child;  ///< why a child of it could not be recorded
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<ProducerEnd>::is_always_lock_free);
static_assert(sizeof(RingHeader) <= 4096 && sizeof(WriterPage) <= 4096);
static_assert(sizeof(SessionPage) <= 4096);

/// True while the thread that holds `page.alive` exists.
[[nodiscard]] bool writer_alive(const WriterPage& page) noexcept;

}  // namespace ulpscope::ring
