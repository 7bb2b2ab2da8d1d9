// A training that records itself. The first argument says how:
//
//   train DUMP       three steps, with everything that ulpscope.hpp offers
//   twice DUMP DUMP  the same training twice in one process, a dump each
//   between DUMP DUMP  a tensor that changes between two recordings
//   threads DUMP DUMP  another thread computes the whole time
//   second DUMP      a second Recorder while the first lives
//   children DUMP    what the program sees of processes that it did not start
//   forks DUMP       a child that trains too
//   leaves DUMP      exit() while the Recorder lives
//   killed DUMP      SIGKILL while the Recorder lives
//   filter DUMP      a seccomp filter while the Recorder lives
//   optional DUMP    .required = false
//   unrecorded       no Recorder at all
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "ulpscope/ulpscope.hpp"

namespace {

namespace nn = torch::nn;

/// Its activation runs outside of any module: only a Scope names it.
struct NetImpl : nn::Module {
  NetImpl() {
    first = register_module("first", nn::Linear(8, 16));
    activation = register_module("activation", nn::Identity());
    last = register_module("last", nn::Linear(16, 2));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor hidden = first(x);
    {
      const ulpscope::Scope scope("activation");
      hidden = torch::gelu(hidden);
    }
    const ulpscope::Scope scope("the head");
    return last(hidden);
  }
  nn::Linear first{nullptr};
  nn::Identity activation{nullptr};
  nn::Linear last{nullptr};
};
TORCH_MODULE(Net);

void train(ulpscope::Recorder* recorder) {
  torch::manual_seed(1);
  torch::set_num_threads(1);
  Net net;
  if (recorder != nullptr) recorder->watch(*net, "model");
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  std::array<std::byte, 16> generator{};
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::array<std::int64_t, 4> ids{step, step + 1, step + 2, step + 3};
    ulpscope::note_batch(ids);
    generator[0] = static_cast<std::byte>(step);
    ulpscope::note_rng("numpy", generator);
    const torch::Tensor loss = net->forward(torch::randn({4, 8})).square().mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    std::printf("step %d: loss %a\n", static_cast<int>(step), loss.item<double>());
    if (recorder != nullptr) recorder->step();
  }
}

void train_recorded(const std::string& dump) {
  ulpscope::Recorder recorder{dump, {.level = ulpscope::Level::full}};
  ulpscope::note("dataset", "digits, 2nd edition");
  train(&recorder);
}

void change_between(const std::string& first, const std::string& second) {
  torch::Tensor kept = torch::ones({4});
  {
    const ulpscope::Recorder recorder{first};
    kept.mul_(2);
  }
  kept.fill_(5);
  const ulpscope::Recorder recorder{second};
  std::printf("sum: %a\n", kept.sum().item<double>());
}

void record_beside_a_thread(const std::string& first, const std::string& second) {
  std::atomic<bool> over = false;
  std::thread worker([&] {
    torch::Tensor x = torch::ones({64});
    while (!over) x.mul_(2).add_(1).fill_(1);
  });
  for (int i = 0; i < 5; ++i) train_recorded(first + std::to_string(i));
  train_recorded(second);
  over = true;
  worker.join();
}

void try_second(const std::string& dump) {
  ulpscope::Recorder recorder{dump};
  try {
    ulpscope::Recorder second{dump + "-second"};
  } catch (const ulpscope::Error& error) {
    std::printf("refused: %s\n", error.what());
  }
  train(&recorder);
}

volatile sig_atomic_t children_ended = 0;

void look_for_children(const std::string& dump) {
  signal(SIGCHLD, [](int) { children_ended = children_ended + 1; });
  {
    ulpscope::Recorder recorder{dump};
    train(&recorder);
    std::printf("waitpid while recording: %s\n",
                waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD ? "no child" : "a child");
  }
  std::printf("waitpid afterwards: %s\n",
              waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD ? "no child" : "a child");
  std::printf("SIGCHLD: %d\n", static_cast<int>(children_ended));
}

void fork_and_train(const std::string& dump) {
  ulpscope::Recorder recorder{dump};
  train(&recorder);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::printf("child records: %s\n", recorder.recording() ? "yes" : "no");
    train(&recorder);
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  std::printf("parent records: %s\n", recorder.recording() ? "yes" : "no");
}

void leave(const std::string& dump) {
  static ulpscope::Recorder* const recorder = new ulpscope::Recorder{dump};
  train(recorder);
  std::exit(7);
}

void be_killed(const std::string& dump) {
  ulpscope::Recorder recorder{dump};
  train(&recorder);
  std::fflush(stdout);
  raise(SIGKILL);
}

/// From here on a call of socket(2) ends the process.
void forbid_sockets() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    std::abort();
}

void train_without_sockets(const std::string& dump) {
  ulpscope::Recorder recorder{dump};
  train(&recorder);
  forbid_sockets();
  std::printf("records: %s\n", recorder.recording() ? "yes" : "no");
  std::thread([] { train(nullptr); }).join();
}

void record_if_possible(const std::string& dump) {
  ulpscope::Recorder recorder{dump, {.required = false}};
  train(&recorder);
  std::printf("recording: %s; %s\n", recorder.recording() ? "yes" : "no",
              recorder.trouble().c_str());
}

void train_unrecorded() {
  train(nullptr);
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);)
    found = found || line.find("ulpscope_capture") != std::string::npos;
  std::printf("capture library: %s\n", found ? "mapped" : "not mapped");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "unrecorded";
  const std::string dump = argc > 2 ? argv[2] : "";
  const std::map<std::string, std::function<void()>> modes{
      {"train", [&] { train_recorded(dump); }},
      {"twice",
       [&] {
         train_recorded(dump);
         train_recorded(argv[3]);
       }},
      {"between", [&] { change_between(dump, argv[3]); }},
      {"threads", [&] { record_beside_a_thread(dump, argv[3]); }},
      {"second", [&] { try_second(dump); }},
      {"children", [&] { look_for_children(dump); }},
      {"forks", [&] { fork_and_train(dump); }},
      {"leaves", [&] { leave(dump); }},
      {"killed", [&] { be_killed(dump); }},
      {"filter", [&] { train_without_sockets(dump); }},
      {"optional", [&] { record_if_possible(dump); }},
      {"unrecorded", [] { train_unrecorded(); }}};
  try {
    modes.at(mode)();
  } catch (const ulpscope::Error& error) {
    std::printf("error: %s\n", error.what());
    return 3;
  }
}
