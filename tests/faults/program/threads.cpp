#include <pthread.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cstdlib>
#include <thread>
#include <vector>

#include "hazards.hpp"
#include "progress.hpp"
#include "training.hpp"

namespace faults {
namespace {

void many_at_once() {
  constexpr int kThreads = 64;
  std::array<float, kThreads> left{};
  std::barrier together(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      left[static_cast<std::size_t>(i)] = chain(20, 1.5F + static_cast<float>(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  float sum = 0;
  for (const float value : left) sum += value;
  say("64 threads: %.9g", static_cast<double>(sum));
}

void many_one_after_another() {
  Training training;
  for (int i = 0; i < 100; ++i) {
    std::thread([&] { training.step(); }).join();
  }
  say("%s", training.digest().c_str());
}

void* chain_and_leave(void* /*nothing*/) {
  chain(10);
  pthread_exit(nullptr);
}

void ends_in_every_way() {
  for (int i = 0; i < 10; ++i) {
    pthread_t thread{};
    pthread_create(&thread, nullptr, chain_and_leave, nullptr);
    pthread_join(thread, nullptr);
  }
  pthread_t cancelled{};
  pthread_create(
      &cancelled, nullptr,
      [](void*) -> void* {
        chain(10);
        for (;;) pause();
      },
      nullptr);
  usleep(20'000);
  pthread_cancel(cancelled);
  pthread_join(cancelled, nullptr);
  Training().steps(3);
}

/// Runs ops from the destructor of a thread's own data.
void ops_at_thread_end() {
  struct AtEnd {
    int ops = 0;
    ~AtEnd() { say("at the end of a thread: %.9g", static_cast<double>(chain(ops))); }
  };
  for (int i = 1; i < 6; ++i) {
    std::thread([i] {
      static thread_local AtEnd at_end;
      at_end.ops = i;
      chain(3);
    }).join();
  }
}

/// Threads with as little stack as LibTorch itself gets by with.
void small_stacks() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 96 << 10);
  for (int i = 0; i < 4; ++i) {
    pthread_t thread{};
    const int error = pthread_create(
        &thread, &attributes,
        [](void*) -> void* {
          say("%.9g", static_cast<double>(chain(20)));
          return nullptr;
        },
        nullptr);
    if (error != 0) std::abort();
    pthread_join(thread, nullptr);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

void add_threads(Hazards& hazards) {
  hazards["64-threads"] = many_at_once;
  hazards["short-threads"] = many_one_after_another;
  hazards["threads-end"] = ends_in_every_way;
  hazards["ops-at-thread-end"] = ops_at_thread_end;
  hazards["small-stacks"] = small_stacks;
}

}  // namespace faults
