#include "replay/replay_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include "replay/messages.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::replay {
namespace {

/// Ops that end their process more often than this are not requested any more.
constexpr int kMostStarts = 16;
/// How long one op may take, in milliseconds.
constexpr int kPatience = 300'000;

/// Starts `program` with `socket` as its standard input and nothing to print to.
pid_t spawn(const std::string& program, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  // Its own group: an interrupt at the terminal is for the caller.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string name = program;
  char* const arguments[] = {name.data(), nullptr};
  pid_t process = -1;
  if (posix_spawn(&process, program.c_str(), &actions, &attributes, arguments, environ) != 0)
    process = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return process;
}

ReplayAnswer failure(std::string why) {
  ReplayAnswer answer;
  answer.failure = std::move(why);
  return answer;
}

}  // namespace

ReplayProcess::~ReplayProcess() { stop(); }

bool ReplayProcess::start() {
  if (process_ > 0) return true;
  if (starts_ == kMostStarts) return false;
  ++starts_;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  process_ = spawn(program_.string(), ends[1]);
  ::close(ends[1]);
  socket_ = ends[0];
  if (process_ > 0) return true;
  stop();
  return false;
}

void ReplayProcess::stop() noexcept {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

bool ReplayProcess::send(const void* bytes, std::size_t size) noexcept {
  const auto* rest = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t put = ::send(socket_, rest, size, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    rest += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

bool ReplayProcess::receive(void* bytes, std::size_t size) noexcept {
  auto* rest = static_cast<char*>(bytes);
  while (size > 0) {
    pollfd ready{socket_, POLLIN, 0};
    const int count = ::poll(&ready, 1, kPatience);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    const ssize_t got = ::recv(socket_, rest, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    rest += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

ReplayAnswer ReplayProcess::replay(const ReplayRequest& request) {
  if (!start()) return failure("the program that executes ops cannot be started");
  const std::string asked = pack(request);
  std::uint64_t size = asked.size();
  std::string answer;
  bool answered = send(&size, sizeof(size)) && send(asked.data(), asked.size()) &&
                  receive(&size, sizeof(size)) && size <= kLongestMessage;
  if (answered) {
    answer.resize(size);
    answered = receive(answer.data(), answer.size());
  }
  if (!answered) {
    stop();
    return failure("the op ended the program that executed it, or took too long");
  }
  try {
    return unpack_answer(answer);
  } catch (const Error& error) {
    stop();
    return failure(error.what());
  }
}

}  // namespace ulpscope::replay
