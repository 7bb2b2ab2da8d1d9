#include "replay/replay_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "replay/messages.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::replay {
namespace {

/// Ops that end their process more often than this are not requested any more.
constexpr int kMostStarts = 16;

/// What the loader ends a program with whose libraries it does not find.
constexpr int kNotLoaded = 127;

bool is_ours(std::string_view variable) {
  return variable.starts_with("LD_PRELOAD=") || variable.starts_with("ULPSCOPE_");
}

/// This process' variables, replaced by those that are given.
std::vector<std::string> environment_of(const ReplayStart& start) {
  std::vector<std::string> variables;
  const auto erase = [&variables](const std::string& name) {
    std::erase_if(variables,
                  [&](const std::string& variable) { return variable.starts_with(name + "="); });
  };
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!is_ours(*variable)) variables.emplace_back(*variable);
  for (const ReplayStart::Variable& given : start.environment) {
    erase(given.name);
    if (given.value) variables.push_back(given.name + "=" + *given.value);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Starts `program` with `socket` as its standard input and nothing to print to.
pid_t spawn(const std::string& program, const ReplayStart& start, int socket) {
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
  std::vector<std::string> words{program};
  words.insert(words.end(), start.libraries.begin(), start.libraries.end());
  std::vector<std::string> variables = environment_of(start);
  pid_t process = -1;
  if (posix_spawn(&process, program.c_str(), &actions, &attributes, pointers_to(words).data(),
                  pointers_to(variables).data()) != 0)
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
  process_ = spawn(program_.string(), how_, ends[1]);
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

/// False if the process does not get so far in the time that an op may take.
bool ReplayProcess::await(short events) const noexcept {
  const auto end = std::chrono::steady_clock::now() + how_.patience;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{socket_, events, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (count >= 0 || errno != EINTR) return count > 0;
  }
}

/// A process that has not ended by itself was waited for in vain, or answered nonsense.
std::string ReplayProcess::stop_and_say_why() {
  constexpr auto kToEnd = std::chrono::milliseconds(100);  // from its last word to its end
  const auto end = std::chrono::steady_clock::now() + kToEnd;
  int status = 0;
  pid_t ended = 0;
  while (ended == 0 && std::chrono::steady_clock::now() < end) {
    ended = ::waitpid(process_, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended == process_) process_ = -1;
  stop();
  if (ended > 0 && WIFSIGNALED(status))
    return std::string("the op ended the program that executed it: ") +
           ::strsignal(WTERMSIG(status));
  if (ended > 0 && WEXITSTATUS(status) == kNotLoaded)
    return "the program that executes ops finds no LibTorch: LD_LIBRARY_PATH can name the folder "
           "of libtorch_cpu.so";
  if (ended > 0) return "the op ended the program that executed it";
  return "the op took too long: more than " + std::to_string(how_.patience.count()) + " s";
}

bool ReplayProcess::send(const void* bytes, std::size_t size) noexcept {
  const auto* rest = static_cast<const char*>(bytes);
  while (size > 0) {
    if (!await(POLLOUT)) return false;
    const ssize_t put = ::send(socket_, rest, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (put <= 0) return false;
    rest += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

bool ReplayProcess::receive(void* bytes, std::size_t size) noexcept {
  auto* rest = static_cast<char*>(bytes);
  while (size > 0) {
    if (!await(POLLIN)) return false;
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
  if (!answered) return failure(stop_and_say_why());
  try {
    return unpack_answer(answer);
  } catch (const Error& error) {
    stop();
    return failure(error.what());
  }
}

}  // namespace ulpscope::replay
