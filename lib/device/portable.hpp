#pragma once

#include <cstdint>
#include <cstring>

/// What lets one piece of code run in a kernel and, compiled by the host's compiler alone, in the
/// CPU twin. The twin runs one thread at a time, so there atomic operations are plain ones.
#if defined(__CUDACC__)
#define ULPSCOPE_HOST_DEVICE __host__ __device__
#else
#define ULPSCOPE_HOST_DEVICE
#endif
#if defined(__CUDA_ARCH__)
#define ULPSCOPE_UNROLL _Pragma("unroll")
#define ULPSCOPE_KEEP_LOOP _Pragma("unroll 1")
#else
#define ULPSCOPE_UNROLL
#define ULPSCOPE_KEEP_LOOP
#endif

namespace ulpscope::device {

__extension__ typedef unsigned __int128 Wide;

/// 16 bytes of a value: what one thread loads at once. Machines are little-endian.
struct alignas(16) Piece {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Loads what no kernel writes while this one runs.
ULPSCOPE_HOST_DEVICE inline Piece load_piece(const Piece* from) {
#if defined(__CUDA_ARCH__)
  const ulonglong2 loaded = __ldg(reinterpret_cast<const ulonglong2*>(from));
  return {loaded.x, loaded.y};
#else
  return *from;
#endif
}

/// Loads what another block of this kernel has written, after a fence.
ULPSCOPE_HOST_DEVICE inline Piece load_written_piece(const Piece* from) {
#if defined(__CUDA_ARCH__)
  const ulonglong2 loaded = __ldcg(reinterpret_cast<const ulonglong2*>(from));
  return {loaded.x, loaded.y};
#else
  return *from;
#endif
}

/// Writes of this thread, or of a thread that it has met at a barrier, come before its later
/// writes, for threads of other blocks too.
ULPSCOPE_HOST_DEVICE inline void fence() {
#if defined(__CUDA_ARCH__)
  __threadfence();
#endif
}

/// Writes a number after everything that this thread has written, for the host to see.
ULPSCOPE_HOST_DEVICE inline void publish(std::uint32_t* to, std::uint32_t number) {
#if defined(__CUDA_ARCH__)
  __threadfence_system();
  *static_cast<volatile std::uint32_t*>(to) = number;
#else
  __atomic_store_n(to, number, __ATOMIC_RELEASE);
#endif
}

/// Adds and returns what was there before.
ULPSCOPE_HOST_DEVICE inline std::uint32_t add_atomically(std::uint32_t* number,
                                                         std::uint32_t addend) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(number, addend);
#else
  const std::uint32_t before = *number;
  *number += addend;
  return before;
#endif
}

}  // namespace ulpscope::device
