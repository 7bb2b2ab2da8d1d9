#include "ring/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>

#include "ring/descriptor.hpp"
#include "ring/handshake.hpp"
#include "ring/message.hpp"
#include "ring/unnoticed.hpp"

namespace ulpscope::ring {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Memory that the program's allocator does not know about. Null if there is none.
class Pages {
 public:
  explicit Pages(std::size_t bytes) noexcept
      : address_(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        bytes_(bytes) {}
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (address_ != MAP_FAILED) ::munmap(address_, bytes_);
  }
  [[nodiscard]] char* get() const noexcept {
    return address_ == MAP_FAILED ? nullptr : static_cast<char*>(address_);
  }

 private:
  void* address_;
  std::size_t bytes_;
};

/// Reads a file of /proc up to the buffer's size. Returns how many bytes there were.
std::size_t read_file(const char* path, std::span<char> buffer) noexcept {
  const Descriptor file = above_stdio(Descriptor(::open(path, O_RDONLY | O_CLOEXEC)));
  if (!file) return 0;
  std::size_t length = 0;
  while (length < buffer.size()) {
    const ssize_t count = ::read(file.get(), buffer.data() + length, buffer.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  return length;
}

/// Field 22 of /proc/self/stat. The name in field 2 may hold blanks and parentheses.
std::uint64_t process_start_time() noexcept {
  char buffer[1024];
  const std::string_view text(buffer, read_file("/proc/self/stat", buffer));
  std::size_t position = text.rfind(')');
  for (int field = 2; field < 22 && position != std::string_view::npos; ++field) {
    position = text.find(' ', position + 1);
  }
  std::uint64_t ticks = 0;
  if (position != std::string_view::npos) {
    std::from_chars(text.data() + position + 1, text.data() + text.size(), ticks);
  }
  return ticks;
}

std::int32_t rank_variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  if (value == nullptr) return -1;
  const char* const end = value + std::strlen(value);
  std::int32_t rank = -1;
  const auto [stop, error] = std::from_chars(value, end, rank);
  return error == std::errc{} && stop == end && rank >= 0 ? rank : -1;
}

std::uint64_t random_nonce() noexcept {
  std::uint64_t nonce = 0;
  if (::getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) == sizeof nonce) return nonce;
  const auto ticks = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  return ticks ^ (static_cast<std::uint64_t>(::getpid()) << 32);
}

/// Milliseconds until `deadline` for poll(2), rounded up.
int remaining(Clock::time_point deadline) noexcept {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
}

bool wait_for(int descriptor, short events, Clock::time_point deadline) noexcept {
  pollfd entry{descriptor, events, 0};
  for (;;) {
    const int left = remaining(deadline);
    const int ready = ::poll(&entry, 1, left);
    if (ready > 0) return true;
    if (ready == 0 && left == 0) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Descriptor connect_to(std::string_view path, Clock::time_point deadline) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor socket =
      above_stdio(Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!socket) return {};
  // A full backlog says EAGAIN at once and cannot be polled for.
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
         0) {
    if ((errno != EAGAIN && errno != EINTR) || Clock::now() >= deadline) return {};
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return socket;
}

bool send_packet(int socket, std::span<iovec> parts, Clock::time_point deadline) noexcept {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait_for(socket, POLLOUT, deadline)) return false;
  }
  return true;
}

using Descriptors = std::array<Descriptor, kMostDescriptors>;

/// Receives one packet of exactly `size` bytes and the descriptors that come with it.
bool receive_packet(int socket, void* packet, std::size_t size, Descriptors& descriptors,
                    Clock::time_point deadline) noexcept {
  iovec part{packet, size};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count = 0;
  do {
    if (!wait_for(socket, POLLIN, deadline)) return false;
    count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && (errno == EINTR || errno == EAGAIN));
  if (count < 0) return false;

  const cmsghdr* const attached = CMSG_FIRSTHDR(&message);
  if (attached != nullptr && attached->cmsg_level == SOL_SOCKET &&
      attached->cmsg_type == SCM_RIGHTS) {
    const std::size_t bytes = attached->cmsg_len - CMSG_LEN(0);
    for (std::size_t i = 0; i < descriptors.size() && (i + 1) * sizeof(int) <= bytes; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(attached) + i * sizeof number, sizeof number);
      descriptors[i] = above_stdio(Descriptor(number));
    }
  }
  return static_cast<std::size_t>(count) == size && (message.msg_flags & MSG_TRUNC) == 0;
}

constexpr std::string_view kNoDescriptor = "no file descriptor is free for the ring";

/// One request and its reply over a separate connection, with `wanted` descriptors. The reason is
/// set when it returns false.
template <class Reply>
bool exchange(std::string_view path, std::span<iovec> request, Reply& reply,
              Descriptors& descriptors, std::size_t wanted, Clock::time_point deadline,
              Text<160>& reason) noexcept {
  const Descriptor socket = connect_to(path, deadline);
  if (!socket) {
    reason.set(errno == EMFILE || errno == ENFILE
                   ? kNoDescriptor
                   : "the process that writes the dump cannot be reached");
    return false;
  }
  // A rejection may come, and the connection end, before the whole request was sent.
  const bool sent = send_packet(socket.get(), request, deadline);
  if (!receive_packet(socket.get(), &reply, sizeof reply, descriptors, deadline) ||
      reply.header.magic != kHandshakeMagic) {
    reason.set(sent ? "the process that writes the dump did not answer"
                    : "the process that writes the dump does not listen");
    return false;
  }
  if (reply.header.protocol != kProtocolVersion) {
    reason.set("the process that writes the dump speaks a different version of the protocol");
    return false;
  }
  if (reply.header.granted == 0) {
    reason.set(reply.header.refusal.view());
    return false;
  }
  const bool all = std::all_of(descriptors.begin(), descriptors.begin() + wanted,
                               [](const Descriptor& each) { return static_cast<bool>(each); });
  if (!all) reason.set(kNoDescriptor);
  return all;
}

RequestHeader header_of(RequestKind kind, std::size_t size) noexcept {
  return {kHandshakeMagic, kProtocolVersion, kind, static_cast<std::uint32_t>(size)};
}

const WriterPage* map_writer_page(int descriptor) noexcept {
  struct stat status {};
  const std::size_t page = page_bytes();
  if (::fstat(descriptor, &status) != 0 || status.st_size != static_cast<off_t>(page)) {
    return nullptr;
  }
  void* const address = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) return nullptr;
  const auto* const writer = static_cast<const WriterPage*>(address);
  if (writer->magic == kWriterMagic && writer->protocol == kProtocolVersion) return writer;
  ::munmap(address, page);
  return nullptr;
}

SessionPage* map_session_page(int descriptor) noexcept {
  struct stat status {};
  const std::size_t page = page_bytes();
  if (::fstat(descriptor, &status) != 0 || status.st_size != static_cast<off_t>(page)) {
    return nullptr;
  }
  void* const address = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) return nullptr;
  auto* const session = static_cast<SessionPage*>(address);
  if (session->magic == kSessionMagic && session->protocol == kProtocolVersion) return session;
  ::munmap(address, page);
  return nullptr;
}

void leave_word(LastWord& word, std::string_view sentence) noexcept {
  enum : std::uint32_t { none, writing, complete };
  std::uint32_t before = none;
  if (sentence.empty() || !word.state.compare_exchange_strong(before, writing)) return;
  word.sentence.set(sentence);
  word.state.store(complete, std::memory_order_release);
}

SessionGuard* make_guard() noexcept {
  void* const address =
      ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  if (::madvise(address, page_bytes(), MADV_WIPEONFORK) != 0) {
    ::munmap(address, page_bytes());
    return nullptr;
  }
  return new (address) SessionGuard{};
}

}  // namespace

bool Client::connect(const char* socket_path, std::string_view capture_version) noexcept {
  const Unnoticed unnoticed;
  refusal_.set("");
  if (!socket_path_.fits(socket_path)) {
    refusal_.set("the path of the writer's socket is too long");
    return false;
  }
  socket_path_.set(socket_path);
  if (guard_ == nullptr) guard_ = make_guard();
  const Pages command(kMaxCommandBytes + 1);
  if (guard_ == nullptr || command.get() == nullptr) {
    refusal_.set("there is no memory for recording");
    return false;
  }
  guard_->token.store(0, std::memory_order_relaxed);

  const std::size_t command_bytes =
      read_file("/proc/self/cmdline", {command.get(), kMaxCommandBytes + 1});
  HelloRequest request;
  request.command_bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(command_bytes, kMaxCommandBytes));
  request.command_cut = command_bytes > kMaxCommandBytes ? 1 : 0;
  request.header = header_of(RequestKind::hello, sizeof request + request.command_bytes);
  request.nonce = nonce_ = random_nonce();
  request.start_time = process_start_time();
  request.pid = static_cast<std::uint32_t>(::getpid());
  request.parent_pid = static_cast<std::uint32_t>(::getppid());
  request.parent_session = parent_session_;
  request.forking_thread = forking_thread_;
  request.ranks[0] = rank_variable("RANK");
  request.ranks[1] = rank_variable("OMPI_COMM_WORLD_RANK");
  request.ranks[2] = rank_variable("PMI_RANK");
  request.ranks[3] = rank_variable("SLURM_PROCID");
  request.ranks[4] = rank_variable("LOCAL_RANK");
  request.capture_version.set(capture_version);

  iovec parts[] = {{&request, sizeof request}, {command.get(), request.command_bytes}};
  HelloReply reply;
  Descriptors descriptors;
  if (!exchange(socket_path_.view(), parts, reply, descriptors, 2, Clock::now() + timeout_,
                refusal_)) {
    const bool answered = reply.header.protocol != 0;  // the writer knows whom it has rejected
    if (!answered || reply.header.granted != 0) tell_parent(refusal_.view());
    return false;
  }
  // An earlier session's pages stay mapped: a producer in another thread may still read them.
  writer_ = map_writer_page(descriptors[0].get());
  page_ = map_session_page(descriptors[1].get());
  if (writer_ == nullptr || page_ == nullptr) {
    refusal_.set("the writer's page cannot be mapped");
    tell_parent(refusal_.view());
    return false;
  }
  session_ = reply.session;
  settings_ = reply.settings;
  token_ += 2;
  guard_->token.store(token_, std::memory_order_release);
  return true;
}

Producer Client::open_ring(bool is_main, std::string_view thread_name) noexcept {
  if (!recording()) return {};
  const Unnoticed unnoticed;
  RingRequest request;
  request.header = header_of(RequestKind::ring, sizeof request);
  request.session = session_;
  request.nonce = nonce_;
  request.is_main = is_main ? 1 : 0;
  request.thread_name.set(thread_name);

  iovec part{&request, sizeof request};
  RingReply reply;
  Descriptors descriptors;
  Text<160> reason;  // separate: several threads may fail at once
  RingMapping mapping;
  if (exchange(socket_path_.view(), {&part, 1}, reply, descriptors, 1, Clock::now() + timeout_,
               reason)) {
    mapping = RingMapping::map(descriptors[0].get(), reply.capacity);
    if (!mapping) reason.set("there is no memory for the ring");
  }
  if (!mapping) {
    end_session(reason.view());
    return {};
  }
  return {std::move(mapping), {guard_, writer_, token_, settings_.give_up_milliseconds}};
}

bool Client::inlined_calls(std::string_view object, std::uint64_t address,
                           InlinedCalls& answer) const noexcept {
  if (!recording() || object.size() > kMaxPathBytes) return false;
  const Unnoticed unnoticed;
  InlinedRequest request;
  request.header = header_of(RequestKind::inlined, sizeof request + object.size());
  request.session = session_;
  request.nonce = nonce_;
  request.address = address;
  request.path_bytes = static_cast<std::uint32_t>(object.size());

  iovec parts[] = {{&request, sizeof request}, {const_cast<char*>(object.data()), object.size()}};
  InlinedReply reply;
  Descriptors descriptors;
  Text<160> reason;
  if (!exchange(socket_path_.view(), parts, reply, descriptors, 0, Clock::now() + timeout_,
                reason)) {
    return false;
  }
  answer = reply.calls;
  return true;
}

bool Client::recording() const noexcept {
  return guard_ != nullptr && token_ != 0 &&
         guard_->token.load(std::memory_order_acquire) == token_;
}

void Client::end_session(std::string_view why) noexcept {
  if (guard_ == nullptr) return;
  std::uint64_t token = token_;
  if (token != 0 &&
      guard_->token.compare_exchange_strong(token, token_ + kOver, std::memory_order_relaxed)) {
    leave_word(page_->ended, why);
  }
}

void Client::leave(std::chrono::milliseconds patience) noexcept {
  const bool in_session = recording();
  end_session({});
  if (!in_session) return;
  const Unnoticed unnoticed;
  LeaveRequest request;
  request.header = header_of(RequestKind::leave, sizeof request);
  request.session = session_;
  request.nonce = nonce_;
  iovec part{&request, sizeof request};
  const Clock::time_point deadline = Clock::now() + timeout_;
  const Descriptor socket = connect_to(socket_path_.view(), deadline);
  if (!socket || !send_packet(socket.get(), {&part, 1}, deadline)) return;
  wait_for(socket.get(), POLLIN, Clock::now() + patience);
}

void Client::tell_parent(std::string_view why) noexcept {
  if (parents_page_ != nullptr) leave_word(parents_page_->no_child, why);
}

void Client::after_fork_in_child(std::uint32_t forking_thread) noexcept {
  // The wiped page already says "off"; a kernel without wiping would not have let us connect.
  if (guard_ != nullptr) guard_->token.store(0, std::memory_order_relaxed);
  // A child that forks before it has connected is its parent's parent's.
  if (session_ != 0) parent_session_ = session_;
  forking_thread_ = forking_thread;
  session_ = 0;
  nonce_ = 0;
  parents_page_ = std::exchange(page_, nullptr);
}

}  // namespace ulpscope::ring
