#include "capture/mutex.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

using ulpscope::capture::Mutex;

TEST_SUITE("a mutex of hooks") {
  TEST_CASE("one thread at a time has it") {
    constexpr int kThreads = 4;
    constexpr int kTimes = 20'000;
    Mutex mutex;
    int count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < kTimes; ++k) {
          const std::lock_guard guard(mutex);
          ++count;
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(count == kThreads * kTimes);
  }

  TEST_CASE("a child that is forked while it is held and awaited releases it") {
    Mutex mutex;
    mutex.lock();
    std::thread waits([&] { const std::lock_guard guard(mutex); });
    const pid_t child = fork();
    if (child == 0) {
      mutex.unlock();
      mutex.lock();
      mutex.unlock();
      _exit(7);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
    mutex.unlock();
    waits.join();
  }
}
