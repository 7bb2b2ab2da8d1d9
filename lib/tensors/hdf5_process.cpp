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

namespace ulpscope::tensors {
namespace {

constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 20;
constexpr std::uint64_t kLongestList = std::uint64_t{1} << 29;
constexpr int kPatience = 120'000;  // in ms, for one answer
/// What the child may compute for one answer, in seconds: unpacking 4 GB of gzip takes 15.
constexpr rlim_t kMostComputing = 20;
/// For all reads together it may compute as long, and further seconds for what it has read. Slow
/// compressors need a quarter of that for their bytes, and HDF5 half of it for its elements where
/// chunks are one element wide; chunks that are unpacked again for every read need more.
constexpr std::uint64_t kBytesInSecond = std::uint64_t{1} << 23;
constexpr std::uint64_t kElementsInSecond = std::uint64_t{1} << 20;
constexpr int kEnding = 5'000;  // in ms, from the end of its messages to its own

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

/// A loop in HDF5 ends the child alone. To be called before each answer, of which no more than
/// `all` seconds may have been computed.
void limit_computing(rlim_t all = RLIM_INFINITY) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CPU, &limit) != 0) return;
  limit.rlim_cur = std::min({limit.rlim_max, computed() + kMostComputing, all});
  ::setrlimit(RLIMIT_CPU, &limit);
}

/// What the child does: lists the file, then answers what is asked until the other end closes.
void serve(const Hdf5Place& place, int socket, std::byte* box) {
  limit_computing();
  list_hdf5(place, [&](const Hdf5Entry& entry) {
    answer(socket, encode(entry));
    limit_computing();
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
    limit_computing(listed + kMostComputing + bytes / kBytesInSecond +
                    elements / kElementsInSecond);
    elements += boxes.read(request.part, request.begin, request.size, {box, request.bytes});
    bytes += request.bytes;
    answer(socket, encode(AnswerKind::done));
  }
}

[[noreturn]] void run_child(const Hdf5Place& place, int socket, std::byte* box) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGXCPU, SIG_DFL);
  limit_memory();
  try {
    serve(place, socket, box);
  } catch (const std::bad_alloc&) {
    answer(socket, encode_failure("it takes more memory than a sound file does"));
  } catch (const std::exception& error) {
    answer(socket, encode_failure(error.what()));
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

Hdf5Process::Hdf5Process(const Hdf5Place& place) : Hdf5Process(place.path, -1, -1) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) not_readable(file_);
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[0]);
    run_child(place, ends[1], box_);
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

void Hdf5Process::fail_after_silence() { damaged(file_, "HDF5 gives no answer for two minutes"); }

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
    damaged(file_, "HDF5 computes on it for longer than on a sound file");
  if (ended > 0 && WIFSIGNALED(status))
    damaged(file_,
            fmt::format("HDF5 crashes when it reads it ({})", ::strsignal(WTERMSIG(status))));
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
    if (bytes > kLongestList) damaged(file_, "its list of datasets is longer than 512 MB");
    Hdf5Answer answer = decode_answer(message);
    switch (answer.kind) {
      case AnswerKind::entry:
        entries.push_back(std::move(answer.entry));
        break;
      case AnswerKind::end:
        return entries;
      case AnswerKind::failed:
        damaged(file_, answer.failure);
      default:
        damaged(file_, "HDF5 stops reading it");
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
  if (answer.kind == AnswerKind::failed)
    damaged(file_, fmt::format("'{}': {}", part.dataset, answer.failure));
  if (answer.kind != AnswerKind::done) damaged(file_, "HDF5 stops reading it");
  return {box_, bytes};
} catch (const std::out_of_range&) {
  damaged(file_, "HDF5 stops reading it");
}

}  // namespace ulpscope::tensors
