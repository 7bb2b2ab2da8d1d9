#include "cli/check/line.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

/// Texts are cut where they are longer.
struct TroubleMessage {
  Exit exit;
  char message[1024];
  char hint[512];
};
static_assert(sizeof(TroubleMessage) != sizeof(Sighting));

template <std::size_t kSize>
void put(char (&to)[kSize], std::string_view text) {
  to[text.copy(to, kSize - 1)] = '\0';
}

}  // namespace

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

bool Line::receive(int milliseconds) {
  pollfd wanted{ends_[0], POLLIN, 0};
  if (poll(&wanted, 1, milliseconds) <= 0) return false;
  TroubleMessage message;
  const ssize_t size = recv(ends_[0], &message, sizeof message, 0);
  if (size == sizeof(Sighting)) return true;
  if (size == sizeof message)
    trouble_ = Trouble{message.message, message.hint, message.exit};
  else
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return false;
}

std::optional<Trouble> Line::trouble() {
  while (!trouble_ && receive(0)) {
  }
  return trouble_;
}

void Line::answer(Answer answer) const { send(ends_[0], &answer, sizeof answer, MSG_NOSIGNAL); }

void report(int end, const Trouble& trouble) {
  TroubleMessage message{};
  message.exit = trouble.exit;
  put(message.message, trouble.message);
  put(message.hint, trouble.hint);
  send(end, &message, sizeof message, MSG_NOSIGNAL);
}

}  // namespace ulpscope::cli
