#include "tensors/hdf5_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

#include "tensors/hdf5_messages.hpp"
#include "tensors/refuse.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 20;
constexpr std::uint64_t kLongestList = std::uint64_t{1} << 29;
constexpr int kPatience = 120'000;  // in ms, for one answer
constexpr int kEnding = 5'000;      // in ms, from the end of its messages to its own

/// How it went with the other end.
enum class Exchange : std::uint8_t { done, silence, end };

/// Until the other end takes or gives bytes, or has closed.
[[nodiscard]] Exchange wait_for(int socket, short what) {
  for (;;) {
    pollfd waiting{socket, what, 0};
    const int ready = ::poll(&waiting, 1, kPatience);
    if (ready > 0) return Exchange::done;
    if (ready == 0) return Exchange::silence;
    if (errno != EINTR) return Exchange::end;
  }
}

[[nodiscard]] Exchange send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    if (const Exchange waited = wait_for(socket, POLLOUT); waited != Exchange::done) return waited;
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return Exchange::end;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return Exchange::done;
}

[[nodiscard]] Exchange send_message(int socket, const std::string& message) {
  return send_all(socket, encode_length(message.size()) + message);
}

void answer(int socket, const std::string& message) {
  if (send_message(socket, message) != Exchange::done) ::_exit(1);
}

[[nodiscard]] Exchange receive(int socket, std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    if (const Exchange waited = wait_for(socket, POLLIN); waited != Exchange::done) return waited;
    const ssize_t got = ::recv(socket, &bytes[at], bytes.size() - at, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Exchange::end;
    at += static_cast<std::size_t>(got);
  }
  return Exchange::done;
}

/// A message that is too long is the end, too.
[[nodiscard]] Exchange receive_message(int socket, std::string& message) {
  message.assign(8, '\0');
  if (const Exchange length = receive(socket, message); length != Exchange::done) return length;
  const std::uint64_t bytes = decode_length(message);
  if (bytes > kLongestMessage) return Exchange::end;
  message.assign(bytes, '\0');
  return receive(socket, message);
}

// AddressSanitizer's own memory exceeds any limit.
#if defined(__SANITIZE_ADDRESS__)
#define ULPSCOPE_SANITIZES_ADDRESSES 1
#elif defined(__has_feature)
#define ULPSCOPE_SANITIZES_ADDRESSES __has_feature(address_sanitizer)
#else
#define ULPSCOPE_SANITIZES_ADDRESSES 0
#endif

/// A chunk that claims to unpack to more, or a loop of allocations, ends the child alone.
void limit_memory() {
#if !ULPSCOPE_SANITIZES_ADDRESSES
  constexpr rlim_t kMost = rlim_t{4} << 30;
  const rlimit limit{kMost, kMost};
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

/// What the child has computed, in seconds.
[[nodiscard]] rlim_t computed() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
}

/// A loop in HDF5 ends the child alone. To be called before each answer, which may take `answer`
/// seconds; at its end no more than `all` may have been computed.
void limit_computing(rlim_t answer, rlim_t all = RLIM_INFINITY) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CPU, &limit) != 0) return;
  limit.rlim_cur = std::min({limit.rlim_max, computed() + answer, all});
  ::setrlimit(RLIMIT_CPU, &limit);
}

/// What the child does: lists the file, then answers what is asked until the other end closes.
void serve(const Hdf5Place& place, const Hdf5Limits& limits, int socket, std::byte* box) {
  limit_computing(limits.answer);
  list_hdf5(place, [&](const Hdf5Entry& entry) {
    answer(socket, encode(entry));
    limit_computing(limits.answer);
  });
  answer(socket, encode(AnswerKind::end));
  Hdf5Boxes boxes(place);
  const rlim_t listed = computed();
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  for (;;) {
    const pollfd forever{socket, POLLIN, 0};
    pollfd waiting = forever;
    if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) return;
    std::string message;
    if (receive_message(socket, message) != Exchange::done) return;
    const Hdf5Request request = decode_request(message);
    if (request.bytes > Hdf5Process::kBox) return;
    limit_computing(limits.answer, listed + limits.reads + bytes / limits.bytes_in_second +
                                       elements / limits.elements_in_second);
    elements += boxes.read(request.part, request.begin, request.size, {box, request.bytes});
    bytes += request.bytes;
    answer(socket, encode(AnswerKind::done));
  }
}

[[noreturn]] void run_child(const Hdf5Place& place, const Hdf5Limits& limits, int socket,
                            std::byte* box) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGXCPU, SIG_DFL);
  limit_memory();
  try {
    serve(place, limits, socket, box);
  } catch (const std::bad_alloc&) {
    answer(socket, encode_failure(AnswerKind::refused, "it takes more than 4 GB of memory"));
  } catch (const Error& error) {
    answer(socket, encode_failure(error.code() == ErrorCode::corrupt ? AnswerKind::failed
                                                                     : AnswerKind::refused,
                                  error.what()));
  } catch (const std::exception& error) {
    answer(socket, encode_failure(AnswerKind::refused, error.what()));
  }
  ::_exit(0);  // without HDF5's own end
}

}  // namespace

Hdf5Process::Hdf5Process(const std::filesystem::path& file, pid_t child, int socket)
    : file_(file), child_(child), socket_(socket) {
  void* const box =
      ::mmap(nullptr, kBox, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (box == MAP_FAILED) {
    if (socket_ >= 0) ::close(socket_);
    not_readable(file_);
  }
  box_ = static_cast<std::byte*>(box);
}

Hdf5Process::Hdf5Process(const Hdf5Place& place, const Hdf5Limits& limits)
    : Hdf5Process(place.path, -1, -1) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) not_readable(file_);
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[0]);
    run_child(place, limits, ends[1], box_);
  }
  ::close(ends[1]);
  socket_ = ends[0];
  if (child_ < 0) not_readable(file_);
}

Hdf5Process::~Hdf5Process() {
  if (socket_ >= 0) ::close(socket_);
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  ::munmap(box_, kBox);
}

void Hdf5Process::fail_after_silence() {
  unsupported(file_, "HDF5 gives no answer for two minutes");
}

void Hdf5Process::fail_after_end() {
  constexpr int kTurn = 10;
  int status = 0;
  pid_t ended = 0;
  // Its end of the socket closes before it has ended.
  for (int waited = 0; child_ > 0 && waited < kEnding; waited += kTurn) {
    ended = ::waitpid(child_, &status, WNOHANG);
    if (ended != 0) break;
    ::poll(nullptr, 0, kTurn);
  }
  if (ended > 0) child_ = -1;
  if (ended > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    unsupported(file_,
                "HDF5 computes on it for too long: more than 20 seconds, and one for each 8 MB or "
                "million elements that it has read",
                "h5repack -f NONE -l CONTI writes a copy that is read without HDF5");
  if (ended > 0 && WIFSIGNALED(status))
    damaged(file_,
            fmt::format("HDF5 crashes when it reads it ({})", ::strsignal(WTERMSIG(status))));
  damaged(file_, "HDF5 stops reading it");
}

void Hdf5Process::fail(const Hdf5Answer& answer, const std::string& dataset) {
  const std::string what =
      dataset.empty() ? answer.failure : fmt::format("'{}': {}", dataset, answer.failure);
  if (answer.kind == AnswerKind::failed) damaged(file_, what);
  if (answer.kind == AnswerKind::refused) unsupported(file_, what);
  damaged(file_, "HDF5 stops reading it");
}

std::string Hdf5Process::receive_answer() {
  std::string message;
  const Exchange received = receive_message(socket_, message);
  if (received == Exchange::silence) fail_after_silence();
  if (received == Exchange::end) fail_after_end();
  return message;
}

std::vector<Hdf5Entry> Hdf5Process::list() try {
  std::vector<Hdf5Entry> entries;
  std::uint64_t bytes = 0;
  for (;;) {
    const std::string message = receive_answer();
    bytes += message.size();
    if (bytes > kLongestList) unsupported(file_, "its list of datasets is longer than 512 MB");
    Hdf5Answer answer = decode_answer(message);
    switch (answer.kind) {
      case AnswerKind::entry:
        entries.push_back(std::move(answer.entry));
        break;
      case AnswerKind::end:
        return entries;
      default:
        fail(answer);
    }
  }
} catch (const std::out_of_range&) {
  damaged(file_, "HDF5 stops reading it");
}

std::span<const std::byte> Hdf5Process::read(const Hdf5Part& part,
                                             const std::vector<std::int64_t>& begin,
                                             const std::vector<std::int64_t>& size,
                                             std::size_t bytes) try {
  const Exchange sent = send_message(socket_, encode(Hdf5Request{part, begin, size, bytes}));
  if (sent == Exchange::silence) fail_after_silence();
  if (sent == Exchange::end) fail_after_end();
  const Hdf5Answer answer = decode_answer(receive_answer());
  if (answer.kind != AnswerKind::done) fail(answer, part.dataset);
  return {box_, bytes};
} catch (const std::out_of_range&) {
  damaged(file_, "HDF5 stops reading it");
}

}  // namespace ulpscope::tensors
