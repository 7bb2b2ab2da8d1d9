// Trains a small net with one habit, good or bad, and with settings changed while it runs.
#include <cstdlib>
#include <functional>
#include <thread>

#include "basics.hpp"

namespace nn = torch::nn;
using torch::Tensor;

namespace {

struct HabitSettings : programs::Basics {
  std::string habit = "none";
  std::vector<std::string> set;  // KEY=VALUE: from the start; STEP:KEY=VALUE: before that step
  std::int64_t batches = 4;      // in an epoch
  std::int64_t batch = 8;
  bool validate = false;
};

constexpr std::int64_t kFeatures = 16;

void set_mkldnn_precision(at::Float32Op op, const std::string& value) {
  at::globalContext().setFloat32Precision(at::Float32Backend::MKLDNN, op, at::str2precision(value));
}

/// Makes a setting by the name that a dump has for it.
void set(const std::string& key, const std::string& value) {
  at::Context& context = at::globalContext();
  const bool on = value == "on";
  if (key.starts_with("env."))
    setenv(key.substr(4).c_str(), value.c_str(), 1);
  else if (key == "threads.intra_op")
    at::set_num_threads(std::stoi(value));
  else if (key == "threads.inter_op")
    at::set_num_interop_threads(std::stoi(value));
  else if (key == "rng.cpu.seed")
    torch::manual_seed(std::stoull(value));
  else if (key == "flag.deterministic_algorithms")
    context.setDeterministicAlgorithms(value != "off", value == "warn");
  else if (key == "flag.fill_uninitialized")
    context.setDeterministicFillUninitializedMemory(on);
  else if (key == "flag.cudnn.enabled")
    context.setUserEnabledCuDNN(on);
  else if (key == "flag.cudnn.benchmark")
    context.setBenchmarkCuDNN(on);
  else if (key == "flag.cudnn.deterministic")
    context.setDeterministicCuDNN(on);
  else if (key == "flag.cudnn.allow_tf32")
    context.setAllowTF32CuDNN(on);
  else if (key == "flag.cublas.allow_tf32")
    context.setAllowTF32CuBLAS(on);
  else if (key == "flag.cublas.allow_fp16_reduced_precision")
    context.setAllowFP16ReductionCuBLAS(on);
  else if (key == "flag.cublas.allow_bf16_reduced_precision")
    context.setAllowBF16ReductionCuBLAS(on);
  else if (key == "flag.matmul_precision")
    context.setFloat32MatmulPrecision(value);
  else if (key == "flag.mkldnn.enabled")
    context.setUserEnabledMkldnn(on);
  else if (key == "flag.mkldnn.deterministic")
    context.setDeterministicMkldnn(on);
  else if (key == "flag.mkldnn.conv_precision")
    set_mkldnn_precision(at::Float32Op::CONV, value);
  else if (key == "flag.mkldnn.matmul_precision")
    set_mkldnn_precision(at::Float32Op::MATMUL, value);
  else if (key == "flag.mkldnn.rnn_precision")
    set_mkldnn_precision(at::Float32Op::RNN, value);
  else if (key == "flag.sdp.flash")
    context.setSDPUseFlash(on);
  else if (key == "flag.sdp.mem_efficient")
    context.setSDPUseMemEfficient(on);
  else if (key == "flag.sdp.math")
    context.setSDPUseMath(on);
  else if (key == "flag.sdp.cudnn")
    context.setSDPUseCuDNN(on);
  else if (key == "flag.flush_denormal")
    at::globalContext().setFlushDenormal(on);
  else
    throw std::runtime_error("no setting is called " + key);
}

/// Runs its module again in backward instead of keeping what it computed.
struct Recomputed : torch::autograd::Function<Recomputed> {
  using Module = std::function<Tensor(const Tensor&)>;
  inline static Module module;
  inline static bool restores_generator = false;

  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x) {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    context->save_for_backward({x, generator.get_state()});
    return module(x);
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list incoming) {
    const auto saved = context->get_saved_variables();
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const Tensor now = generator.get_state();
    if (restores_generator) generator.set_state(saved[1]);
    const torch::AutoGradMode with_grad(true);
    const Tensor x = saved[0].detach().requires_grad_(true);
    module(x).backward(incoming[0]);
    if (restores_generator) generator.set_state(now);
    return {x.grad()};
  }
};

struct NetImpl : nn::Module {
  explicit NetImpl(const HabitSettings& settings) : habit(settings.habit) {
    register_module("in", in);
    register_module("dropout", dropout);
    register_module("out", out);
  }

  Tensor forward(const Tensor& x) {
    Tensor hidden = torch::relu(in(x));
    if (habit.starts_with("recompute")) {
      Recomputed::module = [this](const Tensor& kept) { return dropout(kept); };
      Recomputed::restores_generator = habit == "recompute-restored";
      hidden = Recomputed::apply(hidden);
    } else if (habit == "dropout") {
      hidden = dropout(hidden);
    } else if (habit == "unordered-op") {
      const Tensor places = torch::arange(hidden.numel());
      hidden = torch::zeros_like(hidden).put_(places, hidden);
    }
    return out(hidden);
  }

  std::string habit;
  nn::Linear in{kFeatures, 8};
  nn::Dropout dropout{0.5};
  nn::Linear out{8, 2};
};
TORCH_MODULE(Net);

/// The samples of each step.
class Batches {
 public:
  explicit Batches(const HabitSettings& settings) : settings_(settings) {
    at::Generator own = at::detail::createCPUGenerator(11);
    samples_ = torch::rand({settings.batches * settings.batch, kFeatures}, own);
    for (at::Generator& generator : generators_) generator = at::detail::createCPUGenerator(5);
  }

  Tensor next(std::int64_t step) {
    const std::int64_t length =
        settings_.habit == "half-epochs" ? settings_.batches / 2 : settings_.batches;
    const std::int64_t place = step % length;
    if (settings_.habit == "twin-workers") return made_by_worker(step % 2);
    if (place == 0) begin_epoch(step / length);
    return samples_.index_select(0, order_.narrow(0, place * settings_.batch, settings_.batch));
  }

  /// What is always the same and never trained on.
  [[nodiscard]] Tensor validation() const { return samples_.narrow(0, 0, settings_.batch); }

 private:
  void begin_epoch(std::int64_t epoch) {
    const bool reseeds = settings_.habit == "same-epochs";
    at::Generator generator =
        at::detail::createCPUGenerator(reseeds ? 3 : 3 + static_cast<std::uint64_t>(epoch));
    order_ = torch::randperm(samples_.size(0), generator);
  }

  /// Two workers whose generators were seeded alike.
  Tensor made_by_worker(std::int64_t worker) {
    Tensor batch;
    std::thread([&] {
      batch = torch::rand({settings_.batch, kFeatures}, generators_[worker]);
    }).join();
    return batch;
  }

  const HabitSettings& settings_;
  Tensor samples_, order_;
  std::array<at::Generator, 2> generators_;
};

/// Threads that draw from the default generator, in turn.
void draw_in_threads() {
  for (int i = 0; i < 2; ++i) std::thread([] { (void)torch::rand({4}); }).join();
}

/// A denormal number times one, in a thread that flushes denormals or not.
void multiply_denormals(bool flush) {
  const torch::Tensor numbers = torch::full({4}, 1e-40F);
  std::thread([&] {
    at::globalContext().setFlushDenormal(flush);
    (void)(numbers * 1.0F).sum();
  }).join();
}

void evaluate(Net& model, const Batches& batches) {
  const torch::NoGradGuard no_grad;
  model->eval();
  std::printf("validation %.9g\n",
              static_cast<double>(model->forward(batches.validation()).sum().item<float>()));
  model->train();
}

void apply_settings(const HabitSettings& settings, std::int64_t step) {
  for (const std::string& text : settings.set) {
    const std::size_t colon = text.find(':');
    const std::int64_t when = colon == text.npos ? -1 : std::stoll(text.substr(0, colon));
    const std::string one = text.substr(colon == text.npos ? 0 : colon + 1);
    if (when == step) set(one.substr(0, one.find('=')), one.substr(one.find('=') + 1));
  }
}

void seed(const HabitSettings& settings) {
  at::set_num_threads(settings.threads);
  if (settings.habit == "seeded-by-chance")
    at::Generator(at::detail::getDefaultCPUGenerator()).seed();
  else if (settings.habit != "unseeded")
    torch::manual_seed(settings.seed);
}

void train(const HabitSettings& settings) {
  seed(settings);
  apply_settings(settings, -1);
  Batches batches(settings);
  Net model(settings);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Tensor batch = batches.next(step);
    if (settings.habit == "threads-draw") draw_in_threads();
    if (settings.habit == "flush-in-thread") multiply_denormals(true);
    if (settings.habit == "keep-in-thread") multiply_denormals(false);
    apply_settings(settings, step);
    if (settings.habit == "inference") {
      const torch::NoGradGuard no_grad;
      programs::print_step(step, model->forward(batch).sum());
      continue;
    }
    const bool tunes = settings.habit == "tunes-backward";
    optimizer.zero_grad();
    const Tensor loss = model->forward(batch).pow(2).mean();
    if (tunes) set("flag.cudnn.benchmark", "on");
    loss.backward();
    if (tunes) set("flag.cudnn.benchmark", "off");
    optimizer.step();
    programs::print_step(step, loss);
    if (settings.validate && (step + 1) % settings.batches == 0) evaluate(model, batches);
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  HabitSettings settings;
  CLI::App app("Trains a small net with one habit, good or bad.", "habits");
  programs::add_flags(app, settings);
  app.add_option("--habit", settings.habit, "What is special about this training")
      ->check(CLI::IsMember({"none", "dropout", "unseeded", "seeded-by-chance", "same-epochs",
                             "twin-workers", "threads-draw", "recompute", "recompute-restored",
                             "unordered-op", "half-epochs", "inference", "tunes-backward",
                             "flush-in-thread", "keep-in-thread"}));
  app.add_option("--set", settings.set, "KEY=VALUE, or STEP:KEY=VALUE to set it before that step")
      ->always_capture_default(false);
  app.add_option("--batches", settings.batches, "Batches in an epoch");
  app.add_option("--batch", settings.batch, "Samples in a batch");
  app.add_flag("--validate", settings.validate, "Evaluate after each epoch");
  return programs::run_program(app, argc, argv, [&] { train(settings); });
}
