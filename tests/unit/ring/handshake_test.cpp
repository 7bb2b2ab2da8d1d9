#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "messages.hpp"
#include "processes.hpp"
#include "ring/client.hpp"
#include "ring/descriptor.hpp"
#include "ring/listener.hpp"

namespace ulpscope::ring::test {
namespace {

using namespace std::chrono_literals;

int open_descriptors() {
  int count = 0;
  DIR* const directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

TEST_SUITE("handshake") {
  TEST_CASE("the writer learns who the process is") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      ::setenv("RANK", "3", 1);
      ::setenv("SLURM_PROCID", "7", 1);
      ::setenv("PMI_RANK", "not a number", 1);
      ::setenv("LOCAL_RANK", "1", 1);
      Client client;
      return client.connect(server.socket_path().c_str(), "2.11.0") ? 0 : 1;
    });
    const auto pid = static_cast<std::uint32_t>(child.pid());
    serve(server, diary);
    CHECK(child.wait() == 0);
    REQUIRE(diary.hellos.count(1) == 1);
    const Hello& hello = diary.hellos[1];
    CHECK(hello.pid == pid);
    CHECK(hello.parent_pid == static_cast<std::uint32_t>(::getpid()));
    CHECK(hello.start_time > 0);
    CHECK(hello.capture_version == "2.11.0");
    CHECK(hello.ranks.rank == 3U);
    CHECK(hello.ranks.slurm_procid == 7U);
    CHECK(hello.ranks.local_rank == 1U);
    CHECK_FALSE(hello.ranks.pmi_rank.has_value());
    CHECK_FALSE(hello.ranks.ompi_comm_world_rank.has_value());
    CHECK(hello.ranks.first() == 3U);
    CHECK(hello.command == own_command());
    CHECK_FALSE(hello.command_cut);
    CHECK(diary.gone[1] == ProcessEnd::exited);
  }

  TEST_CASE("the process learns the settings") {
    ServerOptions options = small_rings(1234);
    options.settings.level = Level::full;
    options.settings.verify = Verify::off;
    options.settings.capture = CaptureScope::layers;
    options.settings.last_step = 19;
    options.settings.modules.set("layer*\nfc");
    Server server(options);
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      const Settings& settings = client.settings();
      return settings.level == Level::full && settings.verify == Verify::off &&
                     settings.capture == CaptureScope::layers && settings.last_step == 19 &&
                     settings.give_up_milliseconds == 1234 &&
                     settings.modules.view() == "layer*\nfc"
                 ? 0
                 : 2;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
  }

  TEST_CASE("a process learns what is inlined in its code") {
    std::vector<std::string> asked;
    ServerOptions options = small_rings();
    options.look_up_inlined = [&](std::string_view object, std::uint64_t address,
                                  InlinedCalls& answer) {
      asked.emplace_back(std::string(object) + " " + std::to_string(address));
      answer.has_debug_information = 1;
      answer.add(17, {3, 1, -8}, "_ZN3Net7forwardE");
    };
    std::optional<Server> server(std::in_place, options);
    Diary diary;
    Child child([&] {
      Client client;
      InlinedCalls calls;
      if (client.inlined_calls("/bin/net", 0x1234, calls)) return 1;  // before the session
      if (!client.connect(server->socket_path().c_str(), "test")) return 2;
      if (!client.inlined_calls("/bin/net", 0x1234, calls)) return 3;
      if (calls.has_debug_information != 1 || calls.size() != 1) return 4;
      const SelfPlace& self = calls.calls[0].self;
      return calls.name(0) == "_ZN3Net7forwardE" && calls.calls[0].id == 17 && self.base == 3 &&
                     self.in_memory == 1 && self.offset == -8
                 ? 0
                 : 5;
    });
    serve(*server, diary);
    server.reset();  // and with it the requesting thread
    CHECK(child.wait() == 0);
    CHECK(asked == std::vector<std::string>{"/bin/net 4660"});
  }

  TEST_CASE("without an answer to what is inlined the session goes on") {
    std::atomic<bool> asked = false;
    ServerOptions options = small_rings();
    options.look_up_inlined = [&](auto, auto, auto&) { asked = true; };
    Server server(options);
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      InlinedCalls calls;
      if (client.inlined_calls(std::string(5000, 'x'), 1, calls)) return 2;
      if (client.inlined_calls(std::string_view("a\0b", 3), 1, calls)) return 3;
      Producer producer = client.open_ring(true, "main");
      return client.recording() && send_numbered(producer, 0) ? 0 : 4;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK_FALSE(asked);
  }

  TEST_CASE("processes and threads begin while nobody reads any ring") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer main = client.open_ring(true, "main");
      Producer worker = client.open_ring(false, "worker");
      Child grandchild([&] {
        client.after_fork_in_child(1);
        if (!client.connect(server.socket_path().c_str(), "test")) return 1;
        Producer producer = client.open_ring(true, "child");
        return send_numbered(producer, 0) ? 0 : 2;
      });
      return send_numbered(main, 0) && send_numbered(worker, 0) ? grandchild.wait() : 2;
    });
    CHECK(child.wait() == 0);  // the server has not been polled yet
    CHECK(server.live_sessions() == 2);
    serve(server, diary, 2);
    CHECK(diary.lanes[{1, 0}].name == "main");
    CHECK(diary.lanes[{1, 1}].name == "worker");
    CHECK(diary.hellos[2].parent_session == 1);
    for (const auto& [key, lane] : diary.lanes) {
      CHECK(lane.bytes.size() == numbered_size(0, kSmallestRing / 2));
    }
  }

  TEST_CASE("a look at debug information keeps no thread waiting") {
    const Shared<std::atomic<bool>> thread_has_begun;
    ServerOptions options = small_rings();
    options.look_up_inlined = [&](auto, auto, auto&) { wait_until(*thread_has_begun); };
    LaterServer later;
    Diary diary;
    Child child([&] {
      static Client client;
      if (!client.connect(later.wait_for_socket_path(), "test")) return 1;
      bool answered = false;
      std::thread asks([&] {
        InlinedCalls calls;
        answered = client.inlined_calls("/bin/net", 1, calls);
      });
      Producer producer = client.open_ring(true, "main");
      *thread_has_begun = true;
      asks.join();
      return answered && producer.recording() ? 0 : 2;
    });
    serve(later.begin(options), diary);
    CHECK(child.wait() == 0);
  }

  TEST_CASE("where no memory for rings is left a thread waits until another ring was read") {
    ServerOptions options;
    options.settings.ring_bytes = 1 << 20;
    options.ring_memory = 2 << 20;
    Server server(options);
    Diary diary;
    const Shared<std::atomic<bool>> both_have_begun;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer first = client.open_ring(true, "first");
      Producer second = client.open_ring(false, "second");
      if (!send_numbered(first, 0)) return 2;
      first = Producer();
      *both_have_begun = true;
      Producer third = client.open_ring(false, "third");
      return third.recording() && send_numbered(third, 0) ? 0 : 3;
    });
    wait_until(*both_have_begun);
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK(diary.lanes.size() == 3);
    CHECK(diary.refusals.empty());
  }

  TEST_CASE("a thread that gets no memory for its ring ends the recording, which says so") {
    ServerOptions options;
    options.settings.ring_bytes = 1 << 20;
    options.ring_memory = 1 << 20;
    Server server(options);
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer first = client.open_ring(true, "first");
      if (client.open_ring(false, "second").recording()) return 2;
      return first.recording() ? 3 : 0;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK(diary.gave_up[1] ==
          "the memory for rings is used up: the disk is too slow for what is recorded");
  }

  TEST_CASE("it is known which thread waited for the writer") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer idle = client.open_ring(true, "idle");
      Producer busy = client.open_ring(false, "busy");
      for (std::uint64_t n = 0; n < 1000; ++n) {
        if (!send_numbered(busy, n)) return 2;  // 80 times what the ring holds
      }
      return send_numbered(idle, 0) ? 0 : 3;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
    const auto stats = server.stats();
    REQUIRE(stats.size() == 1);
    REQUIRE(stats[0].waits.size() == 1);
    CHECK(stats[0].waits[0].lane == 1);
    CHECK(stats[0].waits[0].stalled == stats[0].stalled);
  }

  TEST_CASE("a process leaves no descriptor open") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      const int before = open_descriptors();
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer first = client.open_ring(true, "main");
      Producer second = client.open_ring(false, "worker");
      if (!send_numbered(first, 0) || !send_numbered(second, 0)) return 3;
      return open_descriptors() == before ? 0 : 4;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
  }

  TEST_CASE("a process that has closed its standard descriptors keeps them closed") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      for (int number : {0, 1, 2}) ::close(number);
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer producer = client.open_ring(true, "main");
      if (!send_numbered(producer, 0)) return 2;
      for (int number : {0, 1, 2}) {
        if (::fcntl(number, F_GETFD) != -1) return 3;
      }
      return 0;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
  }

  TEST_CASE("a descriptor is moved above the standard ones") {
    Child child([] {
      ::close(0);
      const Descriptor moved = above_stdio(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
      if (moved.get() <= 2) return 1;
      if (::fcntl(0, F_GETFD) != -1) return 2;
      return ::fcntl(moved.get(), F_GETFD) == FD_CLOEXEC ? 0 : 3;
    });
    CHECK(child.wait() == 0);
  }

  TEST_CASE("no writer means no recording") {
    Client client;
    errno = ENOTTY;
    CHECK_FALSE(client.connect("/nonexistent/socket", "test"));
    CHECK(errno == ENOTTY);
    CHECK_FALSE(client.recording());
    CHECK_FALSE(client.refusal().empty());
    CHECK_FALSE(client.open_ring(true, "main").recording());
    CHECK_FALSE(client.connect(std::string(200, 'x').c_str(), "test"));
  }

  TEST_CASE("a writer that does not answer is not waited for longer than the timeout") {
    const Listener mute;
    Client client(50ms);
    CHECK_FALSE(client.connect(mute.path().c_str(), "test"));
    CHECK_FALSE(client.refusal().empty());
  }

  TEST_CASE("a ring that cannot be had ends recording of the whole process") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer main = client.open_ring(true, "main");
      if (!send_numbered(main, 0)) return 2;
      std::filesystem::remove(server.socket_path());
      if (client.open_ring(false, "worker").recording()) return 3;
      if (client.recording() || main.recording()) return 4;
      return main.reserve(64) == nullptr && main.end() == ProducerEnd::stopped ? 0 : 5;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK(diary.lanes[{1, 0}].end == ProducerEnd::stopped);
    CHECK(diary.gave_up[1] == "the process that writes the dump cannot be reached");
  }

  TEST_CASE("a process that has no descriptor left for a ring says so, however it ends") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer main = client.open_ring(true, "main");
      if (!send_numbered(main, 0)) return 2;
      const rlimit none{3, 3};
      ::setrlimit(RLIMIT_NOFILE, &none);
      if (client.open_ring(false, "worker").recording()) return 3;
      ::_exit(0);  // no producer is closed
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK(diary.gave_up[1] == "no file descriptor is free for the ring");
  }

  TEST_CASE("a forked child that cannot introduce itself is told of through its parent") {
    Server server(small_rings());
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      Producer main = client.open_ring(true, "main");
      std::filesystem::remove(server.socket_path());
      const pid_t grandchild = ::fork();
      if (grandchild == 0) {
        client.after_fork_in_child(1);
        ::_exit(client.connect(server.socket_path().c_str(), "test") ? 1 : 0);
      }
      int status = 0;
      ::waitpid(grandchild, &status, 0);
      return send_numbered(main, 0) ? status : 2;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
    CHECK(diary.gave_up.empty());
    REQUIRE(diary.refusals.size() == 1);
    CHECK(diary.refusals[0] == "a child of it: the process that writes the dump cannot be reached");
    CHECK_FALSE(server.reachable());
  }

  TEST_CASE("threads have lanes and rings of their own") {
    constexpr int kThreads = 4;
    constexpr std::uint64_t kMessages = 500;
    LaterServer later;
    Diary diary;
    Child child([&] {
      static Client client;
      if (!client.connect(later.wait_for_socket_path(), "test")) return 1;
      std::atomic<int> failures = 0;
      std::vector<std::thread> threads;
      for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
          Producer producer = client.open_ring(i == 0, "thread " + std::to_string(i));
          for (std::uint64_t n = 0; n < kMessages; ++n) failures += !send_numbered(producer, n);
        });
      }
      for (std::thread& thread : threads) thread.join();
      return failures.load();
    });
    Server& server = later.begin(small_rings());
    serve(server, diary);
    CHECK(child.wait() == 0);
    REQUIRE(diary.lanes.size() == kThreads);
    int main_lanes = 0;
    for (const auto& [key, lane] : diary.lanes) {
      NumberedReader reader(kSmallestRing / 2);
      reader.take(lane.bytes);
      CHECK(reader.sound());
      CHECK(reader.count() == kMessages);
      CHECK(lane.end == ProducerEnd::closed);
      CHECK(lane.is_main == (lane.name == "thread 0"));
      main_lanes += lane.is_main;
    }
    CHECK(main_lanes == 1);
    const auto stats = server.stats();
    REQUIRE(stats.size() == 1);
    CHECK(stats[0].lanes == kThreads);
    CHECK(stats[0].bytes == kThreads * diary.lanes[{1, 0}].bytes.size());
    CHECK(stats[0].gave_up == ProducerEnd::none);
  }

  TEST_CASE("rings get smaller when the memory for them is used up") {
    ServerOptions options;
    options.settings.ring_bytes = 8 << 20;
    options.ring_memory = 48 << 20;
    Server server(options);
    Diary diary;
    Child child([&] {
      Client client;
      if (!client.connect(server.socket_path().c_str(), "test")) return 1;
      const Producer first = client.open_ring(true, "first");
      const Producer second = client.open_ring(false, "second");
      const Producer third = client.open_ring(false, "third");
      return first.max_message() == 4 << 20 && second.max_message() == 2 << 20 &&
                     third.max_message() == 1 << 19
                 ? 0
                 : 2;
    });
    serve(server, diary);
    CHECK(child.wait() == 0);
  }

  TEST_CASE(
      "the socket lies in a directory that only this user can enter and goes with the server") {
    std::filesystem::path directory;
    {
      const Server server(small_rings());
      directory = server.socket_path().parent_path();
      struct stat status {};
      REQUIRE(::stat(directory.c_str(), &status) == 0);
      CHECK((status.st_mode & 0777) == 0700);
      CHECK(std::filesystem::is_socket(server.socket_path()));
    }
    CHECK_FALSE(std::filesystem::exists(directory));
  }

  TEST_CASE("a long TMPDIR does not make the socket's path too long") {
    std::string pattern = (std::filesystem::temp_directory_path() / "ring-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    const auto deep = std::filesystem::path(pattern) / std::string(100, 'd');
    std::filesystem::create_directory(deep);
    const char* const old = std::getenv("TMPDIR");
    const std::string kept = old != nullptr ? old : "";
    ::setenv("TMPDIR", deep.c_str(), 1);
    CHECK(Server(small_rings()).socket_path().native().size() < 108);
    old != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
    std::filesystem::remove_all(pattern);
  }
}

}  // namespace
}  // namespace ulpscope::ring::test
