// Threads and processes that start while other threads compute as fast as they can. Prints a line
// for each start: what it is and how long it took in microseconds.

#include <sys/mman.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void report(std::string_view what, double microseconds) {
  std::printf("%.*s %.1f\n", static_cast<int>(what.size()), what.data(), microseconds);
}

void one_op() { torch::ones({4}).add_(1); }

void begin_thread() {
  double took = 0;
  const Clock::time_point begin = Clock::now();
  std::thread([&] {
    one_op();
    took = microseconds_since(begin);
  }).join();
  report("thread", took);
}

/// `shared` is memory that the child shares.
void begin_process(double& shared) {
  const Clock::time_point begin = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const Clock::time_point born = Clock::now();
    one_op();
    shared = microseconds_since(born);
    _exit(0);
  }
  const double took = microseconds_since(begin);
  if (child < 0) std::abort();
  waitpid(child, nullptr, 0);
  report("fork", took);
  report("child", shared);
}

double& shared_number() {
  void* memory =
      mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return *static_cast<double*>(memory);
}

}  // namespace

int main(int argc, char** argv) {
  int busy = 2;
  int beginnings = 50;
  CLI::App app("Threads and processes that begin beside busy threads");
  app.add_option("--busy", busy, "threads that compute without a pause");
  app.add_option("--beginnings", beginnings, "threads, and processes, that begin one by one");
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(1);

  std::atomic<bool> over{false};
  std::atomic<long> ops{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < busy; ++i)
    threads.emplace_back([&] {
      at::Tensor x = torch::ones({4});
      while (!over.load(std::memory_order_relaxed)) {
        x = x.add(1);
        ops.fetch_add(1, std::memory_order_relaxed);
      }
    });
  one_op();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until the rings are full

  double& shared = shared_number();
  const Clock::time_point begin = Clock::now();
  const long before = ops;
  for (int i = 0; i < beginnings; ++i) {
    begin_thread();
    begin_process(shared);
  }
  const double seconds = microseconds_since(begin) * 1e-6;
  if (busy > 0) report("op", 1e6 * seconds * busy / static_cast<double>(ops - before));
  over = true;
  for (std::thread& thread : threads) thread.join();
}
