#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <random>

#include "messages.hpp"
#include "processes.hpp"
#include "ring/client.hpp"
#include "ring/descriptor.hpp"
#include "ring/handshake.hpp"

namespace ulpscope::ring::test {
namespace {

using namespace std::chrono_literals;

Descriptor raw_connection(const Server& server) {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  server.socket_path().native().copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  return socket;
}

/// What the server answers to `bytes`, empty when it only ends the connection.
std::vector<std::byte> answer_to(Server& server, Diary& diary, std::span<const std::byte> bytes) {
  const Descriptor socket = raw_connection(server);
  ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  std::vector<std::byte> answer(8192);
  for (;;) {
    server.poll(5ms, diary);
    const ssize_t count = ::recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT);
    if (count >= 0 || errno != EAGAIN) {
      answer.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
      server.poll(0ms, diary);  // what came of it arrives before the answer is sent
      return answer;
    }
  }
}

template <class Request>
std::span<const std::byte> bytes_of(const Request& request) {
  return std::as_bytes(std::span(&request, 1));
}

template <class Request>
Request request_of(RequestKind kind) {
  Request request;
  request.header = {kHandshakeMagic, kProtocolVersion, kind, sizeof request};
  return request;
}

bool granted(const std::vector<std::byte>& answer) {
  ReplyHeader header;
  if (answer.size() < sizeof header) return false;
  std::memcpy(&header, answer.data(), sizeof header);
  return header.granted != 0;
}

TEST_SUITE("hostile") {
  TEST_CASE("nobody else can end a session") {
    Server server(small_rings());
    Diary diary;
    const Shared<std::atomic<bool>> tried;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      wait_until(*tried);
      return send_numbered(producer, 0) ? 0 : 2;
    });
    serve_until(server, diary, [&] { return !diary.lanes.empty(); });
    auto leave = request_of<LeaveRequest>(RequestKind::leave);
    leave.session = 1;
    CHECK(answer_to(server, diary, bytes_of(leave)).empty());
    CHECK(answer_to(server, diary, bytes_of(leave).first(sizeof leave - 1)).empty());
    *tried = true;
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK(diary.gone[1] == ProcessEnd::exited);
  }

  TEST_CASE("nobody else can ask what is inlined") {
    std::atomic<bool> looked_up = false;
    ServerOptions options = small_rings();
    options.look_up_inlined = [&](auto, auto, auto&) { looked_up = true; };
    Server server(options);
    Diary diary;
    const Shared<std::atomic<bool>> asked;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      wait_until(*asked);
      return 0;
    });
    serve_until(server, diary, [&] { return !diary.hellos.empty(); });
    auto request = request_of<InlinedRequest>(RequestKind::inlined);
    request.session = 1;
    CHECK(answer_to(server, diary, bytes_of(request)).empty());
    CHECK(answer_to(server, diary, bytes_of(request).first(sizeof request - 1)).empty());
    request.path_bytes = ~0U;
    CHECK(answer_to(server, diary, bytes_of(request)).empty());
    CHECK_FALSE(looked_up);
    *asked = true;
    serve(server, diary);
    CHECK(child.wait() == 0);
  }

  TEST_CASE("a request of the wrong size is refused") {
    Server server(small_rings());
    Diary diary;
    auto hello = request_of<HelloRequest>(RequestKind::hello);
    hello.command_bytes = 100;  // that do not follow
    CHECK_FALSE(granted(answer_to(server, diary, bytes_of(hello))));
    hello.command_bytes = ~0U;
    CHECK_FALSE(granted(answer_to(server, diary, bytes_of(hello))));
    const auto ring = request_of<RingRequest>(RequestKind::ring);
    CHECK_FALSE(granted(answer_to(server, diary, bytes_of(ring).first(sizeof ring - 1))));
    CHECK_FALSE(granted(answer_to(server, diary, bytes_of(hello).first(sizeof(RequestHeader)))));
    CHECK(diary.refusals.size() == 4);
    CHECK(diary.hellos.empty());
  }

  TEST_CASE("another protocol version is refused with a sentence") {
    Server server(small_rings());
    Diary diary;
    auto hello = request_of<HelloRequest>(RequestKind::hello);
    hello.header.protocol = kProtocolVersion + 1;
    const auto answer = answer_to(server, diary, bytes_of(hello));
    REQUIRE(answer.size() == sizeof(HelloReply));
    CHECK_FALSE(granted(answer));
    CHECK(diary.refusals.size() == 1);
  }

  TEST_CASE("a ring is given only to the process that introduced itself") {
    Server server(small_rings());
    Diary diary;
    auto hello = request_of<HelloRequest>(RequestKind::hello);
    hello.nonce = 42;
    REQUIRE(granted(answer_to(server, diary, bytes_of(hello))));
    auto ring = request_of<RingRequest>(RequestKind::ring);
    ring.session = 1;
    ring.nonce = 43;
    CHECK_FALSE(granted(answer_to(server, diary, bytes_of(ring))));
    ring.session = 2;
    ring.nonce = 42;
    CHECK_FALSE(granted(answer_to(server, diary, bytes_of(ring))));
    ring.session = 1;
    CHECK(granted(answer_to(server, diary, bytes_of(ring))));
    CHECK(diary.lanes.size() == 1);
    Child other([&] {
      Diary ignored;
      const Descriptor socket = raw_connection(server);
      ::send(socket.get(), &ring, sizeof ring, MSG_NOSIGNAL);
      RingReply answer;
      return ::recv(socket.get(), &answer, sizeof answer, 0) == sizeof answer &&
                     answer.header.granted == 0
                 ? 0
                 : 1;
    });
    const std::size_t refused = diary.refusals.size();
    serve_until(server, diary, [&] { return diary.refusals.size() > refused; });
    CHECK(other.wait() == 0);
    CHECK(diary.lanes.size() == 1);
  }

  TEST_CASE("socket and directory are their user's alone, whatever the umask") {
    const mode_t before = ::umask(0);
    Server server(small_rings());
    ::umask(before);
    struct stat status {};
    REQUIRE(::stat(server.socket_path().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    REQUIRE(::stat(server.socket_path().parent_path().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
  }

  TEST_CASE("another user is not connected, and not answered where modes would let him in" *
            doctest::skip(::geteuid() != 0)) {
    constexpr uid_t kNobody = 65534;
    Server server(small_rings());
    Diary diary;
    const auto connects_as_nobody = [&] {
      return Child([&] {
        if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return 1;
        Client client;
        return client.connect(server.socket_path().c_str(), "test") ? 0 : 2;
      });
    };
    {
      Child child = connects_as_nobody();
      CHECK(child.wait() == 2);
    }
    REQUIRE(::chmod(server.socket_path().parent_path().c_str(), 0755) == 0);
    REQUIRE(::chmod(server.socket_path().c_str(), 0777) == 0);
    Child child = connects_as_nobody();
    for (int i = 0; i < 100; ++i) server.poll(5ms, diary);
    CHECK(child.wait() == 2);
    CHECK(diary.hellos.empty());
  }

  TEST_CASE("random bytes on the socket are survived") {
    Server server(small_rings());
    Diary diary;
    std::mt19937 random(7);
    for (int i = 0; i < 500; ++i) {
      auto hello = request_of<HelloRequest>(i % 2 == 0 ? RequestKind::hello : RequestKind::ring);
      std::vector<std::byte> bytes(bytes_of(hello).begin(), bytes_of(hello).end());
      bytes.resize(random() % (2 * bytes.size()));
      for (std::size_t at = i % 4 == 0 ? 0 : sizeof(RequestHeader); at < bytes.size(); ++at) {
        bytes[at] = static_cast<std::byte>(random());
      }
      answer_to(server, diary, bytes);
    }
    const auto hello = request_of<HelloRequest>(RequestKind::hello);
    CHECK(granted(answer_to(server, diary, bytes_of(hello))));
  }

  TEST_CASE("connections that say nothing do not keep others waiting") {
    Server server(small_rings());
    Diary diary;
    std::vector<Descriptor> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(raw_connection(server));
    const auto hello = request_of<HelloRequest>(RequestKind::hello);
    CHECK(granted(answer_to(server, diary, bytes_of(hello))));
  }

  TEST_CASE("a ring with a bad message is dropped, the process's other rings go on") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer good = client.open_ring(true, "good");
      {
        Producer bad = client.open_ring(false, "bad");
        if (!send_numbered(bad, 0)) return 2;
        std::memset(bad.reserve(64), 0xff, 64);
        bad.commit(64);
      }
      for (std::uint64_t i = 0; i < 100; ++i) {
        if (!send_numbered(good, i)) return 3;
      }
      return 0;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK(diary.lanes[{1, 1}].damaged);
    CHECK(diary.lanes[{1, 1}].end == ProducerEnd::damaged);
    CHECK(diary.lanes[{1, 1}].bytes.size() == numbered_size(0, kSmallestRing / 2));
    CHECK_FALSE(diary.lanes[{1, 0}].damaged);
    NumberedReader reader(kSmallestRing / 2);
    reader.take(diary.lanes[{1, 0}].bytes);
    CHECK(reader.sound());
    CHECK(reader.count() == 100);
  }
}

}  // namespace
}  // namespace ulpscope::ring::test
