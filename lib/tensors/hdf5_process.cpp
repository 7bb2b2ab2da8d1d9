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
#include <optional>
#include <utility>

#include "tensors/messages.hpp"
#include "tensors/refuse.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 20;
constexpr int kPatience = 120'000;  // in ms, for one answer
/// What the child may compute for one answer, in seconds: unpacking 4 GB of gzip takes 15.
constexpr rlim_t kMostComputing = 20;
enum class Kind : std::uint64_t { entry, end, done, failed };

[[nodiscard]] bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void send_message(int socket, const MessageWriter& message) {
  MessageWriter length;
  length.number(message.bytes().size());
  if (!send_all(socket, length.bytes() + message.bytes())) ::_exit(1);
}

/// Whether `bytes` have come; not if the other end has closed or says nothing.
[[nodiscard]] bool receive(int socket, char* bytes, std::size_t count) {
  while (count > 0) {
    pollfd waiting{socket, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, kPatience);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = ::recv(socket, bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

[[nodiscard]] std::optional<std::string> receive_message(int socket) {
  std::string length(8, '\0');
  if (!receive(socket, length.data(), length.size())) return std::nullopt;
  const std::uint64_t bytes = MessageReader(length).number();
  if (bytes > kLongestMessage) return std::nullopt;
  std::string message(bytes, '\0');
  if (!receive(socket, message.data(), message.size())) return std::nullopt;
  return message;
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

/// A loop in HDF5 ends the child alone. To be called before each answer.
void limit_computing() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  rlimit limit{};
  if (::getrlimit(RLIMIT_CPU, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, seconds + kMostComputing);
  ::setrlimit(RLIMIT_CPU, &limit);
}

void send_failure(int socket, const char* what) {
  MessageWriter message;
  message.number(static_cast<std::uint64_t>(Kind::failed));
  message.text(std::string_view(what).substr(0, 1000));
  send_message(socket, message);
}

void write_part(MessageWriter& message, const Hdf5Part& part) {
  message.text(part.dataset);
  message.number(part.fields.size());
  for (const std::string& field : part.fields) message.text(field);
}

[[nodiscard]] Hdf5Part part_in(MessageReader& message) {
  Hdf5Part part{message.text(), {}};
  for (std::uint64_t left = message.number(); left > 0; --left)
    part.fields.push_back(message.text());
  return part;
}

void send_entry(int socket, const Hdf5Entry& entry) {
  MessageWriter message;
  message.number(static_cast<std::uint64_t>(Kind::entry));
  message.text(entry.name);
  write_part(message, entry.part);
  message.text(entry.unreadable);
  message.number(static_cast<std::uint64_t>(entry.dtype));
  message.number(entry.order == std::endian::big ? 1 : 0);
  message.sizes(entry.shape);
  message.sizes(entry.chunk);
  message.number(entry.is_text ? 1 : 0);
  message.text(entry.text);
  message.number(entry.contiguous ? 1 : 0);
  message.number(entry.offset);
  send_message(socket, message);
}

[[nodiscard]] Hdf5Entry entry_in(MessageReader& message) {
  Hdf5Entry entry;
  entry.name = message.text();
  entry.part = part_in(message);
  entry.unreadable = message.text();
  entry.dtype = static_cast<Dtype>(message.number());
  entry.order = message.number() == 1 ? std::endian::big : std::endian::little;
  entry.shape = message.sizes();
  entry.chunk = message.sizes();
  entry.is_text = message.number() == 1;
  entry.text = message.text();
  entry.contiguous = message.number() == 1;
  entry.offset = message.number();
  return entry;
}

/// What the child does: lists the file, then answers what is asked until the other end closes.
void serve(const Hdf5Place& place, int socket, std::byte* box) {
  limit_computing();
  list_hdf5(place, [&](const Hdf5Entry& entry) {
    send_entry(socket, entry);
    limit_computing();
  });
  MessageWriter end;
  end.number(static_cast<std::uint64_t>(Kind::end));
  send_message(socket, end);
  Hdf5Boxes boxes(place);
  for (;;) {
    const pollfd forever{socket, POLLIN, 0};
    pollfd waiting = forever;
    if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) return;
    const auto message = receive_message(socket);
    if (!message) return;
    MessageReader request(*message);
    const Hdf5Part part = part_in(request);
    const std::vector<std::int64_t> begin = request.sizes();
    const std::vector<std::int64_t> size = request.sizes();
    const std::uint64_t bytes = request.number();
    if (bytes > Hdf5Process::kBox) return;
    limit_computing();
    boxes.read(part, begin, size, {box, bytes});
    MessageWriter done;
    done.number(static_cast<std::uint64_t>(Kind::done));
    send_message(socket, done);
  }
}

[[noreturn]] void run_child(const Hdf5Place& place, int socket, std::byte* box) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGXCPU, SIG_DFL);
  limit_memory();
  try {
    serve(place, socket, box);
  } catch (const std::bad_alloc&) {
    send_failure(socket, "it takes more memory than a sound file does");
  } catch (const std::exception& error) {
    send_failure(socket, error.what());
  }
  ::_exit(0);  // without HDF5's own end
}

}  // namespace

Hdf5Process::Hdf5Process(const Hdf5Place& place) : file_(place.path) {
  void* const box =
      ::mmap(nullptr, kBox, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (box == MAP_FAILED) not_readable(file_);
  box_ = static_cast<std::byte*>(box);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    ::munmap(box_, kBox);
    not_readable(file_);
  }
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[0]);
    run_child(place, ends[1], box_);
  }
  ::close(ends[1]);
  socket_ = ends[0];
  if (child_ < 0) {
    ::close(socket_);
    ::munmap(box_, kBox);
    not_readable(file_);
  }
}

Hdf5Process::~Hdf5Process() {
  ::close(socket_);
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  ::munmap(box_, kBox);
}

void Hdf5Process::fail_without_answer() {
  int status = 0;
  const pid_t ended = ::waitpid(child_, &status, WNOHANG);
  if (ended == 0) damaged(file_, "HDF5 gives no answer for two minutes");
  child_ = -1;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    damaged(file_, fmt::format("HDF5 computes for {} seconds without an answer", kMostComputing));
  if (WIFSIGNALED(status))
    damaged(file_,
            fmt::format("HDF5 crashes when it reads it ({})", ::strsignal(WTERMSIG(status))));
  damaged(file_, "HDF5 stops reading it");
}

std::vector<Hdf5Entry> Hdf5Process::list() {
  std::vector<Hdf5Entry> entries;
  for (;;) {
    const auto message = receive_message(socket_);
    if (!message) fail_without_answer();
    MessageReader reader(*message);
    switch (static_cast<Kind>(reader.number())) {
      case Kind::entry:
        entries.push_back(entry_in(reader));
        break;
      case Kind::end:
        return entries;
      case Kind::failed:
        damaged(file_, reader.text());
      default:
        damaged(file_, "HDF5 stops reading it");
    }
  }
}

std::span<const std::byte> Hdf5Process::read(const Hdf5Part& part,
                                             const std::vector<std::int64_t>& begin,
                                             const std::vector<std::int64_t>& size,
                                             std::size_t bytes) {
  MessageWriter request;
  write_part(request, part);
  request.sizes(begin);
  request.sizes(size);
  request.number(bytes);
  MessageWriter length;
  length.number(request.bytes().size());
  if (!send_all(socket_, length.bytes() + request.bytes())) fail_without_answer();
  const auto message = receive_message(socket_);
  if (!message) fail_without_answer();
  MessageReader reader(*message);
  if (static_cast<Kind>(reader.number()) == Kind::failed)
    damaged(file_, fmt::format("'{}': {}", part.dataset, reader.text()));
  return {box_, bytes};
}

}  // namespace ulpscope::tensors
