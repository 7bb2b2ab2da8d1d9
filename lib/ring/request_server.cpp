#include "ring/request_server.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <span>
#include <tuple>
#include <utility>

#include "ring/message.hpp"
#include "ring/quiet_thread.hpp"
#include "ring/system_error.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::ring {
namespace {

using Milliseconds = std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::uint64_t kSmallRing = std::uint64_t{1} << 20;
constexpr std::size_t kMaxLanes = 4096;  ///< of one process at a time
constexpr std::size_t kMaxConnections = 1024;
constexpr Milliseconds kRequestTimeout = 5s;
/// How long a thread waits for memory. Shorter than it waits for an answer, so that it gets the
/// reason.
constexpr Milliseconds kMemoryTimeout = 4s;
constexpr Milliseconds kMemoryPause = 2ms;
constexpr Milliseconds kLongestWait = 1s;

/// What an epoll event is about; connections have the numbers above.
constexpr std::uint64_t kListener = 0;
constexpr std::uint64_t kEnd = 1;

Descriptor open_process(std::uint32_t pid) {
  return above_stdio(Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
}

Descriptor make_event() {
  Descriptor event = above_stdio(Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (!event) throw system_error("the ring's socket cannot be watched");
  return event;
}

void raise(const Descriptor& event) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof one);
}

template <class Reply>
Reply granted_reply() {
  Reply reply;
  reply.header.protocol = kProtocolVersion;
  reply.header.granted = 1;
  reply.header.size = sizeof reply;
  return reply;
}

}  // namespace

RequestServer::RequestServer(const ServerOptions& options, int writer_page)
    : options_(options),
      writer_page_(writer_page),
      shut_out_(listener_.path()),
      epoll_(above_stdio(Descriptor(::epoll_create1(EPOLL_CLOEXEC)))),
      over_(make_event()),
      arrived_(make_event()),
      lookups_(options.look_up_inlined) {
  if (!epoll_) throw system_error("the ring's socket cannot be watched");
  watch(listener_.descriptor(), kListener);
  watch(over_.get(), kEnd);
  thread_ = quiet_thread([this] { serve(); });
}

RequestServer::~RequestServer() {
  raise(over_);
  thread_.join();
  for (Arrival& arrival : arrivals_) {
    if (auto* const ring = std::get_if<RingGiven>(&arrival)) ring->consumer.close();
  }
}

void RequestServer::watch(int descriptor, std::uint64_t id) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw system_error("a connection cannot be watched");
  }
}

std::deque<Arrival> RequestServer::take() {
  const std::lock_guard guard(mutex_);
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t count = ::read(arrived_.get(), &ignored, sizeof ignored);
  return std::exchange(arrivals_, {});
}

std::size_t RequestServer::introductions() const {
  const std::lock_guard guard(mutex_);
  return static_cast<std::size_t>(std::count_if(
      arrivals_.begin(), arrivals_.end(),
      [](const Arrival& arrival) { return std::holds_alternative<Introduced>(arrival); }));
}

void RequestServer::end_session(SessionId session) {
  const std::lock_guard guard(mutex_);
  sessions_.erase(session);
}

void RequestServer::give_back(SessionId session, std::uint64_t ring_bytes) {
  const std::lock_guard guard(mutex_);
  memory_used_ -= ring_bytes;
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) --found->second.open_lanes;
}

/// @pre the mutex is held.
void RequestServer::put(Arrival arrival) {
  arrivals_.push_back(std::move(arrival));
  raise(arrived_);
}

void RequestServer::arrive(Arrival arrival) {
  const std::lock_guard guard(mutex_);
  put(std::move(arrival));
}

/// @pre the mutex is held.
RequestServer::Session* RequestServer::find(SessionId session, std::uint64_t nonce,
                                            std::uint32_t pid) {
  const auto found = sessions_.find(session);
  const bool own =
      found != sessions_.end() && found->second.nonce == nonce && found->second.pid == pid;
  return own ? &found->second : nullptr;
}

void RequestServer::serve() {
  std::array<epoll_event, 64> events;
  for (;;) {
    const bool somebody_waits =
        std::any_of(connections_.begin(), connections_.end(),
                    [](const auto& entry) { return entry.second.waiting.has_value(); });
    const Milliseconds wait = somebody_waits ? kMemoryPause : kLongestWait;
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(wait.count()));
    for (const epoll_event& event :
         std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
      // A copy: a member of a packed structure has no alignment.
      const std::uint64_t source = event.data.u64;
      if (source == kEnd) return;
      try {
        if (source == kListener) {
          accept_connections();
        } else if (const auto found = connections_.find(source);
                   found != connections_.end() && take_request(found->second)) {
          connections_.erase(found);
        }
      } catch (const std::exception&) {
        connections_.erase(source);  // the client sees it end
      }
    }
    answer_waiting();
    drop_late_connections();
  }
}

void RequestServer::accept_connections() {
  while (Descriptor socket = listener_.accept()) {
    if (connections_.size() >= kMaxConnections) continue;  // dropped: the client sees it end
    const std::uint64_t id = ++last_connection_;
    watch(socket.get(), id);
    connections_.emplace(id, Connection{std::move(socket), Clock::now() + kRequestTimeout, {}});
  }
  // Out of descriptors: the connection stays in the backlog and would wake us at once, forever.
  if (errno != EAGAIN && errno != EWOULDBLOCK) std::this_thread::sleep_for(kMemoryPause);
}

/// Threads that wait for memory, in the order in which they came.
void RequestServer::answer_waiting() {
  for (auto entry = connections_.begin(); entry != connections_.end();) {
    Connection& connection = entry->second;
    if (!connection.waiting) {
      ++entry;
      continue;
    }
    answer_ring(connection, *std::exchange(connection.waiting, std::nullopt));
    if (connection.waiting) return;
    entry = connections_.erase(entry);
  }
}

void RequestServer::drop_late_connections() {
  if (connections_.empty()) return;
  const Clock::time_point now = Clock::now();
  std::erase_if(connections_, [&](const auto& entry) { return entry.second.deadline < now; });
}

/// True when the connection has served its purpose.
bool RequestServer::take_request(Connection& connection) {
  Packet packet;
  switch (receive(connection.socket.get(), packet)) {
    case Received::nothing_yet:
      return false;
    case Received::broken:
      return true;
    case Received::packet:
      break;
  }
  if (connection.waiting) return true;  // requests more than one thing
  answer(connection, std::move(packet));
  return !connection.waiting;
}

void RequestServer::answer(Connection& connection, Packet packet) {
  RequestHeader header;
  if (!packet.same_user || !packet.copy(header) || header.magic != kHandshakeMagic) return;
  if (header.protocol != kProtocolVersion) {
    return refuse(connection, header.kind, packet.pid,
                  "the capture library in the program has a different version than ulpscope");
  }
  switch (header.kind) {
    case RequestKind::hello:
      return answer_hello(connection, packet);
    case RequestKind::ring:
      return answer_ring(connection, std::move(packet));
    case RequestKind::inlined:
      return answer_inlined(connection, packet);
    case RequestKind::leave:
      return take_leave(connection, packet);
  }
}

void RequestServer::refuse(const Connection& connection, RequestKind kind, std::uint32_t pid,
                           std::string_view why) {
  arrive(Refused{pid, std::string(why)});
  const auto send = [&](auto answer) {
    answer.header.protocol = kProtocolVersion;
    answer.header.size = sizeof answer;
    answer.header.refusal.set(why);
    reply(connection.socket.get(), &answer, sizeof answer, {});
  };
  if (kind == RequestKind::hello) {
    send(HelloReply{});
  } else {
    send(RingReply{});
  }
}

void RequestServer::answer_hello(Connection& connection, const Packet& packet) {
  const auto no = [&](std::string_view why) {
    refuse(connection, RequestKind::hello, packet.pid, why);
  };
  HelloRequest request;
  std::optional<Hello> hello = read_hello(packet);
  if (!hello || !packet.copy(request)) return no("its introduction cannot be read");
  Descriptor process = open_process(packet.pid);
  if (!process) {
    return no(errno == ESRCH || packet.pid == 0
                  ? "the process is not visible from where ulpscope runs"
                  : "the kernel does not let ulpscope watch it (pidfd_open, Linux 5.3)");
  }
  SessionPageReader page;
  Descriptor page_descriptor;
  try {
    std::tie(page, page_descriptor) = SessionPageReader::create();
  } catch (const Error& error) {
    return no(error.what());
  }

  auto answer = granted_reply<HelloReply>();
  answer.session = ++last_session_;
  answer.settings = options_.settings;
  {
    const std::lock_guard guard(mutex_);
    // A process that executes a different program introduces itself again.
    std::erase_if(sessions_, [&](const auto& entry) { return entry.second.pid == packet.pid; });
    sessions_[answer.session] = {.nonce = request.nonce, .pid = packet.pid};
    put(Introduced{answer.session, std::move(*hello), std::move(process), std::move(page)});
  }
  reply(connection.socket.get(), &answer, sizeof answer,
        std::array{writer_page_, page_descriptor.get()});
}

/// 0 when there is no memory left. @pre the mutex is held.
std::uint64_t RequestServer::next_capacity() const {
  const Settings& settings = options_.settings;
  std::uint64_t capacity = ring_capacity(
      settings.ring_bytes != 0 ? settings.ring_bytes : default_ring_bytes(settings.level));
  const auto left = [this](std::uint64_t limit) { return limit - std::min(limit, memory_used_); };
  while (capacity > left(options_.ring_memory / 4) && capacity > kSmallRing) capacity /= 2;
  return capacity <= left(options_.ring_memory) ? capacity : 0;
}

void RequestServer::answer_ring(Connection& connection, Packet packet) {
  const auto no = [&](std::string_view why) {
    refuse(connection, RequestKind::ring, packet.pid, why);
  };
  RingRequest request;
  if (!packet.copy(request) || packet.bytes.size() != sizeof request) {
    return no("its request for a ring cannot be read");
  }
  const auto session = [&] { return find(request.session, request.nonce, packet.pid); };
  constexpr std::string_view kOverAlready = "its session has ended";

  auto answer = granted_reply<RingReply>();
  {
    std::unique_lock lock(mutex_);
    const Session* const known = session();
    const bool too_many = known != nullptr && known->open_lanes >= kMaxLanes;
    answer.capacity = next_capacity();
    if (known != nullptr && !too_many) memory_used_ += answer.capacity;
    lock.unlock();
    if (known == nullptr) return no(kOverAlready);
    if (too_many) return no("it has too many threads");
  }
  if (answer.capacity == 0) {
    if (Clock::now() + (kRequestTimeout - kMemoryTimeout) > connection.deadline) {
      return no("the memory for rings is used up: the disk is too slow for what is recorded");
    }
    connection.waiting = std::move(packet);
    return;
  }

  Descriptor memory;
  RingGiven given;
  given.session = request.session;
  given.is_main = request.is_main != 0;
  given.thread_name = request.thread_name.view();
  try {
    memory = create_ring(answer.capacity);
    RingMapping mapping = RingMapping::map(memory.get(), answer.capacity);
    if (!mapping) throw system_error("a ring cannot be mapped");
    given.consumer = Consumer(std::move(mapping));
  } catch (const Error& error) {
    {
      const std::lock_guard guard(mutex_);
      memory_used_ -= answer.capacity;
    }
    return no(error.what());
  }
  {
    std::unique_lock lock(mutex_);
    if (Session* const known = session()) {
      ++known->open_lanes;
      answer.lane = given.lane = known->lanes++;
      put(std::move(given));
    } else {
      memory_used_ -= answer.capacity;
      lock.unlock();
      return no(kOverAlready);
    }
  }
  reply(connection.socket.get(), &answer, sizeof answer, std::array{memory.get()});
}

/// What cannot be read, or comes from elsewhere, gets no answer: its connection ends.
void RequestServer::answer_inlined(Connection& connection, const Packet& packet) {
  InlinedRequest request;
  if (!packet.copy(request) || request.path_bytes > kMaxPathBytes ||
      packet.bytes.size() != sizeof request + request.path_bytes) {
    return;
  }
  {
    const std::lock_guard guard(mutex_);
    if (find(request.session, request.nonce, packet.pid) == nullptr) return;
  }
  const std::string path(reinterpret_cast<const char*>(packet.bytes.data()) + sizeof request,
                         request.path_bytes);
  if (path.find('\0') != std::string::npos) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.socket.get(), nullptr);
  lookups_.ask(std::move(connection.socket), path, request.address);
}

void RequestServer::take_leave(Connection& connection, const Packet& packet) {
  LeaveRequest request;
  if (!packet.copy(request) || packet.bytes.size() != sizeof request) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.socket.get(), nullptr);
  const std::lock_guard guard(mutex_);
  if (find(request.session, request.nonce, packet.pid) == nullptr) return;
  sessions_.erase(request.session);
  put(Leaving{request.session, std::move(connection.socket)});
}

}  // namespace ulpscope::ring
