#include "ring/wait_status.hpp"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace ulpscope::ring {
namespace {

/// linux/pidfd.h of Linux 6.15; headers of older systems do not have it.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t ids[11];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, PidfdInfo);
constexpr std::uint64_t kInfoExit = 1U << 3;

std::optional<int> status_of_reaped(int process) noexcept {
  PidfdInfo info{};
  info.mask = kInfoExit;
  if (::ioctl(process, kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) return std::nullopt;
  return info.exit_code;
}

/// The last number in a process's /proc entry, while it has not been waited for.
std::optional<int> status_of_zombie(int process, std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string line(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_ends = line.rfind(") Z ");
  const std::size_t last = line.find_last_of(' ');
  if (name_ends == std::string::npos || last <= name_ends) return std::nullopt;
  int status = 0;
  const auto [end, error] =
      std::from_chars(line.data() + last + 1, line.data() + line.size(), status);
  if (error != std::errc()) return std::nullopt;
  // The number could belong to a different process by now, were it not that this one still exists.
  if (::syscall(SYS_pidfd_send_signal, process, 0, nullptr, 0) != 0) return std::nullopt;
  return status;
}

}  // namespace

std::optional<int> wait_status(int process, std::uint32_t pid) noexcept {
  try {
    if (const auto status = status_of_reaped(process)) return status;
    if (const auto status = status_of_zombie(process, pid)) return status;
  } catch (const std::exception&) {  // no memory for a line of text
  }
  return status_of_reaped(process);  // its parent may have waited for it meanwhile
}

}  // namespace ulpscope::ring
