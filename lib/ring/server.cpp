#include "ring/server.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include "ring/batch_reader.hpp"
#include "ring/request_server.hpp"
#include "ring/shared_memory.hpp"
#include "ring/system_error.hpp"
#include "ring/wait_status.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::ring {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using namespace std::chrono_literals;

/// Batches taken out of one ring before the others and the socket have their turn.
constexpr int kBatchesInTurn = 1;
/// As many rounds in which some lane had more than that count as one in which none had.
constexpr int kMostPartialRounds = 1024;

/// How often rings are polled: more often while messages come.
constexpr Milliseconds kBusyPause = 1ms;
constexpr Milliseconds kIdlePause = 2ms;
constexpr Milliseconds kIdleAfter = 100ms;

bool gave_up(ProducerEnd end) {
  return end == ProducerEnd::writer_gone || end == ProducerEnd::writer_stuck ||
         end == ProducerEnd::damaged || end == ProducerEnd::no_memory;
}

struct Lane {
  std::uint32_t number = 0;
  Consumer consumer;
};

struct Session {
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
  const std::chrono::nanoseconds stalled(lane.consumer.stalled_nanoseconds());
  stats.stalled += stalled;
  if (lane.consumer.stalls() != 0) stats.waits.push_back({lane.number, stalled});
  if (stats.gave_up == ProducerEnd::none && gave_up(lane.consumer.producer_end())) {
    stats.gave_up = lane.consumer.producer_end();
  }
}

/// What an epoll event is about: what has arrived, or the end of the process of a session.
constexpr std::uint64_t kArrivals = 0;

}  // namespace

struct Server::State {
  explicit State(const ServerOptions& options);

  bool poll(Milliseconds timeout, Handler& handler);
  bool take_events(Milliseconds wait, Handler& handler);
  void take_arrivals(Handler& handler);
  void take(Introduced&& arrival, Handler& handler);
  void take(RingGiven&& arrival, Handler& handler);
  void take(Leaving&& arrival, Handler& handler);
  void take(Refused&& arrival, Handler& handler);

  bool drain_all(Handler& handler);
  enum class Drained : std::uint8_t { some, all };
  bool drain(SessionId id, Session& session, std::size_t index, int batches, Handler& handler,
             Drained& drained);
  void close_lane(SessionId id, Session& session, std::size_t index, ProducerEnd end,
                  Handler& handler);
  bool finish_sessions(Handler& handler);
  void finish(SessionId id, ProcessEnd how, Handler& handler);

  void watch(int descriptor, std::uint64_t id) const;
  [[nodiscard]] std::size_t lane_count() const;
  [[nodiscard]] std::size_t live_sessions() const;

  WriterPageOwner writer;
  RequestServer requests;
  Descriptor epoll;
  BatchReader reader;
  std::deque<Arrival> arrived;      ///< and not yet reported
  std::vector<Descriptor> leaving;  ///< of processes that wait for the dump to be complete
  std::map<SessionId, Session> sessions;
  std::vector<SessionStats> finished;
  Clock::time_point last_message;
};

Server::State::State(const ServerOptions& options)
    : requests(options, writer.descriptor()),
      epoll(above_stdio(Descriptor(::epoll_create1(EPOLL_CLOEXEC)))),
      reader(std::max<std::size_t>(options.batch_bytes, page_bytes())),
      last_message(Clock::now()) {
  if (!epoll) throw system_error("the ring's socket cannot be watched");
  watch(requests.descriptor(), kArrivals);
}

void Server::State::watch(int descriptor, std::uint64_t id) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw system_error("a process cannot be watched");
  }
}

std::size_t Server::State::live_sessions() const {
  const auto told_later = std::count_if(arrived.begin(), arrived.end(), [](const Arrival& arrival) {
    return std::holds_alternative<Introduced>(arrival);
  });
  return sessions.size() + static_cast<std::size_t>(told_later) + requests.introductions();
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
    const std::uint64_t session =
        event.data.u64;  // a member of a packed structure has no alignment
    const auto found = sessions.find(session);
    if (found == sessions.end()) continue;
    found->second.exited = true;
    requests.end_session(found->first);
  }
  take_arrivals(handler);
  return count > 0;
}

void Server::State::take_arrivals(Handler& handler) {
  std::ranges::move(requests.take(), std::back_inserter(arrived));
  while (!arrived.empty()) {
    Arrival arrival = std::move(arrived.front());
    arrived.pop_front();
    std::visit([&](auto& each) { take(std::move(each), handler); }, arrival);
  }
}

void Server::State::take(Introduced&& arrival, Handler& handler) {
  // The process executed a different program: what the old one recorded is complete.
  for (auto entry = sessions.begin(); entry != sessions.end();) {
    const auto [id, pid] = std::pair(entry->first, entry->second.stats.pid);
    ++entry;
    if (pid == arrival.hello.pid) finish(id, ProcessEnd::replaced, handler);
  }
  Session& session = sessions[arrival.session];
  session.process = std::move(arrival.process);
  session.page = std::move(arrival.page);
  session.stats.session = arrival.session;
  session.stats.pid = arrival.hello.pid;
  watch(session.process.get(), arrival.session);
  handler.on_process(arrival.session, arrival.hello);
}

void Server::State::take(RingGiven&& arrival, Handler& handler) {
  const auto found = sessions.find(arrival.session);
  if (found == sessions.end()) {
    arrival.consumer.close();
    requests.give_back(arrival.session, arrival.consumer.capacity());
    return;
  }
  Session& session = found->second;
  if (session.stopped) arrival.consumer.close();
  ++session.stats.lanes;
  session.lanes.push_back({arrival.lane, std::move(arrival.consumer)});
  handler.on_ring(arrival.session, arrival.lane, arrival.is_main, arrival.thread_name);
}

void Server::State::take(Leaving&& arrival, Handler& /*handler*/) {
  if (const auto found = sessions.find(arrival.session); found != sessions.end()) {
    found->second.left = true;
  }
  leaving.push_back(std::move(arrival.socket));
}

void Server::State::take(Refused&& arrival, Handler& handler) {
  handler.on_refused(arrival.pid, arrival.why);
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
  requests.give_back(id, position->consumer.capacity());
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
  return state_->requests.path();
}

bool Server::reachable() const {
  std::error_code ignored;
  return std::filesystem::exists(socket_path(), ignored);
}

bool Server::anybody_shut_out() const noexcept { return state_->requests.anybody_shut_out(); }

bool Server::poll(Milliseconds timeout, Handler& handler) { return state_->poll(timeout, handler); }

void Server::end_session(SessionId session) {
  const auto found = state_->sessions.find(session);
  if (found == state_->sessions.end()) return;
  found->second.stopped = true;
  state_->requests.end_session(session);
  for (Lane& lane : found->second.lanes) lane.consumer.close();
}

void Server::keep_alive() noexcept { state_->writer.note_progress(); }

std::size_t Server::live_sessions() const noexcept { return state_->live_sessions(); }

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
