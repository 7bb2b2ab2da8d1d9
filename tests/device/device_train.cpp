// Trains a small residual network with attention on random images, on the CPU or on a GPU, for the
// recordings that tests/device/recorded.py makes. Prints a digest of the trained parameters, and on
// standard error the median time of a step.
//
//   device_train --device cuda --steps 4 [--width N] [--batch N] [--deterministic] [--dropout P]
//                [--tf32] [--fused] [--bug eps|scale|mask|transposed|relu] [--save FILE] [--load
//                FILE]
//                [--ops-of-gpu] [--wrong-op OP] [--backward-thread] [--clip]
//
// With --fused attention is one op and there is an LSTM. --ops-of-gpu has the CPU call the ops that
// LibTorch calls on a GPU (gpu_ops.hpp), --wrong-op with one of them wrong; --backward-thread runs
// backward in a separate thread, as on a GPU.
#include <ATen/Context.h>
#include <dlfcn.h>
#include <pthread.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fixed_numbers.hpp"
#include "gpu_ops.hpp"

namespace {

using device_test::digest;
using device_test::numbers;

struct Options {
  std::string device = "cpu";
  std::int64_t steps = 4;
  std::int64_t width = 16;
  std::int64_t batch = 32;
  double dropout = 0;
  bool deterministic = false;
  bool tf32 = false;
  bool fused = false;
  bool ops_of_gpu = false;
  bool backward_thread = false;
  bool clip = false;
  std::string wrong_op;
  std::string bug;
  std::string save, load;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(flag + " takes a value");
      return argv[++i];
    };
    if (flag == "--device")
      options.device = value();
    else if (flag == "--steps")
      options.steps = std::stoll(value());
    else if (flag == "--width")
      options.width = std::stoll(value());
    else if (flag == "--batch")
      options.batch = std::stoll(value());
    else if (flag == "--dropout")
      options.dropout = std::stod(value());
    else if (flag == "--deterministic")
      options.deterministic = true;
    else if (flag == "--tf32")
      options.tf32 = true;
    else if (flag == "--fused")
      options.fused = true;
    else if (flag == "--ops-of-gpu")
      options.ops_of_gpu = true;
    else if (flag == "--clip")
      options.clip = true;
    else if (flag == "--backward-thread")
      options.backward_thread = true;
    else if (flag == "--wrong-op")
      options.wrong_op = value();
    else if (flag == "--bug")
      options.bug = value();
    else if (flag == "--save")
      options.save = value();
    else if (flag == "--load")
      options.load = value();
    else
      throw std::invalid_argument("no such flag: " + flag);
  }
  return options;
}

torch::nn::Conv2dOptions conv(std::int64_t in, std::int64_t out) {
  return torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(false);
}

struct BlockImpl : torch::nn::Module {
  BlockImpl(std::int64_t width, double eps, const std::string& the_bug)
      : conv1(register_module("conv1", torch::nn::Conv2d(conv(width, width)))),
        bn1(register_module("bn1",
                            torch::nn::BatchNorm2d(torch::nn::BatchNormOptions(width).eps(eps)))),
        conv2(register_module("conv2", torch::nn::Conv2d(conv(width, width)))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(width))),
        bug(the_bug) {}

  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor y = bn1(conv1(x));
    if (bug != "relu") y = torch::relu(y);
    y = bn2(conv2(y));
    return torch::relu(bug == "scale" ? x + 1.01 * y : x + y);
  }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  std::string bug;
};
TORCH_MODULE(Block);

struct NetImpl : torch::nn::Module {
  explicit NetImpl(const Options& options)
      : stem(register_module("stem", torch::nn::Conv2d(conv(3, options.width)))),
        block1(register_module(
            "block1", Block(options.width, options.bug == "eps" ? 1e-3 : 1e-5, std::string()))),
        block2(register_module("block2", Block(options.width, 1e-5, options.bug))),
        norm(register_module("norm",
                             torch::nn::LayerNorm(torch::nn::LayerNormOptions({options.width})))),
        qkv(register_module("qkv", torch::nn::Linear(options.width, 3 * options.width))),
        mix(register_module("mix", torch::nn::Linear(options.width, options.width))),
        drop(register_module("drop", torch::nn::Dropout(options.dropout))),
        head(register_module("head", torch::nn::Linear(options.width, 10))),
        bug(options.bug) {
    if (options.fused)
      memory = register_module(
          "memory",
          torch::nn::LSTM(torch::nn::LSTMOptions(options.width, options.width).batch_first(true)));
  }

  torch::Tensor forward(const torch::Tensor& images) {
    const torch::Tensor x = torch::avg_pool2d(block2(block1(stem(images))), 4);
    torch::Tensor tokens = x.flatten(2).transpose(1, 2);
    const auto parts = qkv(norm(tokens)).chunk(3, -1);
    tokens = tokens + (memory ? fused_attention(parts) : attention(parts));
    if (bug == "transposed")
      tokens = tokens + torch::nn::functional::linear(tokens, mix->weight.t(), mix->bias);
    else
      tokens = tokens + mix(tokens);
    if (memory) tokens = tokens + std::get<0>(memory(tokens));
    return head(drop(torch::gelu(tokens)).mean(1));
  }

  torch::Tensor attention(const std::vector<torch::Tensor>& parts) {
    torch::Tensor scores = torch::matmul(parts[0], parts[1].transpose(1, 2)) /
                           std::sqrt(static_cast<double>(parts[0].size(-1)));
    if (bug != "mask") {
      const auto length = scores.size(-1);
      const auto later = torch::ones({length, length}, scores.options()).triu(1).to(torch::kBool);
      scores = scores.masked_fill(later, -std::numeric_limits<float>::infinity());
    }
    return torch::matmul(torch::softmax(scores, -1), parts[2]);
  }

  /// With two heads.
  torch::Tensor fused_attention(const std::vector<torch::Tensor>& parts) {
    const auto heads = [](const torch::Tensor& part) {
      return part.unflatten(-1, {2, -1}).transpose(1, 2);
    };
    return at::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]), heads(parts[2]), {},
                                            0.0, bug != "mask")
        .transpose(1, 2)
        .flatten(2);
  }

  torch::nn::Conv2d stem;
  Block block1;
  Block block2;
  torch::nn::LayerNorm norm;
  torch::nn::Linear qkv;
  torch::nn::Linear mix;
  torch::nn::Dropout drop;
  torch::nn::Linear head;
  torch::nn::LSTM memory{nullptr};
  std::string bug;
};
TORCH_MODULE(Net);

void fill_parameters(Net& net) {
  const torch::NoGradGuard no_grad;
  std::uint64_t seed = 1;
  for (torch::Tensor& parameter : net->parameters()) {
    if (parameter.dim() < 2) continue;
    const double fan_in = static_cast<double>(parameter.numel() / parameter.size(0));
    parameter.copy_(numbers(parameter.sizes().vec(), ++seed) * std::sqrt(3 / fan_in));
  }
}

/// A thread like autograd's own for a device: it lives as long as the program and runs its tasks in
/// order.
class BackwardThread {
 public:
  BackwardThread() : thread_([this] { serve(); }) {}
  BackwardThread(const BackwardThread&) = delete;
  BackwardThread& operator=(const BackwardThread&) = delete;
  ~BackwardThread() {
    run({});
    thread_.join();
  }

  void run(std::function<void()> work) {
    std::unique_lock lock(mutex_);
    work_ = std::move(work);
    given_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !given_; });
  }

 private:
  void serve() {
    pthread_setname_np(pthread_self(), "pt_autograd_0");
    std::unique_lock lock(mutex_);
    for (bool last = false; !last;) {
      changed_.wait(lock, [this] { return given_; });
      last = !work_;
      if (work_) work_();
      given_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool given_ = false;
  std::thread thread_;
};

void train(const Options& options) {
  if (options.device == "cuda" && dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    throw std::runtime_error(dlerror());
  at::globalContext().setDeterministicAlgorithms(options.deterministic, false);
  at::globalContext().setDeterministicCuDNN(options.deterministic);
  at::globalContext().setAllowTF32CuDNN(options.tf32);
  at::globalContext().setAllowTF32CuBLAS(options.tf32);
  if (options.ops_of_gpu) gpu_ops::register_all(options.wrong_op);
  torch::manual_seed(1);
  const torch::Device device(options.device);
  Net net(options);
  fill_parameters(net);
  if (!options.load.empty()) torch::load(net, options.load);
  if (!options.save.empty()) torch::save(net, options.save);
  net->to(device);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  std::optional<BackwardThread> backward;
  if (options.backward_thread) backward.emplace();
  std::vector<double> times;
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    const torch::Tensor images =
        numbers({options.batch, 3, 32, 32}, 100 + static_cast<std::uint64_t>(step)).to(device);
    const torch::Tensor labels = torch::arange(options.batch).remainder(10).to(device);
    optimizer.zero_grad();
    const torch::Tensor loss = torch::cross_entropy_loss(net(images), labels);
    if (backward) {
      const torch::Tensor one = torch::ones_like(loss);
      backward->run([&] { loss.backward(one); });
    } else {
      loss.backward();
    }
    if (options.clip) torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
    optimizer.step();
    if (step % 8 == 7 || step + 1 == options.steps) std::printf("loss %.9g\n", loss.item<double>());
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("final digest %016llx\n", static_cast<unsigned long long>(digest(*net)));
  std::sort(times.begin(), times.end());
  std::fprintf(stderr, "median step %.6f s\n", times[times.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_train: %s\n", error.what());
    return 1;
  }
  return 0;
}
