#include "ring/mapping.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "ring/message.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace ulpscope::ring {

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

bool fetch_memory(void* pages, std::size_t bytes) noexcept {
  int result = 0;
  do {
    result = ::madvise(pages, bytes, MADV_POPULATE_WRITE);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

std::uint64_t ring_capacity(std::uint64_t wanted) noexcept {
  return std::bit_ceil(std::clamp(wanted, kSmallestRing, kLargestRing));
}

RingMapping RingMapping::map(int descriptor, std::uint64_t capacity) noexcept {
  const std::size_t page = page_bytes();
  if (capacity != ring_capacity(capacity)) return {};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) != page + capacity) {
    return {};
  }
  void* const reserved = ::mmap(nullptr, page + 2 * capacity, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return {};
  auto* const base = static_cast<std::byte*>(reserved);
  RingMapping mapping(base, capacity);  // owns the address range from here on

  constexpr int kAccess = PROT_READ | PROT_WRITE;
  constexpr int kShared = MAP_SHARED | MAP_FIXED;
  if (::mmap(base, page + capacity, kAccess, kShared, descriptor, 0) == MAP_FAILED ||
      ::mmap(base + page + capacity, capacity, kAccess, kShared, descriptor,
             static_cast<off_t>(page)) == MAP_FAILED) {
    return {};
  }
  const RingHeader& header = *mapping.header();
  if (header.magic != kRingMagic || header.protocol != kProtocolVersion ||
      header.header_bytes != page || header.capacity != capacity) {
    return {};
  }
  return mapping;
}

RingMapping::RingMapping(RingMapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}

RingMapping& RingMapping::operator=(RingMapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

RingMapping::~RingMapping() {
  if (base_ != nullptr) ::munmap(base_, page_bytes() + 2 * capacity_);
}

RingHeader* RingMapping::header() const noexcept { return reinterpret_cast<RingHeader*>(base_); }

std::byte* RingMapping::data() const noexcept { return base_ + page_bytes(); }

}  // namespace ulpscope::ring
