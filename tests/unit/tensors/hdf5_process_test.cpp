#include "tensors/hdf5_process.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "tensors/hdf5_messages.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using namespace ulpscope::tensors;

namespace {

/// Hdf5Process with `run` in place of what calls HDF5.
Hdf5Process process_that(const std::function<void(int socket)>& run) {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(ends[0]);
    run(ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  return {"file.h5", child, ends[0]};
}

void say(int socket, const std::string& message) {
  const std::string bytes = encode_length(message.size()) + message;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) ::_exit(1);
    at += static_cast<std::size_t>(sent);
  }
}

/// What `use` throws.
std::string refusal(const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& error) {
    const bool is_damage = std::string(error.what()).find("is damaged") != std::string::npos;
    CHECK(error.code() == (is_damage ? ErrorCode::corrupt : ErrorCode::version));
    return error.what();
  }
  return {};
}

Hdf5Entry entry_called(std::string name) {
  Hdf5Entry entry;
  entry.name = entry.part.dataset = std::move(name);
  entry.dtype = Dtype::float32;
  entry.shape = {2};
  return entry;
}

}  // namespace

TEST_SUITE("hdf5_process") {
  TEST_CASE("a process that is taken over cannot fill the memory of who reads its list") {
    Hdf5Process process = process_that([](int socket) {
      const std::string name(500'000, 'x');
      for (int k = 0; k < 4000; ++k) say(socket, encode(entry_called(name + std::to_string(k))));
    });
    CHECK(refusal([&] { (void)process.list(); }) ==
          "'file.h5' cannot be read: its list of datasets is longer than 512 MB");
  }

  TEST_CASE("a message that ends too early is damage") {
    Hdf5Process process = process_that([](int socket) {
      const std::string message = encode(entry_called("x"));
      say(socket, message.substr(0, message.size() - 1));
    });
    CHECK(refusal([&] { (void)process.list(); }) == "'file.h5' is damaged: HDF5 stops reading it");
  }

  TEST_CASE("an answer that fits no question is damage") {
    Hdf5Process process = process_that([](int socket) {
      say(socket, encode(AnswerKind::end));
      say(socket, encode(entry_called("x")));
      char asked = 0;
      while (::recv(socket, &asked, 1, 0) > 0) continue;
    });
    CHECK(process.list().empty());
    CHECK(refusal([&] {
            (void)process.read({"x", {}}, {0}, {2}, 8);
          }) == "'file.h5' is damaged: HDF5 stops reading it");
  }

  TEST_CASE("what it says of a failure is cut") {
    Hdf5Process process = process_that([](int socket) {
      std::string message = encode(AnswerKind::failed) + encode_length(100'000);
      say(socket, message + std::string(100'000, 'x'));
    });
    CHECK(refusal([&] { (void)process.list(); }).size() < 1100);
  }

  TEST_CASE("a crash is named, though its end of the socket closes before") {
    Hdf5Process process = process_that([](int socket) {
      ::close(socket);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      ::signal(SIGSEGV, SIG_DFL);
      ::raise(SIGSEGV);
    });
    CHECK(refusal([&] { (void)process.list(); }) ==
          "'file.h5' is damaged: HDF5 crashes when it reads it (Segmentation fault)");
  }
}
