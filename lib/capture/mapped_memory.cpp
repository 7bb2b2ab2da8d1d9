#include "capture/mapped_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace ulpscope::capture {

bool is_mapped(const void* begin, std::size_t bytes) noexcept {
  std::array<std::byte, 64 << 10> copy;
  auto* next = static_cast<std::byte*>(const_cast<void*>(begin));
  while (bytes > 0) {
    const std::size_t size = std::min(bytes, copy.size());
    const iovec to{.iov_base = copy.data(), .iov_len = size};
    const iovec from{.iov_base = next, .iov_len = size};
    const ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (copied <= 0) return false;
    next += copied;
    bytes -= static_cast<std::size_t>(copied);
  }
  return true;
}

}  // namespace ulpscope::capture
