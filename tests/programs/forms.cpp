// Trains one small network that can be written in many ways. Most of them compute the same bits;
// the final digest says which do.
#include "basics.hpp"

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using torch::Tensor;

namespace {

struct Forms : programs::Basics {
  std::string linear = "module";
  std::string qkv = "fused";
  std::string attention = "explicit";
  std::string activation = "relu";
  std::string flatten = "flatten";
  std::string residual = "add";
  std::string optimizer = "adam";
  std::string zero_grad = "optimizer";
  std::string loss = "cross_entropy";
  std::string mean = "mean";
  std::string norm = "batch";
  std::int64_t micro_batches = 1;
  bool unscaled = false;
  bool channels_last = false;
  bool contiguous = false;
  bool clone = false;
  bool detached_metrics = false;
  bool wrapped = false;
  std::int64_t warm_up = 0;
  double clip = 0;
  double lr = 1e-2;
};

constexpr std::int64_t kWidth = 32;
constexpr std::int64_t kHeads = 4;

/// x: [samples, tokens, in], or [samples, in]; gives [..., out].
Tensor apply_linear(const std::string& form, nn::Linear& linear, const Tensor& x) {
  const Tensor& weight = linear->weight;
  const Tensor& bias = linear->bias;
  if (form == "matmul") return torch::matmul(x, weight.t()) + bias;
  if (form == "functional") return F::linear(x, weight, bias);
  if (form == "einsum") {
    return torch::einsum(x.dim() == 3 ? "ntk,ok->nto" : "nk,ok->no", {x, weight}) + bias;
  }
  if (form == "addmm") {
    const Tensor rows = torch::addmm(bias, x.reshape({-1, x.size(-1)}), weight.t());
    std::vector<std::int64_t> sizes = x.sizes().vec();
    sizes.back() = weight.size(0);
    return rows.view(sizes);
  }
  return linear(x);
}

struct AttentionImpl : nn::Module {
  explicit AttentionImpl(const Forms& forms)
      : forms_(forms),
        qkv(register_module("qkv", nn::Linear(kWidth, 3 * kWidth))),
        proj(register_module("proj", nn::Linear(kWidth, kWidth))) {}

  /// x: [samples, tokens, width]
  Tensor forward(const Tensor& x) {
    const auto [q, k, v] = parts(x);
    const Tensor mixed = mix(q, k, v).transpose(1, 2).reshape(x.sizes());
    return apply_linear(forms_.linear, proj, mixed);
  }

  /// Queries, keys and values, each [samples, heads, tokens, width / heads].
  std::array<Tensor, 3> parts(const Tensor& x) {
    std::array<Tensor, 3> result;
    if (forms_.qkv == "fused") {
      const auto chunks = apply_linear(forms_.linear, qkv, x).chunk(3, -1);
      std::copy(chunks.begin(), chunks.end(), result.begin());
    } else {
      const auto weights = qkv->weight.chunk(3, 0);
      const auto biases = qkv->bias.chunk(3, 0);
      for (std::size_t i = 0; i < 3; ++i) result[i] = F::linear(x, weights[i], biases[i]);
    }
    for (Tensor& part : result) {
      part = part.view({x.size(0), x.size(1), kHeads, kWidth / kHeads}).transpose(1, 2);
    }
    return result;
  }

  Tensor mix(const Tensor& q, const Tensor& k, const Tensor& v) const {
    const double scale = 1 / std::sqrt(static_cast<double>(kWidth / kHeads));
    if (forms_.attention == "fused") return torch::scaled_dot_product_attention(q, k, v);
    if (forms_.attention == "loop") {
      std::vector<Tensor> heads;
      for (std::int64_t head = 0; head < kHeads; ++head) {
        const Tensor scores = torch::bmm(q.select(1, head), k.select(1, head).transpose(1, 2));
        heads.push_back(torch::bmm(torch::softmax(scores * scale, -1), v.select(1, head)));
      }
      return torch::stack(heads, 1);
    }
    const Tensor scores = forms_.attention == "einsum" ? torch::einsum("nhqd,nhkd->nhqk", {q, k})
                                                       : torch::matmul(q, k.transpose(-2, -1));
    const Tensor weights =
        forms_.attention == "masked"
            ? torch::softmax((scores * scale).masked_fill(future(q.size(2)), -1e9), -1)
            : torch::softmax(scores * scale, -1);
    return torch::matmul(weights, v);
  }

  static Tensor future(std::int64_t tokens) {
    return torch::ones({tokens, tokens}, torch::kBool).triu(1);
  }

  const Forms& forms_;
  nn::Linear qkv, proj;
};
TORCH_MODULE(Attention);

struct NetImpl : nn::Module {
  explicit NetImpl(const Forms& forms)
      : forms_(forms),
        conv(register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, kWidth, 3).padding(1)))),
        bn(register_module("bn", nn::BatchNorm2d(kWidth))),
        attention(register_module("attention", Attention(forms))),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({kWidth})))),
        fc(register_module("fc", nn::Linear(kWidth, 10))) {}

  /// images: [samples, 1, 8, 8]
  Tensor forward(Tensor images) {
    if (forms_.channels_last) images = images.contiguous(torch::MemoryFormat::ChannelsLast);
    const Tensor x = tokens(activated(forms_.norm == "batch" ? bn(conv(images)) : conv(images)));
    Tensor attended = attention(norm(x));
    if (forms_.residual == "in place")
      attended += x;
    else if (forms_.residual == "swapped")
      attended = x + attended;
    else
      attended = attended + x;
    return apply_linear(forms_.linear, fc, pooled(attended));
  }

  Tensor activated(Tensor x) const {
    if (forms_.activation == "relu_") return x.relu_();
    if (forms_.activation == "clamp") return torch::clamp_min(x, 0);
    if (forms_.activation == "gelu") return torch::gelu(x);
    return torch::relu(x);
  }

  /// [samples, width, 8, 8] to [samples, 64, width].
  Tensor tokens(const Tensor& x) const {
    Tensor flat = forms_.flatten == "view"      ? x.contiguous().view({x.size(0), kWidth, 64})
                  : forms_.flatten == "reshape" ? x.reshape({x.size(0), kWidth, -1})
                                                : x.flatten(2);
    if (forms_.clone) flat = flat.clone();
    const Tensor result = flat.transpose(1, 2);
    return forms_.contiguous ? result.contiguous() : result;
  }

  Tensor pooled(const Tensor& x) const {
    return forms_.mean == "sum" ? x.sum(1) / static_cast<double>(x.size(1)) : x.mean(1);
  }

  const Forms& forms_;
  nn::Conv2d conv;
  nn::BatchNorm2d bn;
  Attention attention;
  nn::LayerNorm norm;
  nn::Linear fc;
};
TORCH_MODULE(Net);

struct WrapperImpl : nn::Module {
  explicit WrapperImpl(const Forms& forms) : inner(register_module("inner", Net(forms))) {}
  Tensor forward(const Tensor& images) { return inner(images); }
  Net inner;
};
TORCH_MODULE(Wrapper);

/// SGD with momentum, once per parameter or for all of them at a time.
class OwnSgd {
 public:
  OwnSgd(std::vector<Tensor> parameters, double lr, bool foreach)
      : parameters_(std::move(parameters)), lr_(lr), foreach_(foreach) {
    for (const Tensor& parameter : parameters_) momentum_.push_back(torch::zeros_like(parameter));
  }

  void step() {
    torch::NoGradGuard no_grad;
    std::vector<Tensor> gradients;
    for (const Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
    if (foreach_) {
      at::_foreach_mul_(momentum_, 0.9);
      at::_foreach_add_(momentum_, gradients);
      at::_foreach_add_(parameters_, momentum_, -lr_);
      return;
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      momentum_[i].mul_(0.9).add_(gradients[i]);
      parameters_[i].add_(momentum_[i], -lr_);
    }
  }

 private:
  std::vector<Tensor> parameters_, momentum_;
  double lr_;
  bool foreach_;
};

/// Four sequences of different lengths, two labels each.
Tensor loss_of_sequences(const Tensor& scores, const Tensor& labels) {
  const std::int64_t length = scores.size(0) / 4;
  const Tensor steps = F::log_softmax(scores.narrow(0, 0, 4 * length).view({length, 4, -1}), 2);
  const Tensor lengths = length - torch::arange(4);
  return F::ctc_loss(steps, labels.narrow(0, 0, 8).view({4, 2}) % 9 + 1, lengths,
                     torch::tensor({2, 1, 2, 1}));
}

Tensor loss_of(const Forms& forms, const Tensor& scores, const Tensor& labels) {
  if (forms.loss == "ctc") return loss_of_sequences(scores, labels);
  if (forms.loss == "nll") return F::nll_loss(F::log_softmax(scores, 1), labels);
  if (forms.loss == "sum") {
    const auto options = F::CrossEntropyFuncOptions().reduction(torch::kSum);
    return F::cross_entropy(scores, labels, options) / static_cast<double>(labels.size(0));
  }
  return F::cross_entropy(scores, labels);
}

template <class Model>
void train(const Forms& forms, Model model) {
  const programs::DigitTensors digits;
  const std::vector<Tensor> parameters = model->parameters();
  torch::optim::Adam adam(parameters, forms.lr);
  torch::optim::AdamW adamw(parameters, forms.lr);
  OwnSgd own(parameters, forms.lr, forms.optimizer == "foreach");

  for (std::int64_t step = -forms.warm_up; step < forms.steps; ++step) {
    const auto batch = digits.batch(std::max<std::int64_t>(step, 0), 32);
    if (forms.zero_grad == "optimizer")
      adam.zero_grad();
    else if (forms.zero_grad == "model")
      model->zero_grad();
    else if (forms.zero_grad == "fill")
      adam.zero_grad(/*set_to_none=*/false);
    double shown = 0;
    for (std::int64_t part = 0; part < forms.micro_batches; ++part) {
      const auto size = 32 / forms.micro_batches;
      const Tensor labels = batch.target.narrow(0, part * size, size);
      Tensor loss = loss_of(forms, model->forward(batch.data.narrow(0, part * size, size)), labels);
      if (forms.micro_batches > 1 && !forms.unscaled) loss = loss / forms.micro_batches;
      loss.backward();
      shown += loss.template item<double>();
    }
    if (forms.detached_metrics) (void)parameters[0].detach().norm().template item<double>();
    if (forms.clip > 0) nn::utils::clip_grad_norm_(parameters, forms.clip);
    if (forms.optimizer == "adam")
      adam.step();
    else if (forms.optimizer == "adamw")
      adamw.step();
    else
      own.step();
    std::printf("step %lld loss %.9g\n", static_cast<long long>(step), shown);
  }
  programs::print_digest(*model);
}

}  // namespace

int main(int argc, char** argv) {
  Forms forms;
  CLI::App app("Trains one small network that can be written in many ways.", "forms");
  programs::add_flags(app, forms);
  app.add_option("--linear", forms.linear)
      ->check(CLI::IsMember({"module", "functional", "matmul", "einsum", "addmm"}));
  app.add_option("--qkv", forms.qkv)->check(CLI::IsMember({"fused", "split"}));
  app.add_option("--attention", forms.attention)
      ->check(CLI::IsMember({"explicit", "einsum", "loop", "fused", "masked"}));
  app.add_option("--activation", forms.activation)
      ->check(CLI::IsMember({"relu", "relu_", "clamp", "gelu"}));
  app.add_option("--flatten", forms.flatten)->check(CLI::IsMember({"flatten", "view", "reshape"}));
  app.add_option("--residual", forms.residual)
      ->check(CLI::IsMember({"add", "in place", "swapped"}));
  app.add_option("--optimizer", forms.optimizer)
      ->check(CLI::IsMember({"adam", "adamw", "loop", "foreach"}));
  app.add_option("--zero-grad", forms.zero_grad)
      ->check(CLI::IsMember({"optimizer", "model", "fill", "never"}));
  app.add_option("--loss", forms.loss)
      ->check(CLI::IsMember({"cross_entropy", "nll", "sum", "ctc"}));
  app.add_option("--mean", forms.mean)->check(CLI::IsMember({"mean", "sum"}));
  app.add_option("--norm", forms.norm, "Whether batches are normalised")
      ->check(CLI::IsMember({"batch", "none"}));
  app.add_option("--micro-batches", forms.micro_batches)->check(CLI::Range(1, 32));
  app.add_flag("--unscaled", forms.unscaled, "Forget to divide the loss by the micro batches");
  app.add_flag("--channels-last", forms.channels_last);
  app.add_flag("--contiguous", forms.contiguous);
  app.add_flag("--clone", forms.clone);
  app.add_flag("--detached-metrics", forms.detached_metrics, "Look at a norm in every step");
  app.add_flag("--wrapped", forms.wrapped, "Put the network into another module");
  app.add_option("--warm-up", forms.warm_up, "Training steps before the first one");
  app.add_option("--clip", forms.clip, "Clip the gradients to this norm");
  app.add_option("--lr", forms.lr, "Learning rate");
  return programs::run_program(app, argc, argv, [&] {
    programs::apply(forms);
    if (forms.wrapped)
      train(forms, Wrapper(forms));
    else
      train(forms, Net(forms));
  });
}
