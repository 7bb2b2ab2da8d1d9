#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ring/server.hpp"

namespace ulpscope::ring::test {

/// Runs `body` in a forked child that ends with what it returns. A child that a failing test leaves
/// behind is killed.
class Child {
 public:
  template <class Body>
  explicit Child(Body&& body) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(body());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  /// The exit code, or 128 and the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

/// A value that parent and children see.
template <class Value>
class Shared {
 public:
  Shared()
      : value_(new (::mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Value{}) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(value_, sizeof(Value)); }
  Value* operator->() const { return value_; }
  Value& operator*() const { return *value_; }

 private:
  Value* value_;
};

/// Where a server listens that begins after the processes that it records. ThreadSanitizer cannot
/// follow a child that starts threads when its parent had several.
class LaterServer {
 public:
  /// For the child.
  [[nodiscard]] const char* wait_for_socket_path() const {
    while (!address_->known) ::usleep(200);
    return address_->path;
  }
  Server& begin(const ServerOptions& options) {
    server_.emplace(options);
    server_->socket_path().native().copy(address_->path, sizeof address_->path - 1);
    address_->known = true;
    return *server_;
  }

 private:
  struct Address {
    std::atomic<bool> known;
    char path[108];
  };
  Shared<Address> address_;
  std::optional<Server> server_;
};

inline void wait_until(const std::atomic<bool>& flag) {
  while (!flag) ::usleep(200);
}

/// Keeps all that a server reports, and the messages of each lane as one string of bytes.
struct Diary : Handler {
  struct LaneNotes {
    bool is_main = false;
    std::string name;
    std::vector<std::byte> bytes;
    bool damaged = false;
    bool closed = false;
    ProducerEnd end = ProducerEnd::none;
  };

  void on_process(SessionId session, const Hello& hello) override { hellos[session] = hello; }
  void on_ring(SessionId session, std::uint32_t lane, bool is_main,
               std::string_view thread_name) override {
    lanes[{session, lane}] = {is_main, std::string(thread_name), {}, false, false, {}};
  }
  void on_messages(SessionId session, std::uint32_t lane,
                   std::span<const std::byte> messages) override {
    auto& bytes = lanes.at({session, lane}).bytes;
    bytes.insert(bytes.end(), messages.begin(), messages.end());
  }
  void on_damaged(SessionId session, std::uint32_t lane, std::string_view) override {
    lanes.at({session, lane}).damaged = true;
  }
  void on_lane_closed(SessionId session, std::uint32_t lane, ProducerEnd end) override {
    lanes.at({session, lane}).closed = true;
    lanes.at({session, lane}).end = end;
  }
  void on_gave_up(SessionId session, std::string_view why) override { gave_up[session] = why; }
  void on_process_gone(SessionId session, ProcessEnd how, std::optional<int> status) override {
    gone[session] = how;
    if (status) wait_statuses[session] = *status;
  }
  void on_refused(std::uint32_t, std::string_view why) override { refusals.emplace_back(why); }

  std::map<SessionId, Hello> hellos;
  std::map<std::pair<SessionId, std::uint32_t>, LaneNotes> lanes;
  std::map<SessionId, std::string> gave_up;
  std::map<SessionId, ProcessEnd> gone;
  std::map<SessionId, int> wait_statuses;
  std::vector<std::string> refusals;
};

/// Polls until `sessions` sessions have come and gone.
inline void serve(Server& server, Diary& diary, std::size_t sessions = 1) {
  while (diary.gone.size() < sessions) server.poll(std::chrono::milliseconds{50}, diary);
}

/// Polls until `condition` holds.
template <class Condition>
void serve_until(Server& server, Handler& handler, Condition condition) {
  while (!condition()) server.poll(std::chrono::milliseconds{5}, handler);
}

inline ServerOptions small_rings(std::uint32_t give_up_milliseconds = 10'000) {
  ServerOptions options;
  options.settings.ring_bytes = kSmallestRing;
  options.settings.give_up_milliseconds = give_up_milliseconds;
  return options;
}

}  // namespace ulpscope::ring::test
