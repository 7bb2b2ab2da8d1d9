// Programs of several processes, each of which trains its own model.
//
//   ranks train [PLANT] [STOP]     one rank: RANK is its seed; prints what it has trained
//   ranks launch [compute]         forks four processes that execute `ranks train` with RANK set
//   ranks workers [thread|compute] forks three workers that set no RANK, from one thread or from
//   three, and
//                                  computes something itself when they have begun
//   ranks restart                  as launch; rank 1 ends after two steps and is started again
//
// PLANT=rank@step has that rank's weight multiplied by 1.0001 in that step. DELAYS="30,0,10" has
// the processes begin to compute after so many milliseconds, in the order in which they were
// created.

#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kSteps = 4;

int number(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

void wait_for_turn(int child) {
  const char* text = std::getenv("DELAYS");
  for (int k = 0; text != nullptr && k < child; ++k) {
    text = std::strchr(text, ',');
    if (text != nullptr) ++text;
  }
  if (text != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(text)));
}

bool is_planted(int rank, int step) {
  const char* const text = std::getenv("PLANT");
  return text != nullptr && text == std::to_string(rank) + "@" + std::to_string(step);
}

void train(int rank, int steps) {
  at::set_num_threads(1);
  torch::manual_seed(static_cast<std::uint64_t>(100 + rank));
  torch::nn::Sequential model(torch::nn::Linear(8, 16), torch::nn::ReLU(),
                              torch::nn::Linear(16, 4));
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  float loss = 0;
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const at::Tensor result = model->forward(torch::rand({5, 8})).square().mean();
    result.backward();
    optimizer.step();
    if (is_planted(rank, step)) {
      const torch::NoGradGuard no_grad;
      model->parameters().front().mul_(1.0001);
    }
    loss = result.item<float>();
  }
  std::printf("rank %d loss %.9g\n", rank, loss);
  std::fflush(stdout);
}

pid_t start_rank(int rank, int steps) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("STEPS", std::to_string(steps).c_str(), 1);
  execl("/proc/self/exe", "ranks", "train", nullptr);
  _exit(127);
}

pid_t start_worker(int worker) {
  const pid_t child = fork();
  if (child != 0) return child;
  wait_for_turn(worker);
  train(worker, kSteps);
  _exit(0);
}

int wait_for_all(const std::vector<pid_t>& children) {
  int failures = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failures += status != 0;
  }
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::string how = argc > 2 ? argv[2] : "";
  if (mode == "train") {
    const int rank = number("RANK", 0);
    wait_for_turn(rank);
    train(rank, number("STEPS", kSteps));
    return 0;
  }
  std::vector<pid_t> children;
  if (mode == "launch" || mode == "restart") {
    if (how == "compute") std::printf("launcher %g\n", torch::ones({3}).sum().item<double>());
    std::fflush(stdout);
    for (int rank = 0; rank < 4; ++rank)
      children.push_back(start_rank(rank, mode == "restart" && rank == 1 ? 2 : kSteps));
    if (mode == "restart") {
      waitpid(children[1], nullptr, 0);
      children[1] = start_rank(1, kSteps);
    }
    return wait_for_all(children);
  }
  if (mode == "workers") {
    children.resize(3);
    for (int worker = 0; worker < 3; ++worker) {
      if (how == "thread")
        std::thread([&] { children[worker] = start_worker(worker); }).join();
      else
        children[worker] = start_worker(worker);
    }
    if (how == "compute") std::printf("creator %g\n", torch::ones({3}).sum().item<double>());
    return wait_for_all(children);
  }
  std::fprintf(stderr, "ranks train | launch [compute] | workers [thread|compute] | restart\n");
  return 2;
}
