#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ring/hello.hpp"
#include "ring/layout.hpp"
#include "ring/server_options.hpp"

namespace ulpscope::ring {

enum class ProcessEnd : std::uint8_t {
  exited,    ///< the process has ended
  replaced,  ///< the process executed a different program and introduced itself again
  left,      ///< the process requested that its recording end: Client::leave()
  stopped,   ///< Server::end_session()
};

/// What the server reports. Called from Server::poll() on its thread; an exception leaves
/// poll(), and messages whose call threw stay in the ring and are delivered again.
class Handler {
 public:
  virtual ~Handler() = default;

  virtual void on_process(SessionId session, const Hello& hello) = 0;

  /// Lanes count from 0 in the order in which the threads of a process opened their rings.
  virtual void on_ring(SessionId session, std::uint32_t lane, bool is_main,
                       std::string_view thread_name) = 0;

  /// One or more whole messages in the order of their commit, aligned to 8, valid until the call
  /// returns. Only their sizes were checked. They are a copy that the program cannot change any
  /// more; the ring's space is released when the call returns.
  virtual void on_messages(SessionId session, std::uint32_t lane,
                           std::span<const std::byte> messages) = 0;

  /// All lanes of a process have been read since the last such call, nearly always completely.
  virtual void on_round(SessionId /*session*/) {}

  /// The ring does not hold what a ring holds. Nothing more is read from it; on_lane_closed
  /// follows.
  virtual void on_damaged(SessionId session, std::uint32_t lane, std::string_view why) = 0;

  /// Everything that the lane committed was delivered. `end` is none if its thread did not close
  /// it: the process was killed or ended without letting its threads end.
  virtual void on_lane_closed(SessionId session, std::uint32_t lane, ProducerEnd end) = 0;

  /// Recording of the process ended before the process did, for a reason that no lane could carry:
  /// a thread of it got no ring. What its lanes hold follows.
  virtual void on_gave_up(SessionId session, std::string_view why) = 0;

  /// After on_lane_closed of all its lanes. `wait_status` is that of a process that has exited, as
  /// waitpid() reports it to its parent; empty if unknown.
  virtual void on_process_gone(SessionId session, ProcessEnd how,
                               std::optional<int> wait_status) = 0;

  /// A process, or a child that it forked, requested recording and did not get it.
  virtual void on_refused(std::uint32_t pid, std::string_view why) = 0;
};

/// How long a thread found its ring full.
struct LaneWait {
  std::uint32_t lane = 0;
  std::chrono::nanoseconds stalled{0};
};

struct SessionStats {
  SessionId session = 0;
  std::uint32_t pid = 0;
  std::uint32_t lanes = 0;
  std::uint64_t bytes = 0;   ///< delivered to the handler
  std::uint64_t stalls = 0;  ///< times a thread found its ring full
  std::chrono::nanoseconds stalled{0};
  std::vector<LaneWait> waits;              ///< of the lanes that waited, in the order of their end
  ProducerEnd gave_up = ProducerEnd::none;  ///< none, closed and stopped aside, if any did
};

/// The writer's end of all rings: accepts processes, gives their threads rings and delivers what
/// they commit. Separate threads answer new processes and threads at once, whatever there is to
/// deliver. Everything else belongs to the thread that constructed it: when that thread ends,
/// recorded programs consider the writer dead.
class Server {
 public:
  /// Listens in a new private directory. @throws Error with ErrorCode::io.
  explicit Server(const ServerOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Programs that still record notice at once and continue unrecorded.
  ~Server();

  /// Where Client::connect() finds this server.
  [[nodiscard]] const std::filesystem::path& socket_path() const noexcept;

  /// False if the socket was removed: processes and threads that start from then on cannot be
  /// recorded, and cannot report it.
  [[nodiscard]] bool reachable() const;

  /// True when a process could not introduce itself, for a seccomp filter that it was started
  /// under.
  [[nodiscard]] bool anybody_shut_out() const noexcept;

  /// Handles what there is; when there is nothing, waits for it up to `timeout`. True when anything
  /// was handled or a signal ended the wait. @throws Error with ErrorCode::io, and what the handler
  /// throws.
  bool poll(std::chrono::milliseconds timeout, Handler& handler);

  /// Stops recording of a process, which continues unrecorded. What is in its rings is discarded;
  /// on_lane_closed and on_process_gone follow from the next poll(). May be called by the handler.
  void end_session(SessionId session);

  /// Shows waiting programs that the writer is alive. poll() does; call it between the parts of
  /// anything that may take seconds.
  void keep_alive() noexcept;

  /// Sessions whose on_process_gone has not yet been called, including those that no poll() has
  /// reported.
  [[nodiscard]] std::size_t live_sessions() const noexcept;

  /// All sessions so far, in order.
  [[nodiscard]] std::vector<SessionStats> stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ulpscope::ring
