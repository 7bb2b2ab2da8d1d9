#include <doctest/doctest.h>

#include <cerrno>
#include <random>
#include <thread>

#include "messages.hpp"
#include "processes.hpp"
#include "ring/client.hpp"

namespace ulpscope::ring::test {
namespace {

using namespace std::chrono_literals;

struct WriterState {
  std::atomic<bool> listening;
  std::atomic<bool> drained;
  char socket_path[108];
};

/// A writer process that reads everything until it is killed.
int write_for_ever(WriterState& state, const ServerOptions& options) {
  Server server(options);
  server.socket_path().native().copy(state.socket_path, sizeof state.socket_path - 1);
  state.listening = true;
  Diary diary;
  for (;;) server.poll(50ms, diary);
}

void remove_socket(const WriterState& state) {
  std::filesystem::remove_all(std::filesystem::path(state.socket_path).parent_path());
}

TEST_SUITE("killed") {
  TEST_CASE("everything that a killed program committed is delivered, and nothing else") {
    constexpr int kKills = 200;
    std::mt19937_64 random(20240817);
    Server server(small_rings());
    for (int kill = 0; kill < kKills; ++kill) {
      CAPTURE(kill);
      struct Progress {
        std::atomic<bool> started;
        std::atomic<std::uint64_t> committed;
      };
      Shared<Progress> progress;
      Diary diary;
      Child child([&] {
        Client client;
        if (!client.connect(server.socket_path().c_str(), "test")) return 1;
        Producer producer = client.open_ring(true, "main");
        for (std::uint64_t i = 0; send_numbered(producer, i); ++i) {
          progress->committed = i + 1;
          progress->started = true;
        }
        return 2;
      });
      serve_until(server, diary, [&] { return progress->started.load(); });
      const auto end =
          std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 3000);
      while (std::chrono::steady_clock::now() < end) server.poll(0ms, diary);
      child.signal(SIGKILL);
      serve(server, diary);
      CHECK(child.wait() == 128 + SIGKILL);

      NumberedReader reader(kSmallestRing / 2);
      reader.take(diary.lanes.begin()->second.bytes);
      REQUIRE(reader.sound());
      const std::uint64_t committed = progress->committed;
      CHECK(reader.count() >= committed);
      CHECK(reader.count() <= committed + 1);  // killed between the commit and the note of it
      CHECK(diary.lanes.begin()->second.end == ProducerEnd::none);
    }
    CHECK(server.live_sessions() == 0);
  }

  TEST_CASE("what is left in the ring of a killed program may take many turns to read") {
    ServerOptions options;
    options.settings.ring_bytes = 1 << 20;
    options.batch_bytes = 4096;
    Server server(options);
    Diary diary;
    Shared<std::atomic<std::uint64_t>> committed;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      for (std::uint64_t bytes = 0; bytes < 900'000; ++*committed) {
        const std::uint32_t size = numbered_size(*committed, 4096);
        write_numbered(producer.reserve(size), *committed, size);
        producer.commit(size);
        bytes += size;
      }
      return ::raise(SIGKILL);
    });
    serve_until(server, diary, [&] { return diary.lanes.size() == 1; });
    // Until it is gone nothing is read, so that all of it is left for the end.
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
    serve(server, diary);
    NumberedReader reader(4096);
    reader.take(diary.lanes[{1, 0}].bytes);
    CHECK(reader.sound());
    CHECK(reader.count() == *committed);
  }

  TEST_CASE("a message that a killed program had half written is never seen") {
    Server server(small_rings());
    Diary diary;
    Shared<std::atomic<bool>> half_written;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      for (std::uint64_t i = 0; i < 3; ++i) {
        if (!send_numbered(producer, i)) return 2;
      }
      const std::uint32_t size = numbered_size(3, producer.max_message());
      std::memset(producer.reserve(size), 0xee, size / 2);
      *half_written = true;
      for (;;) ::pause();
    });
    serve_until(server, diary, [&] { return half_written->load(); });
    child.signal(SIGKILL);
    serve(server, diary);
    NumberedReader reader(kSmallestRing / 2);
    reader.take(diary.lanes[{1, 0}].bytes);
    CHECK(reader.sound());
    CHECK(reader.count() == 3);
  }

  TEST_CASE("a killed writer ends recording at once, also while it is not yet waited for") {
    Shared<WriterState> state;
    Child writer([&] { return write_for_ever(*state, small_rings(600'000)); });
    wait_until(state->listening);
    Client client;
    REQUIRE(client.connect(state->socket_path, "test"));
    Producer producer = client.open_ring(true, "main");
    REQUIRE(send_numbered(producer, 0));
    writer.signal(SIGKILL);
    std::uint64_t number = 1;
    while (send_numbered(producer, number)) ++number;
    CHECK(producer.end() == ProducerEnd::writer_gone);
    CHECK_FALSE(client.recording());
    CHECK(writer.wait() == 128 + SIGKILL);
    remove_socket(*state);
  }

  TEST_CASE("a program that waits for room notices that the writer was killed") {
    Shared<WriterState> state;
    Child writer([&] { return write_for_ever(*state, small_rings(600'000)); });
    wait_until(state->listening);
    Client client;
    REQUIRE(client.connect(state->socket_path, "test"));
    Producer producer = client.open_ring(true, "main");
    writer.signal(SIGSTOP);
    std::thread killer([&] {
      std::this_thread::sleep_for(100ms);
      writer.signal(SIGKILL);
    });
    std::uint64_t number = 0;
    while (send_numbered(producer, number)) ++number;
    killer.join();
    CHECK(producer.end() == ProducerEnd::writer_gone);
    remove_socket(*state);
  }

  TEST_CASE("a stopped writer ends recording after the stated time") {
    Shared<WriterState> state;
    Child writer([&] { return write_for_ever(*state, small_rings(100)); });
    wait_until(state->listening);
    Client client;
    REQUIRE(client.connect(state->socket_path, "test"));
    Producer producer = client.open_ring(true, "main");
    writer.signal(SIGSTOP);
    std::uint64_t number = 0;
    while (send_numbered(producer, number)) ++number;
    CHECK(producer.end() == ProducerEnd::writer_stuck);
    remove_socket(*state);
  }

  TEST_CASE("a writer that gets no answer from a killed client goes on") {
    Server server(small_rings());
    Diary diary;
    for (int i = 0; i < 20; ++i) {
      Child child([&] {
        Client client;
        static_cast<void>(client.connect(server.socket_path().c_str(), "test"));
        return 0;
      });
      ::usleep(static_cast<useconds_t>(100 * i));
      child.signal(SIGKILL);
      child.wait();
    }
    Child child([&] {
      Client client;
      return client.connect(server.socket_path().c_str(), "test") ? 0 : 1;
    });
    const auto pid = static_cast<std::uint32_t>(child.pid());
    serve_until(server, diary, [&] {
      return !diary.hellos.empty() && diary.hellos.rbegin()->second.pid == pid &&
             server.live_sessions() == 0;
    });
    CHECK(child.wait() == 0);
  }
}

}  // namespace
}  // namespace ulpscope::ring::test
