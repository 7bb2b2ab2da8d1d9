#include "ring/listener.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ring/system_error.hpp"

namespace ulpscope::ring {
namespace {

constexpr std::string_view kDirectoryPattern = "ulpscope-XXXXXX";
constexpr std::string_view kSocketName = "socket";
constexpr std::size_t kMaxPacket = sizeof(HelloRequest) + kMaxCommandBytes;

std::filesystem::path make_private_directory() {
  const char* const wanted = std::getenv("TMPDIR");
  std::filesystem::path parent = wanted != nullptr && *wanted == '/' ? wanted : "/tmp";
  const std::size_t length =
      parent.native().size() + 1 + kDirectoryPattern.size() + 1 + kSocketName.size();
  if (length >= sizeof(sockaddr_un::sun_path)) parent = "/tmp";
  std::string pattern = (parent / kDirectoryPattern).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw system_error("no directory for the ring's socket can be made in " + parent.string());
  }
  return pattern;
}

}  // namespace

Listener::Listener() : directory_(make_private_directory()), path_(directory_ / kSocketName) {
  try {
    socket_ = above_stdio(
        Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.native().copy(address.sun_path, sizeof address.sun_path - 1);
    if (!socket_ || ::fchmod(socket_.get(), S_IRUSR | S_IWUSR) != 0 ||
        ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket_.get(), SOMAXCONN) != 0) {
      throw system_error("cannot listen at " + path_.string());
    }
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
    throw;
  }
}

Listener::~Listener() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  std::filesystem::remove(directory_, ignored);
}

Descriptor Listener::accept() const {
  for (;;) {
    Descriptor connection = above_stdio(
        Descriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
    if (connection || (errno != EINTR && errno != ECONNABORTED)) return connection;
  }
}

Received receive(int connection, Packet& packet) {
  packet.bytes.resize(kMaxPacket + 1);  // one more, to detect a packet that is too long
  ssize_t count = 0;
  do {
    count = ::recv(connection, packet.bytes.data(), packet.bytes.size(), MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::nothing_yet;
  if (count <= 0) return Received::broken;
  packet.bytes.resize(static_cast<std::size_t>(count));

  ucred sender{};
  socklen_t length = sizeof sender;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &sender, &length) != 0) {
    return Received::broken;
  }
  packet.pid = static_cast<std::uint32_t>(sender.pid);
  packet.same_user = sender.uid == ::geteuid();
  return Received::packet;
}

void reply(int connection, const void* bytes, std::size_t size,
           std::span<const int> attached) noexcept {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!attached.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(attached.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(attached.size_bytes());
    std::memcpy(CMSG_DATA(header), attached.data(), attached.size_bytes());
  }
  while (::sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR) {
  }
}

}  // namespace ulpscope::ring
