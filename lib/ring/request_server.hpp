#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "ring/handshake.hpp"
#include "ring/hello.hpp"
#include "ring/inlined_lookups.hpp"
#include "ring/listener.hpp"
#include "ring/ring.hpp"
#include "ring/server_options.hpp"
#include "ring/shared_memory.hpp"
#include "ring/shut_out.hpp"

namespace ulpscope::ring {

struct Introduced {
  SessionId session = 0;
  Hello hello;
  Descriptor process;  ///< readable when the process has ended
  SessionPageReader page;
};

struct RingGiven {
  SessionId session = 0;
  std::uint32_t lane = 0;
  bool is_main = false;
  std::string thread_name;
  Consumer consumer;
};

struct Leaving {
  SessionId session = 0;
  Descriptor socket;  ///< the process waits until it is closed
};

struct Refused {
  std::uint32_t pid = 0;
  std::string why;
};

/// What a request has led to.
using Arrival = std::variant<Introduced, RingGiven, Leaving, Refused>;

/// Answers the requests of new processes and threads on a separate thread: they do not wait longer
/// if the thread that drains the rings is behind. That thread is notified afterwards, in the order
/// of the answers.
class RequestServer {
 public:
  /// Listens in a new private directory. `writer_page` goes to every process that introduces
  /// itself. @throws Error with ErrorCode::io.
  RequestServer(const ServerOptions& options, int writer_page);
  RequestServer(const RequestServer&) = delete;
  RequestServer& operator=(const RequestServer&) = delete;
  ~RequestServer();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return listener_.path(); }

  /// Whether a process could not introduce itself and has said so.
  [[nodiscard]] bool anybody_shut_out() const noexcept { return shut_out_.anybody(); }

  /// Readable when something has arrived.
  [[nodiscard]] int descriptor() const noexcept { return arrived_.get(); }
  [[nodiscard]] std::deque<Arrival> take();
  /// Processes that have been answered and not yet been taken.
  [[nodiscard]] std::size_t introductions() const;

  /// The session gets no further ring; those that it was given have arrived.
  void end_session(SessionId session);
  /// A ring of the session was read to its end.
  void give_back(SessionId session, std::uint64_t ring_bytes);

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    Descriptor socket;
    Clock::time_point deadline;
    std::optional<Packet> waiting;  ///< requests a ring when memory for it is free again
  };
  struct Session {
    std::uint64_t nonce = 0;
    std::uint32_t pid = 0;
    std::uint32_t lanes = 0;  ///< given so far
    std::uint32_t open_lanes = 0;
  };

  void serve();
  void accept_connections();
  bool take_request(Connection& connection);
  void answer(Connection& connection, Packet packet);
  void answer_hello(Connection& connection, const Packet& packet);
  void answer_ring(Connection& connection, Packet packet);
  void answer_inlined(Connection& connection, const Packet& packet);
  void take_leave(Connection& connection, const Packet& packet);
  void answer_waiting();
  void drop_late_connections();
  void refuse(const Connection& connection, RequestKind kind, std::uint32_t pid,
              std::string_view why);

  void watch(int descriptor, std::uint64_t id) const;
  void arrive(Arrival arrival);
  void put(Arrival arrival);
  Session* find(SessionId session, std::uint64_t nonce, std::uint32_t pid);
  [[nodiscard]] std::uint64_t next_capacity() const;

  const ServerOptions options_;
  const int writer_page_;
  Listener listener_;
  ShutOut shut_out_;
  Descriptor epoll_;
  Descriptor over_;     ///< readable when the thread is to end
  Descriptor arrived_;  ///< readable when `arrivals_` holds anything

  std::map<std::uint64_t, Connection> connections_;  ///< of the thread
  std::uint64_t last_connection_ = 1;
  SessionId last_session_ = 0;

  mutable std::mutex mutex_;  ///< of what follows; never held while anything is waited for
  std::map<SessionId, Session> sessions_;
  std::deque<Arrival> arrivals_;
  std::uint64_t memory_used_ = 0;

  InlinedLookups lookups_;
  std::thread thread_;
};

}  // namespace ulpscope::ring
