#include "cli/check/line.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "ulpscope/error.hpp"

namespace ulpscope::cli {

Line::Line() {
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_) != 0)
    throw Error(ErrorCode::io,
                "no socket could be created: " + std::generic_category().message(errno));
}

Line::~Line() {
  for (const int end : ends_)
    if (end >= 0) close(end);
}

int Line::keep(int end) {
  close(std::exchange(ends_[1 - end], -1));
  return ends_[end];
}

std::optional<Sighting> Line::receive(int milliseconds) const {
  pollfd wanted{ends_[0], POLLIN, 0};
  if (poll(&wanted, 1, milliseconds) <= 0) return std::nullopt;
  Sighting sighting;
  if (recv(ends_[0], &sighting, sizeof sighting, 0) == sizeof sighting) return sighting;
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return std::nullopt;
}

void Line::answer(Answer answer) const { send(ends_[0], &answer, sizeof answer, MSG_NOSIGNAL); }

}  // namespace ulpscope::cli
