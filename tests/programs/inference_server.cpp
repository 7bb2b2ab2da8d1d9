// Serves a model to several clients from a pool of threads, as an inference server does.
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct ServerSettings : programs::Basics {
  std::int64_t workers = 3;
  std::int64_t clients = 2;
  bool raw_write = false;
};

struct ClassifierImpl : nn::Module {
  ClassifierImpl() {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)));
    norm = register_module("norm", nn::BatchNorm2d(8));
    fc = register_module("fc", nn::Linear(128, 10));
  }

  Tensor forward(const Tensor& images) {
    return fc(torch::max_pool2d(torch::relu(norm(conv(images))), 2).flatten(1)).softmax(1);
  }

  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Linear fc{nullptr};
};
TORCH_MODULE(Classifier);

/// Answers requests with the shared model, each on whichever worker is free.
class Server {
 public:
  Server(Classifier model, std::int64_t workers) : model_(std::move(model)) {
    for (std::int64_t i = 0; i < workers; ++i)
      threads_.emplace_back([this, i] { work(i % 2 == 0); });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  ~Server() {
    {
      const std::lock_guard guard(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// images: [samples, 1, 8, 8]; the answer: [samples, 10]
  std::future<Tensor> classify(Tensor images) {
    Request request{std::move(images), {}};
    std::future<Tensor> answer = request.answer.get_future();
    {
      const std::lock_guard guard(mutex_);
      requests_.push_back(std::move(request));
    }
    wake_.notify_one();
    return answer;
  }

 private:
  struct Request {
    Tensor images;
    std::promise<Tensor> answer;
  };

  void work(bool inference_mode) {
    if (inference_mode) {
      const c10::InferenceMode inference;
      answer_requests();
    } else {
      const torch::NoGradGuard no_grad;
      answer_requests();
    }
  }

  void answer_requests() {
    while (std::optional<Request> request = next()) {
      request->answer.set_value(model_->forward(request->images));
    }
  }

  std::optional<Request> next() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return closing_ || !requests_.empty(); });
    if (requests_.empty()) return std::nullopt;
    Request request = std::move(requests_.front());
    requests_.pop_front();
    return request;
  }

  Classifier model_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Request> requests_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

/// Sends `steps` batches and returns the sum of what the server is sure of.
double ask(Server& server, const programs::DigitTensors& digits, std::int64_t client,
           const ServerSettings& settings) {
  std::vector<std::future<Tensor>> answers;
  for (std::int64_t i = 0; i < settings.steps; ++i) {
    answers.push_back(server.classify(digits.batch(client * settings.steps + i, 8).data));
  }
  double sum = 0;
  for (auto& answer : answers) {
    const Tensor scores = answer.get();
    const float* score = scores.const_data_ptr<float>();
    for (std::int64_t i = 0; i < scores.numel(); ++i) sum += score[i] * score[i];
  }
  return sum;
}

void serve(const ServerSettings& settings) {
  programs::apply(settings);
  const programs::DigitTensors digits;
  Classifier model;
  model->eval();
  if (settings.raw_write) model->norm->running_mean.data_ptr<float>()[3] = 0.25F;
  std::vector<double> sums(static_cast<std::size_t>(settings.clients));
  {
    Server server(model, settings.workers);
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      clients.emplace_back(
          [&, i] { sums[i] = ask(server, digits, static_cast<std::int64_t>(i), settings); });
    }
    for (std::thread& client : clients) client.join();
  }
  for (const double sum : sums) std::printf("client got %.17g\n", sum);
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  ServerSettings settings;
  CLI::App app("Serves a model to several clients.", "inference_server");
  programs::add_flags(app, settings);
  app.add_option("--workers", settings.workers, "Threads that run the model")
      ->check(CLI::PositiveNumber);
  app.add_option("--clients", settings.clients, "Threads that send --steps requests each")
      ->check(CLI::PositiveNumber);
  app.add_flag("--raw-write", settings.raw_write,
               "Change a running mean before the server starts, behind LibTorch's back");
  return programs::run_program(app, argc, argv, [&] { serve(settings); });
}
