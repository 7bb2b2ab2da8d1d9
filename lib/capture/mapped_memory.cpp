#include "capture/mapped_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace ulpscope::capture {

bool is_mapped(const void* begin, std::size_t bytes) noexcept {
  constexpr std::size_t kPage = 4096;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t end = address + bytes;
  std::array<std::byte, 64> copy;  // one of each page: this may run on a small stack
  std::array<iovec, copy.size()> from;
  for (std::uintptr_t next = address; next < end;) {
    std::size_t count = 0;
    for (; count < from.size() && next < end; ++count, next = (next / kPage + 1) * kPage)
      from[count] = {.iov_base = reinterpret_cast<void*>(next), .iov_len = 1};
    const iovec to{.iov_base = copy.data(), .iov_len = count};
    if (process_vm_readv(getpid(), &to, 1, from.data(), count, 0) != static_cast<ssize_t>(count))
      return false;
  }
  return true;
}

}  // namespace ulpscope::capture
