#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "replay/messages.hpp"
#include "replay/op_call.hpp"

/// Replays the ops that are requested on its standard input, a socket, until that is closed.
namespace {

bool read_all(char* target, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(STDIN_FILENO, target, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    target += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(const char* source, std::size_t size) {
  while (size > 0) {
    const ssize_t put = ::write(STDIN_FILENO, source, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    source += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

bool answer_one() {
  std::uint64_t size = 0;
  if (!read_all(reinterpret_cast<char*>(&size), sizeof(size))) return false;
  if (size > ulpscope::replay::kLongestMessage) return false;
  std::string request(size, '\0');
  if (!read_all(request.data(), request.size())) return false;
  const std::string answer =
      ulpscope::replay::pack(ulpscope::replay::call(ulpscope::replay::unpack_request(request)));
  size = answer.size();
  return write_all(reinterpret_cast<const char*>(&size), sizeof(size)) &&
         write_all(answer.data(), answer.size());
}

}  // namespace

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  try {
    while (answer_one()) {
    }
  } catch (...) {
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
