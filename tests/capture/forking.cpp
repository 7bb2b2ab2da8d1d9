// Runs ops, forks a child that runs other ops, and continues after it: two ranks of a recording.
// `forking COUNT`: forks so many children while two threads run ops that require gradients.

#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

float summed(float start) {
  at::Tensor value = torch::full({100}, start);
  for (int i = 0; i < 20; ++i) value = value * 1.01F + 1;
  return value.sum().item<float>();
}

/// How many children have ended by themselves.
int forked_beside_threads(int count) {
  constexpr unsigned kPatience = 20;  // seconds
  std::atomic<bool> stopped{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      const at::Tensor weight = torch::ones({2}, torch::requires_grad());
      while (!stopped) {
        at::Tensor value = weight;
        for (int k = 0; k < 50; ++k) value = value * 2;
        std::this_thread::sleep_for(std::chrono::microseconds(10));
      }
    });
  int ended = 0;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kPatience);
      const at::Tensor value = torch::ones({2}, torch::requires_grad()) * 2;
      _exit(value.requires_grad() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ended += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  stopped = true;
  for (std::thread& thread : threads) thread.join();
  return ended;
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  if (argc > 1) {
    std::printf("%d children ended\n", forked_beside_threads(std::atoi(argv[1])));
    return 0;
  }
  std::printf("before the fork %.9g\n", summed(1));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::printf("child %.9g\n", summed(2));
    std::fflush(stdout);
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child ended with %d\n", WEXITSTATUS(status));
  std::printf("after the fork %.9g\n", summed(3));
}
