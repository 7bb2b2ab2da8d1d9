// Runs ops, forks a child that runs other ops, and continues after it: two ranks of a recording.

#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdio>

namespace {

float summed(float start) {
  at::Tensor value = torch::full({100}, start);
  for (int i = 0; i < 20; ++i) value = value * 1.01F + 1;
  return value.sum().item<float>();
}

}  // namespace

int main() {
  at::set_num_threads(1);
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
