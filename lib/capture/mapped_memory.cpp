#include "capture/mapped_memory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

namespace ulpscope::capture {
namespace {

std::pmr::string mappings() {
  std::pmr::string text(&process_memory());
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 4096> part;
  for (ssize_t size = 0; (size = read(file, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(size));
  close(file);
  return text;
}

bool is_running(pid_t process) {
  const int error = errno;
  const bool running = process > 0 && (kill(process, 0) == 0 || errno == EPERM);
  errno = error;
  return running;
}

/// The number at the front of a text, which then begins behind it.
std::uintptr_t take_number(std::string_view& text, int base) {
  std::uintptr_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number, base).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Of a line of /proc/self/maps: "7f00-7f10 rw-s 00000000 00:1a 77 /dev/shm/torch_12_34".
bool is_shared(std::string_view line) {
  const std::size_t access = line.find(' ');
  return access != std::string_view::npos && line.size() > access + 4 && line[access + 4] == 's';
}

bool is_of_another_that_runs(std::string_view line) {
  constexpr std::string_view kShared = "/dev/shm/torch_";
  const std::size_t name = line.find(kShared);
  if (name == std::string_view::npos) return false;
  std::string_view maker = line.substr(name + kShared.size());
  const auto process = static_cast<pid_t>(take_number(maker, 10));
  return process != getpid() && is_running(process);
}

}  // namespace

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

BorrowedMemory::BorrowedMemory(Of of) {
  const std::pmr::string text = mappings();
  std::string_view left = text;
  while (!left.empty()) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    if (of == Of::anyone ? !is_shared(line) : !is_of_another_that_runs(line)) continue;
    const std::uintptr_t begin = take_number(line, 16);
    line.remove_prefix(1);
    ranges_.emplace_back(begin, take_number(line, 16));
  }
}

bool BorrowedMemory::has(const void* memory) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return std::ranges::any_of(ranges_, [address](const Range& range) {
    return address >= range.first && address < range.second;
  });
}

}  // namespace ulpscope::capture
