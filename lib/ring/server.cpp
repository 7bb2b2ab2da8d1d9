#include "ring/server.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "ring/batch_reader.hpp"
#include "ring/listener.hpp"
#include "ring/message.hpp"
#include "ring/shared_memory.hpp"
#include "ring/system_error.hpp"
#include "ring/wait_status.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::ring {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::uint64_t kSmallRing = std::uint64_t{1} << 20;
constexpr std::size_t kMaxLanes = 4096;  ///< of one process at a time
constexpr std::size_t kMaxConnections = 1024;
constexpr Milliseconds kRequestTimeout = 5s;
constexpr std::int32_t kMaxRank = 1 << 24;

/// Batches taken out of one ring before the others and the socket have their turn.
constexpr int kBatchesInTurn = 16;
/// As many rounds in which some lane had more than that count as one in which none had.
constexpr int kMostPartialRounds = 64;

/// How often rings are looked at: more often while messages come.
constexpr Milliseconds kBusyPause = 1ms;
constexpr Milliseconds kIdlePause = 2ms;
constexpr Milliseconds kIdleAfter = 100ms;

Descriptor open_process(std::uint32_t pid) {
  return above_stdio(Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
}

template <class Request>
bool copy_request(const Packet& packet, Request& request) {
  if (packet.bytes.size() < sizeof request) return false;
  std::memcpy(&request, packet.bytes.data(), sizeof request);
  return true;
}

std::optional<std::uint32_t> rank_of(std::int32_t value) {
  if (value < 0 || value > kMaxRank) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

std::vector<std::string> split_command(std::span<const std::byte> bytes) {
  std::vector<std::string> arguments;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!rest.empty()) {
    const std::string_view argument = rest.substr(0, rest.find('\0'));
    arguments.emplace_back(argument);
    rest.remove_prefix(std::min(rest.size(), argument.size() + 1));
  }
  return arguments;
}

bool gave_up(ProducerEnd end) {
  return end == ProducerEnd::writer_gone || end == ProducerEnd::writer_stuck ||
         end == ProducerEnd::damaged;
}

struct Lane {
  std::uint32_t number = 0;
  Consumer consumer;
};

struct Session {
  std::uint64_t nonce = 0;
  Descriptor process;  ///< readable when the process has ended
  SessionPageReader page;
  std::vector<Lane> lanes;
  SessionStats stats;  ///< of closed lanes
  bool exited = false;
  bool left = false;
  bool stopped = false;
  int partial_rounds = 0;  ///< since all lanes were last read to their end
};

void add_lane(SessionStats& stats, const Lane& lane) {
  stats.bytes += lane.consumer.bytes_released();
  stats.stalls += lane.consumer.stalls();
  stats.stalled += std::chrono::nanoseconds(lane.consumer.stalled_nanoseconds());
  if (stats.gave_up == ProducerEnd::none && gave_up(lane.consumer.producer_end())) {
    stats.gave_up = lane.consumer.producer_end();
  }
}

struct Connection {
  Descriptor socket;
  Clock::time_point deadline;
};

/// What an epoll event is about: the kind in the low bits, a session's or connection's id above.
enum class Source : std::uint64_t { listener = 0, connection = 1, process = 2 };
constexpr std::uint64_t kSourceBits = 2;

constexpr std::uint64_t tag(Source source, std::uint64_t id) {
  return (id << kSourceBits) | static_cast<std::uint64_t>(source);
}

}  // namespace

std::optional<std::uint32_t> RankHints::first() const noexcept {
  for (const auto& hint : {rank, ompi_comm_world_rank, pmi_rank, slurm_procid, local_rank}) {
    if (hint) return hint;
  }
  return std::nullopt;
}

struct Server::State {
  explicit State(const ServerOptions& server_options);

  bool poll(Milliseconds timeout, Handler& handler);
  bool take_events(Milliseconds wait, Handler& handler);
  void accept_connections();
  bool take_request(std::uint64_t connection, Handler& handler);
  void answer_hello(const Connection& connection, const Packet& packet, Handler& handler);
  void answer_ring(const Connection& connection, const Packet& packet, Handler& handler);
  void answer_inlined(const Connection& connection, const Packet& packet, Handler& handler);
  void take_leave(Connection& connection, const Packet& packet);
  void refuse(const Connection& connection, RequestKind kind, std::uint32_t pid,
              std::string_view why, Handler& handler);
  void drop_late_connections();

  bool drain_all(Handler& handler);
  enum class Drained : std::uint8_t { some, all };
  bool drain(SessionId id, Session& session, std::size_t index, int batches, Handler& handler,
             Drained& drained);
  void close_lane(SessionId id, Session& session, std::size_t index, ProducerEnd end,
                  Handler& handler);
  bool finish_sessions(Handler& handler);
  void finish(SessionId id, ProcessEnd how, Handler& handler);

  void watch(int descriptor, Source source, std::uint64_t id) const;
  [[nodiscard]] std::size_t lane_count() const;
  [[nodiscard]] std::uint64_t next_capacity() const;

  ServerOptions options;
  Listener listener;
  WriterPageOwner writer;
  Descriptor epoll;
  BatchReader reader;
  std::map<std::uint64_t, Connection> connections;
  std::vector<Descriptor> leaving;  ///< of processes that wait for the dump to be complete
  std::map<SessionId, Session> sessions;
  std::vector<SessionStats> finished;
  std::uint64_t last_connection = 0;
  SessionId last_session = 0;
  Clock::time_point last_message;
};

Server::State::State(const ServerOptions& server_options)
    : options(server_options),
      epoll(above_stdio(Descriptor(::epoll_create1(EPOLL_CLOEXEC)))),
      reader(std::max<std::size_t>(server_options.batch_bytes, page_bytes())),
      last_message(Clock::now()) {
  if (!epoll) throw system_error("the ring's socket cannot be watched");
  watch(listener.descriptor(), Source::listener, 0);
}

void Server::State::watch(int descriptor, Source source, std::uint64_t id) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag(source, id);
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw system_error("a process cannot be watched");
  }
}

std::size_t Server::State::lane_count() const {
  std::size_t count = 0;
  for (const auto& [id, session] : sessions) count += session.lanes.size();
  return count;
}

bool Server::State::poll(Milliseconds timeout, Handler& handler) {
  const Clock::time_point deadline = Clock::now() + timeout;
  Milliseconds wait{0};
  for (;;) {
    writer.note_progress();
    bool handled = take_events(wait, handler);
    const bool drained = drain_all(handler);
    handled |= finish_sessions(handler) || drained;
    drop_late_connections();

    const Clock::time_point now = Clock::now();
    if (drained) last_message = now;
    if (handled || now >= deadline) return handled;
    wait = std::chrono::ceil<Milliseconds>(deadline - now);
    if (lane_count() != 0) {
      wait = std::min(wait, now - last_message < kIdleAfter ? kBusyPause : kIdlePause);
    }
  }
}

/// True when anything happened or a signal ended the wait.
bool Server::State::take_events(Milliseconds wait, Handler& handler) {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll.get(), events, static_cast<int>(std::size(events)),
                                 static_cast<int>(std::min<Milliseconds>(wait, 1h).count()));
  if (count < 0) {
    if (errno == EINTR) return true;
    throw system_error("the ring's socket cannot be watched");
  }
  for (const epoll_event& event : std::span(events, static_cast<std::size_t>(count))) {
    const std::uint64_t id = event.data.u64 >> kSourceBits;
    switch (static_cast<Source>(event.data.u64 & ((1U << kSourceBits) - 1))) {
      case Source::listener:
        accept_connections();
        break;
      case Source::connection:
        if (take_request(id, handler)) connections.erase(id);
        break;
      case Source::process:
        if (const auto found = sessions.find(id); found != sessions.end()) {
          found->second.exited = true;
        }
        break;
    }
  }
  return count > 0;
}

void Server::State::accept_connections() {
  while (Descriptor socket = listener.accept()) {
    if (connections.size() >= kMaxConnections) continue;  // dropped: the client sees it end
    const std::uint64_t id = ++last_connection;
    watch(socket.get(), Source::connection, id);
    connections.emplace(id, Connection{std::move(socket), Clock::now() + kRequestTimeout});
  }
  // Out of descriptors: the connection stays in the backlog and would wake us at once, for ever.
  if (errno != EAGAIN && errno != EWOULDBLOCK) std::this_thread::sleep_for(kBusyPause);
}

void Server::State::drop_late_connections() {
  if (connections.empty()) return;
  const Clock::time_point now = Clock::now();
  std::erase_if(connections, [&](const auto& entry) { return entry.second.deadline < now; });
}

/// True when the connection has served its purpose.
bool Server::State::take_request(std::uint64_t connection, Handler& handler) {
  const auto found = connections.find(connection);
  if (found == connections.end()) return false;
  Packet packet;
  switch (receive(found->second.socket.get(), packet)) {
    case Received::nothing_yet:
      return false;
    case Received::broken:
      return true;
    case Received::packet:
      break;
  }
  RequestHeader header;
  if (!packet.same_user || !copy_request(packet, header) || header.magic != kHandshakeMagic) {
    return true;
  }
  if (header.protocol != kProtocolVersion) {
    refuse(found->second, header.kind, packet.pid,
           "the capture library in the program is of another version than ulpscope", handler);
  } else if (header.kind == RequestKind::hello) {
    answer_hello(found->second, packet, handler);
  } else if (header.kind == RequestKind::ring) {
    answer_ring(found->second, packet, handler);
  } else if (header.kind == RequestKind::inlined) {
    answer_inlined(found->second, packet, handler);
  } else if (header.kind == RequestKind::leave) {
    take_leave(found->second, packet);
  }
  return true;
}

void Server::State::refuse(const Connection& connection, RequestKind kind, std::uint32_t pid,
                           std::string_view why, Handler& handler) {
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
  handler.on_refused(pid, why);
}

void Server::State::answer_hello(const Connection& connection, const Packet& packet,
                                 Handler& handler) {
  HelloRequest request;
  if (!copy_request(packet, request) || request.command_bytes > kMaxCommandBytes ||
      packet.bytes.size() != sizeof request + request.command_bytes) {
    refuse(connection, RequestKind::hello, packet.pid, "its introduction cannot be read", handler);
    return;
  }
  // The process executed another program: what the old one recorded is complete.
  for (auto entry = sessions.begin(); entry != sessions.end();) {
    const auto [id, pid] = std::pair(entry->first, entry->second.stats.pid);
    ++entry;
    if (pid == packet.pid) finish(id, ProcessEnd::replaced, handler);
  }
  Descriptor process = open_process(packet.pid);
  if (!process) {
    refuse(connection, RequestKind::hello, packet.pid,
           errno == ESRCH || packet.pid == 0
               ? "the process is not visible from where ulpscope runs"
               : "the kernel does not let ulpscope watch it (pidfd_open, Linux 5.3)",
           handler);
    return;
  }

  Hello hello;
  hello.pid = packet.pid;
  hello.parent_pid = request.parent_pid;
  hello.start_time = request.start_time;
  hello.parent_session = request.parent_session;
  hello.forking_thread = request.forking_thread;
  hello.capture_version = request.capture_version.view();
  hello.ranks = {rank_of(request.ranks[0]), rank_of(request.ranks[1]), rank_of(request.ranks[2]),
                 rank_of(request.ranks[3]), rank_of(request.ranks[4])};
  hello.command = split_command(std::span(packet.bytes).subspan(sizeof request));
  hello.command_cut = request.command_cut != 0;

  const SessionId id = ++last_session;
  Session session;
  session.nonce = request.nonce;
  session.process = std::move(process);
  Descriptor page_descriptor;
  try {
    std::tie(session.page, page_descriptor) = SessionPageReader::create();
  } catch (const Error& error) {
    refuse(connection, RequestKind::hello, packet.pid, error.what(), handler);
    return;
  }
  session.stats.session = id;
  session.stats.pid = packet.pid;
  watch(session.process.get(), Source::process, id);
  sessions.emplace(id, std::move(session));
  handler.on_process(id, hello);

  HelloReply answer;
  answer.header.protocol = kProtocolVersion;
  answer.header.granted = 1;
  answer.header.size = sizeof answer;
  answer.session = id;
  answer.settings = options.settings;
  reply(connection.socket.get(), &answer, sizeof answer,
        std::array{writer.descriptor(), page_descriptor.get()});
}

std::uint64_t Server::State::next_capacity() const {
  const Settings& settings = options.settings;
  std::uint64_t capacity = ring_capacity(
      settings.ring_bytes != 0 ? settings.ring_bytes : default_ring_bytes(settings.level));
  std::uint64_t used = 0;
  for (const auto& [id, session] : sessions) {
    for (const Lane& lane : session.lanes) used += lane.consumer.capacity();
  }
  const std::uint64_t left = options.ring_memory > used ? options.ring_memory - used : 0;
  while (capacity > left && capacity > kSmallRing) capacity /= 2;
  return capacity;
}

void Server::State::answer_ring(const Connection& connection, const Packet& packet,
                                Handler& handler) {
  const auto no = [&](std::string_view why) {
    refuse(connection, RequestKind::ring, packet.pid, why, handler);
  };
  RingRequest request;
  if (!copy_request(packet, request) || packet.bytes.size() != sizeof request) {
    return no("its request for a ring cannot be read");
  }
  const auto found = sessions.find(request.session);
  if (found == sessions.end() || found->second.nonce != request.nonce ||
      found->second.stats.pid != packet.pid || found->second.stopped) {
    return no("its session has ended");
  }
  Session& session = found->second;
  if (session.lanes.size() >= kMaxLanes) return no("it has too many threads");

  Lane lane;
  Descriptor memory;
  try {
    const std::uint64_t capacity = next_capacity();
    memory = create_ring(capacity);
    RingMapping mapping = RingMapping::map(memory.get(), capacity);
    if (!mapping) throw system_error("a ring cannot be mapped");
    lane.consumer = Consumer(std::move(mapping));
  } catch (const Error& error) {
    return no(error.what());
  }
  lane.number = session.stats.lanes++;

  RingReply answer;
  answer.header.protocol = kProtocolVersion;
  answer.header.granted = 1;
  answer.header.size = sizeof answer;
  answer.capacity = lane.consumer.capacity();
  answer.lane = lane.number;
  session.lanes.push_back(std::move(lane));
  handler.on_ring(found->first, answer.lane, request.is_main != 0, request.thread_name.view());
  reply(connection.socket.get(), &answer, sizeof answer, std::array{memory.get()});
}

/// What cannot be read, or comes from elsewhere, gets no answer: its connection ends.
void Server::State::answer_inlined(const Connection& connection, const Packet& packet,
                                   Handler& handler) {
  InlinedRequest request;
  if (!copy_request(packet, request) || request.path_bytes > kMaxPathBytes ||
      packet.bytes.size() != sizeof request + request.path_bytes) {
    return;
  }
  const auto found = sessions.find(request.session);
  if (found == sessions.end() || found->second.nonce != request.nonce ||
      found->second.stats.pid != packet.pid || found->second.stopped) {
    return;
  }
  const std::string_view path(reinterpret_cast<const char*>(packet.bytes.data()) + sizeof request,
                              request.path_bytes);
  if (path.find('\0') != std::string_view::npos) return;
  InlinedReply answer;
  answer.header.protocol = kProtocolVersion;
  answer.header.granted = 1;
  answer.header.size = sizeof answer;
  handler.on_inlined(path, request.address, answer.calls);
  reply(connection.socket.get(), &answer, sizeof answer, {});
}

void Server::State::take_leave(Connection& connection, const Packet& packet) {
  LeaveRequest request;
  if (!copy_request(packet, request) || packet.bytes.size() != sizeof request) return;
  const auto found = sessions.find(request.session);
  if (found == sessions.end() || found->second.nonce != request.nonce ||
      found->second.stats.pid != packet.pid || found->second.left) {
    return;
  }
  found->second.left = true;
  ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, connection.socket.get(), nullptr);
  leaving.push_back(std::move(connection.socket));
}

bool Server::State::drain_all(Handler& handler) {
  bool any = false;
  for (auto& [id, session] : sessions) {
    bool all = true;
    for (std::size_t i = 0; i < session.lanes.size() && !session.stopped;) {
      const std::size_t lanes = session.lanes.size();
      Drained drained = Drained::some;
      any |= drain(id, session, i, kBatchesInTurn, handler, drained);
      all = all && drained == Drained::all;
      if (session.lanes.size() == lanes) ++i;
    }
    if (session.stopped || (!all && ++session.partial_rounds < kMostPartialRounds)) continue;
    session.partial_rounds = 0;
    handler.on_round(id);
  }
  return any;
}

/// Delivers up to `batches` batches of a lane and closes it when nothing more can come from it.
/// True when there was anything to deliver or the lane was closed.
bool Server::State::drain(SessionId id, Session& session, std::size_t index, int batches,
                          Handler& handler, Drained& drained) {
  drained = Drained::some;
  Consumer& consumer = session.lanes[index].consumer;
  const std::uint32_t number = session.lanes[index].number;
  // Before the messages are read: what was committed before the end is then seen.
  const ProducerEnd end = consumer.producer_end();
  bool any = false;
  while (batches-- > 0) {
    const Batch batch = reader.next(consumer);
    if (!batch.damage.empty()) {
      consumer.close();
      handler.on_damaged(id, number, batch.damage);
      close_lane(id, session, index, ProducerEnd::damaged, handler);
      return true;
    }
    if (batch.messages.empty()) {
      drained = Drained::all;
      if (end == ProducerEnd::none) return any;
      close_lane(id, session, index, end, handler);
      return true;
    }
    handler.on_messages(id, number, batch.messages);
    consumer.release(batch.messages.size());
    writer.note_progress();
    any = true;
    if (session.stopped) return true;
  }
  return any;
}

void Server::State::close_lane(SessionId id, Session& session, std::size_t index, ProducerEnd end,
                               Handler& handler) {
  const auto position = session.lanes.begin() + static_cast<std::ptrdiff_t>(index);
  const std::uint32_t number = position->number;
  add_lane(session.stats, *position);
  session.lanes.erase(position);
  handler.on_lane_closed(id, number, end);
}

bool Server::State::finish_sessions(Handler& handler) {
  bool any = false;
  for (auto entry = sessions.begin(); entry != sessions.end();) {
    const SessionId id = entry->first;
    const Session& session = entry->second;
    const bool over = session.exited || session.stopped || session.left;
    const ProcessEnd how = session.stopped ? ProcessEnd::stopped
                           : session.left  ? ProcessEnd::left
                                           : ProcessEnd::exited;
    ++entry;
    if (over) finish(id, how, handler);
    any |= over;
  }
  return any;
}

void Server::State::finish(SessionId id, ProcessEnd how, Handler& handler) {
  const auto found = sessions.find(id);
  Session& session = found->second;
  if (const std::string why = session.page.ended(); !why.empty() && !session.stopped) {
    handler.on_gave_up(id, why);
  }
  if (const std::string why = session.page.no_child(); !why.empty()) {
    handler.on_refused(session.stats.pid, "a child of it: " + why);
  }
  Drained drained = Drained::some;
  while (!session.lanes.empty()) {
    const std::size_t lanes = session.lanes.size();
    Consumer& consumer = session.lanes.front().consumer;
    // What was committed until now is at most a ring full. A process that still runs, because it
    // only replaced its session, could otherwise keep us here.
    const std::uint64_t enough = consumer.bytes_released() + consumer.capacity();
    while (!session.stopped && session.lanes.size() == lanes &&
           consumer.bytes_released() < enough && drain(id, session, 0, 1, handler, drained)) {
    }
    if (session.lanes.size() != lanes) continue;
    consumer.close();
    close_lane(id, session, 0, session.stopped ? ProducerEnd::stopped : ProducerEnd::none, handler);
  }
  const std::optional<int> status = how == ProcessEnd::exited
                                        ? wait_status(session.process.get(), session.stats.pid)
                                        : std::nullopt;
  finished.push_back(session.stats);
  sessions.erase(found);
  handler.on_process_gone(id, how, status);
}

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {}

Server::~Server() {
  for (auto& [id, session] : state_->sessions) {
    for (Lane& lane : session.lanes) lane.consumer.close();
  }
}

const std::filesystem::path& Server::socket_path() const noexcept {
  return state_->listener.path();
}

bool Server::reachable() const {
  std::error_code ignored;
  return std::filesystem::exists(socket_path(), ignored);
}

bool Server::poll(Milliseconds timeout, Handler& handler) { return state_->poll(timeout, handler); }

void Server::end_session(SessionId session) {
  const auto found = state_->sessions.find(session);
  if (found == state_->sessions.end()) return;
  found->second.stopped = true;
  for (Lane& lane : found->second.lanes) lane.consumer.close();
}

void Server::keep_alive() noexcept { state_->writer.note_progress(); }

std::size_t Server::live_sessions() const noexcept { return state_->sessions.size(); }

std::vector<SessionStats> Server::stats() const {
  std::vector<SessionStats> all = state_->finished;
  for (const auto& [id, session] : state_->sessions) {
    SessionStats stats = session.stats;
    for (const Lane& lane : session.lanes) add_lane(stats, lane);
    all.push_back(stats);
  }
  std::ranges::sort(all, {}, &SessionStats::session);
  return all;
}

}  // namespace ulpscope::ring
