#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <thread>

#include "messages.hpp"
#include "processes.hpp"
#include "ring/client.hpp"

namespace ulpscope::ring::test {
namespace {

using namespace std::chrono_literals;

/// Linux 6.15 and later.
bool tells_how_reaped_processes_ended() {
  utsname system{};
  ::uname(&system);
  int major = 0;
  int minor = 0;
  std::sscanf(system.release, "%d.%d", &major, &minor);
  return major > 6 || (major == 6 && minor >= 15);
}

std::uint64_t numbered_count(const Diary& diary, SessionId session, std::uint32_t lane = 0) {
  NumberedReader reader(kSmallestRing / 2);
  reader.take(diary.lanes.at({session, lane}).bytes);
  CHECK(reader.sound());
  return reader.count();
}

TEST_SUITE("session") {
  TEST_CASE("a forked child writes nothing to its parent's ring") {
    struct Case {
      const char* name;
      pid_t (*fork)();
    };
    for (const Case& c : {Case{"fork", [] { return ::fork(); }},
                          Case{"clone without atfork handlers", [] {
                                 return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr,
                                                                     nullptr, nullptr, nullptr));
                               }}}) {
      CAPTURE(c.name);
      Server server(small_rings());
      Diary diary;
      Child child([&] {
        Client client;
        if (!client.connect(server.socket_path().c_str(), "test")) return 1;
        Producer producer = client.open_ring(true, "main");
        if (!send_numbered(producer, 0)) return 2;
        const pid_t grandchild = c.fork();
        if (grandchild == 0) {
          if (client.recording() || producer.recording()) ::_exit(1);
          if (send_numbered(producer, 1)) ::_exit(2);
          if (client.open_ring(false, "child").recording()) ::_exit(3);
          producer = Producer();  // must not close the parent's ring
          ::_exit(0);
        }
        int status = 0;
        ::waitpid(grandchild, &status, 0);
        if (status != 0) return 10 + WEXITSTATUS(status);
        return send_numbered(producer, 1) ? 0 : 3;
      });
      serve(server, diary);
      CHECK(child.wait() == 0);
      CHECK(diary.hellos.size() == 1);
      CHECK(numbered_count(diary, 1) == 2);
    }
  }

  TEST_CASE("a process that leaves waits until the writer has all it committed") {
    std::optional<Server> server(std::in_place, small_rings());
    Diary diary;
    const Shared<std::atomic<bool>> dump_is_complete;
    Child child([&] {
      Client client;
      if (!client.connect(server->socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      if (!send_numbered(producer, 0) || !send_numbered(producer, 1)) return 2;
      client.leave(60s);
      if (!*dump_is_complete) return 3;
      return producer.recording() || client.recording() ? 4 : 0;
    });
    serve(*server, diary);
    CHECK(diary.gone[1] == ProcessEnd::left);
    CHECK(numbered_count(diary, 1) == 2);
    *dump_is_complete = true;
    server.reset();
    CHECK(child.wait() == 0);
  }

  TEST_CASE("a process can leave and come back") {
    Server first(small_rings());
    Server second(small_rings());
    Diary diary;
    Diary second_diary;
    Child child([&] {
      Client client;
      if (!client.connect(first.socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      if (!send_numbered(producer, 0)) return 2;
      client.leave(1ms);
      if (!client.connect(second.socket_path().c_str(), "test")) return 3;
      if (producer.recording()) return 4;
      Producer again = client.open_ring(true, "main");
      return send_numbered(again, 0) ? 0 : 5;
    });
    serve(first, diary);
    serve(second, second_diary);
    CHECK(child.wait() == 0);
    CHECK(numbered_count(diary, 1) == 1);
    CHECK(numbered_count(second_diary, 1) == 1);
  }

  TEST_CASE("how a process ended is told, whoever its parent is") {
    for (const int signal : {0, SIGKILL}) {
      CAPTURE(signal);
      Server server(small_rings());
      Diary diary;
      Child child([&] {
        Client client;
        if (!client.connect(server.socket_path().c_str(), "test")) return 1;
        if (signal != 0) ::raise(signal);
        return 5;
      });
      serve(server, diary);  // it has not been waited for yet
      CHECK(diary.wait_statuses == std::map<SessionId, int>{{1, signal == 0 ? 5 << 8 : signal}});
      CHECK(child.wait() == (signal == 0 ? 5 : 128 + signal));
    }
  }

  TEST_CASE("how a process ended that was waited for is told where the system keeps it") {
    for (const int signal : {0, SIGKILL}) {
      CAPTURE(signal);
      Server server(small_rings());
      Diary diary;
      struct Progress {
        std::atomic<bool> seen;
        std::atomic<bool> reaped;
      };
      Shared<Progress> progress;
      Child child([&] {
        Child grandchild([&] {
          Client client;
          if (!client.connect(server.socket_path().c_str(), "test")) return 1;
          wait_until(progress->seen);
          if (signal != 0) ::raise(signal);
          return 5;
        });
        const int code = grandchild.wait();
        progress->reaped = true;
        return code;
      });
      serve_until(server, diary, [&] { return !diary.hellos.empty(); });
      progress->seen = true;
      wait_until(progress->reaped);
      serve(server, diary);
      std::map<SessionId, int> told;
      if (tells_how_reaped_processes_ended()) told[1] = signal == 0 ? 5 << 8 : signal;
      CHECK(diary.wait_statuses == told);
      child.wait();
    }
  }

  TEST_CASE("a forked child can have a session of its own") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      Child grandchild([&] {
        client.after_fork_in_child(77);
        if (client.recording()) return 1;
        if (!client.connect(server.socket_path().c_str(), "test")) return 2;
        if (producer.recording()) return 3;
        producer = client.open_ring(true, "child");
        for (std::uint64_t i = 0; i < 10; ++i) {
          if (!send_numbered(producer, i)) return 4;
        }
        return 0;
      });
      const int code = grandchild.wait();
      return code == 0 && send_numbered(producer, 0) ? 0 : 10 + code;
    });
    serve(server, diary, 2);
    CHECK(child.wait() == 0);
    CHECK(numbered_count(diary, 1) == 1);
    CHECK(numbered_count(diary, 2) == 10);
    CHECK(diary.hellos[2].parent_pid == diary.hellos[1].pid);
    CHECK(diary.hellos[2].parent_session == 1);
    CHECK(diary.hellos[2].forking_thread == 77);
    CHECK(diary.hellos[1].parent_session == 0);
  }

  TEST_CASE("a program that executes another one keeps its events and gets a new session") {
    Server server(small_rings());
    Diary diary;
    const std::string socket = server.socket_path();
    Child child([&] {
      ::execl(ULPSCOPE_RECORDED_PROGRAM, ULPSCOPE_RECORDED_PROGRAM, socket.c_str(), "50",
              ULPSCOPE_RECORDED_PROGRAM, socket.c_str(), "70", nullptr);
      return 127;
    });
    serve(server, diary, 2);
    CHECK(child.wait() == 0);
    CHECK(diary.hellos[1].pid == diary.hellos[2].pid);
    CHECK(diary.gone[1] == ProcessEnd::replaced);
    CHECK(diary.gone[2] == ProcessEnd::exited);
    CHECK(numbered_count(diary, 1) == 50);
    CHECK(numbered_count(diary, 2) == 70);
    CHECK(diary.lanes[{1, 0}].end == ProducerEnd::none);
    CHECK(diary.lanes[{2, 0}].end == ProducerEnd::closed);
  }

  TEST_CASE("ending a session leaves the program running without recording") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      std::uint64_t number = 0;
      while (send_numbered(producer, number)) ++number;
      if (producer.end() != ProducerEnd::stopped) return 2;
      return client.open_ring(false, "late").recording() ? 3 : 0;
    });
    serve_until(server, diary, [&] {
      return diary.lanes.count({1, 0}) == 1 && !diary.lanes[{1, 0}].bytes.empty();
    });
    server.end_session(1);
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK(diary.gone[1] == ProcessEnd::stopped);
    CHECK(diary.lanes[{1, 0}].end == ProducerEnd::stopped);
    CHECK(server.live_sessions() == 0);
  }

  TEST_CASE("a handler may end the session it is told about") {
    struct Impatient : Diary {
      explicit Impatient(Server& s) : server(s) {}
      void on_messages(SessionId session, std::uint32_t lane,
                       std::span<const std::byte> messages) override {
        Diary::on_messages(session, lane, messages);
        server.end_session(session);
      }
      Server& server;
    };
    Server server(small_rings());
    Impatient diary(server);
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      for (std::uint64_t number = 0; send_numbered(producer, number);) ++number;
      return 0;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK(diary.gone[1] == ProcessEnd::stopped);
  }

  TEST_CASE("messages whose handling failed are delivered again") {
    struct Failing : Diary {
      void on_messages(SessionId session, std::uint32_t lane,
                       std::span<const std::byte> messages) override {
        if (++calls == 1) throw std::runtime_error("disk full");
        Diary::on_messages(session, lane, messages);
      }
      int calls = 0;
    };
    Server server(small_rings());
    Failing diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      for (std::uint64_t i = 0; i < 100; ++i) {
        if (!send_numbered(producer, i)) return 2;
      }
      return 0;
    });
    int failures = 0;
    while (diary.gone.empty()) {
      try {
        server.poll(50ms, diary);
      } catch (const std::runtime_error&) {
        ++failures;
      }
    }
    CHECK(child.wait() == 0);
    CHECK(failures == 1);
    CHECK(numbered_count(diary, 1) == 100);
  }

  TEST_CASE("waiting programs are told that the writer is gone when the server is destroyed") {
    Shared<std::atomic<bool>> connected;
    auto server = std::make_unique<Server>(small_rings());
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server->socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      *connected = true;
      for (std::uint64_t number = 0; send_numbered(producer, number);) ++number;
      return producer.end() == ProducerEnd::stopped || producer.end() == ProducerEnd::writer_gone
                 ? 0
                 : 2;
    });
    serve_until(*server, diary, [&] { return connected->load(); });
    server.reset();
    CHECK(child.wait() == 0);
  }
}

}  // namespace
}  // namespace ulpscope::ring::test
