// Calls many of LibTorch's ops, forward and backward, on the CPU or on a GPU: each op of a run can
// be judged on its own inputs. Prints the loss of each kind of ops and a digest of the parameters.
//
//   device_ops [--device cuda] [--dtype float32|float64|bfloat16|float16] [--steps N]
//              [--group KIND] [--threads N] [--ops-of-gpu] [--wrong-op OP]
//
// Ops that LibTorch does not have for a dtype are left out, and named on standard error.
// --ops-of-gpu has the CPU call the ops that LibTorch calls on a GPU (gpu_ops.hpp), --wrong-op with
// one of them wrong.
#include <ATen/Context.h>
#include <dlfcn.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fixed_numbers.hpp"
#include "gpu_ops.hpp"

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using torch::Tensor;

namespace {

/// Gives a tensor from one of normal size, [4, 8, 12, 12], and one of the same shape between 0 and
/// 1.
using Call = std::function<Tensor(const Tensor& x, const Tensor& u)>;
using Calls = std::vector<std::pair<std::string, Call>>;

Tensor rows(const Tensor& x) { return x.reshape({32, 144}); }
Tensor volume(const Tensor& x) { return x.reshape({4, 2, 4, 12, 12}); }
/// Numbers from 0 to 9.
Tensor labels(const Tensor& like) { return torch::arange(32, like.device()).remainder(10); }
Tensor offsets(const Tensor& like) { return torch::arange(0, 32, 4, like.device()); }

Calls normalisations() {
  return {
      {"group norm",
       [](auto& x, auto& u) {
         return torch::group_norm(x, 4, u[0].mean({1, 2}), x[0].mean({1, 2}));
       }},
      {"group norm of one", [](auto& x, auto&) { return torch::group_norm(x, 1); }},
      {"instance norm", [](auto& x, auto&) { return F::instance_norm(x); }},
      {"layer norm",
       [](auto& x, auto&) {
         return torch::layer_norm(x, {12, 12});
       }},
      {"RMS norm", [](auto& x, auto& u) { return torch::rms_norm(x, {12}, u[0][0][0]); }},
      {"batch norm",
       [](auto& x, auto&) { return torch::batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, true); }},
      {"local response norm", [](auto& x, auto&) { return F::local_response_norm(x, 3); }},
      {"normalize", [](auto& x, auto&) { return F::normalize(x); }},
      {"softmax", [](auto& x, auto&) { return torch::softmax(x, 1); }},
      {"log softmax", [](auto& x, auto&) { return torch::log_softmax(x, -1); }},
      {"logsumexp", [](auto& x, auto&) { return torch::logsumexp(x, 1); }},
      {"logcumsumexp", [](auto& x, auto&) { return torch::logcumsumexp(x, 1); }},
      {"weight norm",
       [](auto& x, auto& u) { return torch::_weight_norm(rows(x), rows(u).narrow(1, 0, 1), 0); }},
  };
}

Calls pads_and_pools() {
  return {
      {"constant pad",
       [](auto& x, auto&) {
         return torch::constant_pad_nd(x, {1, 2, 3, 0}, 0.5);
       }},
      {"reflection pad",
       [](auto& x, auto&) {
         return torch::reflection_pad2d(x, {3, 2, 1, 5});
       }},
      {"replication pad",
       [](auto& x, auto&) {
         return torch::replication_pad2d(x, {3, 2, 1, 5});
       }},
      {"replication pad 3d",
       [](auto& x, auto&) {
         return torch::replication_pad3d(volume(x), {3, 3, 3, 3, 3, 3});
       }},
      {"reflection pad 1d",
       [](auto& x, auto&) {
         return torch::reflection_pad1d(x[0], {4, 5});
       }},
      {"average pool", [](auto& x, auto&) { return torch::avg_pool2d(x, 3, 2, 1); }},
      {"average pool 3d", [](auto& x, auto&) { return torch::avg_pool3d(volume(x), 2, 1); }},
      {"adaptive average pool",
       [](auto& x, auto&) {
         return torch::adaptive_avg_pool2d(x, {5, 7});
       }},
      {"adaptive average pool 3d",
       [](auto& x, auto&) {
         return torch::adaptive_avg_pool3d(volume(x), {3, 5, 7});
       }},
      {"max pool", [](auto& x, auto&) { return torch::max_pool2d(x, 3, 2); }},
      {"max pool 3d", [](auto& x, auto&) { return torch::max_pool3d(volume(x), 2, 1); }},
      {"adaptive max pool",
       [](auto& x, auto&) {
         return std::get<0>(torch::adaptive_max_pool2d(x, {5, 7}));
       }},
      {"power-average pool",
       [](auto&, auto& u) { return F::lp_pool2d(u, F::LPPool2dFuncOptions(2, 3)); }},
      {"nearest",
       [](auto& x, auto&) {
         return F::interpolate(x,
                               F::InterpolateFuncOptions().size(std::vector<std::int64_t>{17, 30}));
       }},
      {"exact nearest",
       [](auto& x, auto&) {
         return torch::_upsample_nearest_exact2d(x, std::vector<std::int64_t>{17, 30});
       }},
      {"bilinear",
       [](auto& x, auto&) {
         return F::interpolate(x, F::InterpolateFuncOptions()
                                      .size(std::vector<std::int64_t>{17, 30})
                                      .mode(torch::kBilinear)
                                      .align_corners(false));
       }},
      {"bicubic",
       [](auto& x, auto&) {
         return F::interpolate(x, F::InterpolateFuncOptions()
                                      .size(std::vector<std::int64_t>{17, 30})
                                      .mode(torch::kBicubic)
                                      .align_corners(true));
       }},
      {"pixel shuffle", [](auto& x, auto&) { return torch::pixel_shuffle(x, 2); }},
      {"unfold and fold",
       [](auto& x, auto&) {
         const Tensor columns = torch::im2col(x, {3, 3}, {1, 1}, {1, 1}, {1, 1});
         return torch::col2im(columns, {12, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1});
       }},
      {"windows", [](auto& x, auto&) { return x.unfold(2, 5, 2).mean(-1); }},
      {"sampling on a grid",
       [](auto& x, auto& u) {
         const Tensor turn = u.flatten(1).narrow(1, 0, 6).reshape({4, 2, 3});
         return F::grid_sample(x, F::affine_grid(turn, {4, 8, 12, 12}, false),
                               F::GridSampleFuncOptions().align_corners(false));
       }},
  };
}

Calls functions() {
  Calls calls{
      {"prelu",
       [](auto& x, auto& u) {
         return torch::prelu(x, u[0].mean({1, 2}));
       }},
      {"softshrink", [](auto& x, auto&) { return torch::softshrink(x); }},
      {"hardshrink", [](auto& x, auto&) { return torch::hardshrink(x); }},
      {"tanhshrink", [](auto& x, auto&) { return F::tanhshrink(x); }},
      {"softsign", [](auto& x, auto&) { return F::softsign(x); }},
      {"leaky relu", [](auto& x, auto&) { return torch::leaky_relu(x); }},
      {"elu", [](auto& x, auto&) { return torch::elu(x); }},
      {"celu", [](auto& x, auto&) { return torch::celu(x, 0.7); }},
      {"selu", [](auto& x, auto&) { return torch::selu(x); }},
      {"silu", [](auto& x, auto&) { return torch::silu(x); }},
      {"mish", [](auto& x, auto&) { return torch::mish(x); }},
      {"gelu", [](auto& x, auto&) { return torch::gelu(x); }},
      {"gelu by tanh", [](auto& x, auto&) { return torch::gelu(x, "tanh"); }},
      {"hardswish", [](auto& x, auto&) { return torch::hardswish(x); }},
      {"hardsigmoid", [](auto& x, auto&) { return torch::hardsigmoid(x); }},
      {"hardtanh", [](auto& x, auto&) { return torch::hardtanh(x); }},
      {"softplus", [](auto& x, auto&) { return torch::softplus(x); }},
      {"log sigmoid", [](auto& x, auto&) { return torch::log_sigmoid(x); }},
      {"glu", [](auto& x, auto&) { return torch::glu(x, 1); }},
      {"power", [](auto& x, auto& u) { return torch::pow(u + 0.1, x); }},
      {"power of a number", [](auto&, auto& u) { return torch::pow(u, 2.5); }},
      {"square root", [](auto&, auto& u) { return torch::sqrt(u); }},
      {"reciprocal square root", [](auto&, auto& u) { return torch::rsqrt(u + 0.01); }},
      {"quotient", [](auto& x, auto& u) { return x / (u + 0.1); }},
      {"remainder", [](auto& x, auto& u) { return torch::remainder(x, u + 0.5); }},
      {"fmod", [](auto& x, auto&) { return torch::fmod(x, 0.3); }},
      {"frac", [](auto& x, auto&) { return torch::frac(x); }},
      {"atan2", [](auto& x, auto& u) { return torch::atan2(x, u); }},
      {"hypot", [](auto& x, auto& u) { return torch::hypot(x, u); }},
      {"x log y", [](auto& x, auto& u) { return torch::xlogy(x, u + 0.1); }},
      {"log of a sum of exponentials", [](auto& x, auto& u) { return torch::logaddexp(x, u); }},
      {"lerp", [](auto& x, auto& u) { return torch::lerp(x, u, 0.3); }},
      {"addcmul", [](auto& x, auto& u) { return torch::addcmul(x, x, u, 0.5); }},
      {"addcdiv", [](auto& x, auto& u) { return torch::addcdiv(x, x, u + 0.1, 0.5); }},
      {"where", [](auto& x, auto& u) { return torch::where(x > 0, x, u); }},
      {"clamp", [](auto& x, auto&) { return torch::clamp(x, -0.5, 0.7); }},
      {"arc functions",
       [](auto&, auto& u) {
         const Tensor y = u * 1.8 - 0.9;
         return torch::asin(y) + torch::acos(y) + torch::atan(y) + torch::atanh(y);
       }},
      {"hyperbolic",
       [](auto& x, auto& u) {
         return torch::sinh(x) + torch::cosh(x) + torch::asinh(x) + torch::acosh(u + 1.5);
       }},
      {"trigonometric",
       [](auto& x, auto&) {
         return torch::sin(x) + torch::cos(x) + torch::tan(x * 0.3) + torch::sinc(x);
       }},
      {"exponentials", [](auto& x, auto&) { return torch::exp2(x) + torch::expm1(x); }},
      {"logarithms",
       [](auto&, auto& u) {
         const Tensor y = u + 0.05;
         return torch::log(y) + torch::log2(y) + torch::log10(y) + torch::log1p(y);
       }},
      {"special",
       [](auto& x, auto& u) {
         const Tensor y = u * 1.8 - 0.9;
         return torch::erf(x) + torch::erfc(x) + torch::erfinv(y) + torch::lgamma(u + 0.5) +
                torch::digamma(u + 0.5) + torch::i0(x) + torch::logit(u * 0.9 + 0.05);
       }},
  };
  return calls;
}

Calls reductions() {
  return {
      {"sum",
       [](auto& x, auto&) {
         return x.sum({2, 3});
       }},
      {"mean",
       [](auto& x, auto&) {
         return x.mean(std::vector<std::int64_t>{0, 2});
       }},
      {"product", [](auto&, auto& u) { return (u + 0.5).prod(1); }},
      {"norm", [](auto& x, auto&) { return x.norm(2, 1); }},
      {"vector norm", [](auto& x, auto&) { return torch::linalg_vector_norm(x, 3, {2}); }},
      {"variance",
       [](auto& x, auto&) {
         return x.var(std::vector<std::int64_t>{1, 2});
       }},
      {"standard deviation",
       [](auto& x, auto&) {
         return x.std(std::vector<std::int64_t>{0, 3});
       }},
      {"cumulative sum", [](auto& x, auto&) { return x.cumsum(1); }},
      {"cumulative product", [](auto&, auto& u) { return (u + 0.5).cumprod(1); }},
      {"cumulative maximum", [](auto& x, auto&) { return std::get<0>(x.cummax(1)); }},
      {"maximum", [](auto& x, auto&) { return std::get<0>(x.max(1)) + x.amax(1) + x.amin(1); }},
      {"median", [](auto& x, auto&) { return std::get<0>(x.median(1)); }},
      {"sort", [](auto& x, auto&) { return std::get<0>(x.sort(1)); }},
      {"largest", [](auto& x, auto&) { return std::get<0>(x.topk(3, 1)); }},
      {"trace", [](auto& x, auto&) { return x[0][0].trace(); }},
      {"distance", [](auto& x, auto& u) { return torch::pairwise_distance(rows(x), rows(u)); }},
      {"cosine similarity",
       [](auto& x, auto& u) { return torch::cosine_similarity(rows(x), rows(u)); }},
  };
}

Calls losses() {
  return {
      {"cross entropy",
       [](auto& x, auto&) {
         return F::cross_entropy(rows(x).narrow(1, 0, 10), labels(x),
                                 F::CrossEntropyFuncOptions().label_smoothing(0.1));
       }},
      {"negative log likelihood of images",
       [](auto& x, auto&) {
         return F::nll_loss(torch::log_softmax(x, 1),
                            torch::arange(576, x.device()).remainder(8).reshape({4, 12, 12}));
       }},
      {"KL divergence",
       [](auto& x, auto& u) {
         return torch::kl_div(torch::log_softmax(x, 1), torch::softmax(u, 1));
       }},
      {"square error", [](auto& x, auto& u) { return torch::mse_loss(x, u); }},
      {"absolute error", [](auto& x, auto& u) { return torch::l1_loss(x, u); }},
      {"smooth absolute error", [](auto& x, auto& u) { return torch::smooth_l1_loss(x, u); }},
      {"Huber", [](auto& x, auto& u) { return torch::huber_loss(x, u); }},
      {"binary cross entropy",
       [](auto& x, auto& u) { return torch::binary_cross_entropy(torch::sigmoid(x), u.detach()); }},
      {"... with logits",
       [](auto& x, auto& u) { return torch::binary_cross_entropy_with_logits(x, u.detach()); }},
      {"cosine embedding",
       [](auto& x, auto& u) {
         return torch::cosine_embedding_loss(rows(x), rows(u), labels(x).remainder(2) * 2 - 1);
       }},
      {"triplets",
       [](auto& x, auto& u) {
         return torch::triplet_margin_loss(rows(x), rows(u), rows(x).roll(1, 0));
       }},
      {"margin of classes",
       [](auto& x, auto&) { return torch::multi_margin_loss(rows(x), labels(x)); }},
      {"soft margin",
       [](auto& x, auto& u) { return torch::soft_margin_loss(x, u.detach().sign()); }},
      {"Poisson",
       [](auto& x, auto& u) {
         return torch::poisson_nll_loss(x, u.detach(), true, false, 1e-8, torch::Reduction::Mean);
       }},
      {"CTC",
       [](auto& x, auto&) {
         const Tensor scores = torch::log_softmax(rows(x).reshape({36, 4, 32}), 2);
         return torch::ctc_loss(scores, torch::arange(1, 21, x.device()).reshape({4, 5}),
                                torch::full({4}, 36, torch::kLong),
                                torch::full({4}, 5, torch::kLong));
       }},
  };
}

Calls products() {
  return {
      {"einsum",
       [](auto& x, auto& u) {
         return torch::einsum("bchw,bdhw->bcd", {x, u});
       }},
      {"bilinear form",
       [](auto& x, auto& u) {
         return torch::bilinear(rows(x).narrow(1, 0, 8), rows(u).narrow(1, 0, 8),
                                x.flatten().narrow(0, 0, 320).reshape({5, 8, 8}));
       }},
      {"baddbmm", [](auto& x, auto& u) { return torch::baddbmm(x[0], x[1], u[1], 0.5, 2); }},
      {"addbmm", [](auto& x, auto& u) { return torch::addbmm(x[0][0], x[1], u[1]); }},
      {"addmv", [](auto& x, auto& u) { return torch::addmv(x[0][0][0], x[0][0], u[0][0][0]); }},
      {"outer", [](auto& x, auto& u) { return torch::outer(x[0][0][0], u[0][0][0]); }},
      {"addr", [](auto& x, auto& u) { return torch::addr(x[0][0], x[0][0][0], u[0][0][0]); }},
      {"kron", [](auto& x, auto& u) { return torch::kron(x[0][0], u[0][0]); }},
      {"cross",
       [](auto& x, auto& u) {
         return torch::linalg_cross(rows(x).narrow(1, 0, 3), rows(u).narrow(1, 0, 3));
       }},
      {"all distances", [](auto& x, auto& u) { return torch::cdist(rows(x), rows(u)); }},
      {"convolution",
       [](auto& x, auto& u) {
         return torch::conv2d(x, u.narrow(2, 0, 3).narrow(3, 0, 3), {}, 1, 1);
       }},
      {"grouped, dilated",
       [](auto& x, auto& u) {
         return torch::conv2d(x, u.narrow(1, 0, 2).narrow(2, 0, 3).narrow(3, 0, 3), {}, 2, 2, 2, 4);
       }},
      {"depthwise",
       [](auto& x, auto& u) {
         return torch::conv2d(
             x, u.reshape({8, 4, 12, 12}).narrow(1, 0, 1).narrow(2, 0, 3).narrow(3, 0, 3), {}, 1, 1,
             1, 8);
       }},
      {"convolution 1d",
       [](auto& x, auto& u) {
         return torch::conv1d(x[0], u[0].narrow(1, 0, 12).narrow(2, 0, 3), {}, 1, 1);
       }},
      {"convolution 3d",
       [](auto& x, auto& u) {
         return torch::conv3d(volume(x), volume(u).narrow(2, 0, 3).narrow(3, 0, 3).narrow(4, 0, 3));
       }},
      {"transposed convolution",
       [](auto& x, auto& u) {
         return torch::conv_transpose2d(
             x, u.reshape({8, 4, 12, 12}).narrow(2, 0, 2).narrow(3, 0, 2), {}, 2);
       }},
      {"attention",
       [](auto& x, auto& u) {
         return torch::scaled_dot_product_attention(x, u, x.roll(1, 0), {}, 0.0, true);
       }},
      {"Fourier",
       [](auto& x, auto&) {
         return torch::fft_irfft2(torch::fft_rfft2(x), std::vector<std::int64_t>{12, 12}) +
                torch::abs(torch::fft_fft(x));
       }},
  };
}

Calls indexing() {
  return {
      {"index select", [](auto& x, auto&) { return x.index_select(2, labels(x)); }},
      {"gather",
       [](auto& x, auto&) {
         return rows(x).gather(1, labels(x).unsqueeze(1).expand({32, 5}));
       }},
      {"index",
       [](auto& x, auto&) {
         return rows(x).index({labels(x), labels(x)});
       }},
      {"index add", [](auto& x, auto& u) { return rows(x).index_add(0, labels(x), rows(u)); }},
      {"index copy",
       [](auto& x, auto& u) {
         return rows(x).index_copy(0, torch::arange(8, x.device()), rows(u).narrow(0, 0, 8));
       }},
      {"index fill", [](auto& x, auto&) { return rows(x).index_fill(1, labels(x), 0.25); }},
      {"accumulating index put",
       [](auto& x, auto& u) { return rows(x).index_put({labels(x)}, rows(u), true); }},
      {"scatter add",
       [](auto& x, auto& u) {
         return rows(x).scatter_add(1, labels(x).unsqueeze(1).expand({32, 144}), rows(u));
       }},
      {"scatter",
       [](auto& x, auto& u) {
         return rows(x).scatter(1, torch::arange(32, x.device()).unsqueeze(1),
                                rows(u).narrow(1, 0, 1));
       }},
      {"masked",
       [](auto& x, auto& u) { return x.masked_fill(u > 0.5, 0.0).masked_scatter(u > 0.7, u); }},
      {"masked select", [](auto& x, auto& u) { return x.masked_select(u.detach() > 0.5); }},
      {"embedding", [](auto& x, auto&) { return torch::embedding(rows(x), labels(x)); }},
      {"bag of embeddings",
       [](auto& x, auto&) {
         return std::get<0>(torch::embedding_bag(rows(x), labels(x), offsets(x)));
       }},
      {"mean of a bag",
       [](auto& x, auto&) {
         return std::get<0>(torch::embedding_bag(rows(x), labels(x), offsets(x), false, 1));
       }},
      {"rearranged",
       [](auto& x, auto&) {
         return torch::cat(
             {x.roll(2, 1), x.flip({2}), x.tril(), x.triu(1), torch::rot90(x, 1, {2, 3})});
       }},
      {"repeated",
       [](auto& x, auto&) {
         return x.repeat_interleave(2, 1) + x.tile({1, 2, 1, 1});
       }},
      {"diagonals", [](auto& x, auto&) { return torch::diag_embed(x.diagonal(0, 2, 3)); }},
      {"shuffled channels", [](auto& x, auto&) { return torch::channel_shuffle(x, 4); }},
  };
}

Calls recurrent() {
  const auto cell = [](const char* kind) {
    return [kind](const Tensor& x, const Tensor& u) {
      const Tensor input = rows(x).narrow(1, 0, 16);
      const Tensor hidden = rows(u).narrow(1, 0, 8);
      const std::string name = kind;
      const std::int64_t gates = name == "LSTM" ? 4 : name == "GRU" ? 3 : 1;
      const Tensor w = x.flatten().narrow(0, 0, gates * 8 * 16).reshape({gates * 8, 16});
      const Tensor r = u.flatten().narrow(0, 0, gates * 8 * 8).reshape({gates * 8, 8});
      const Tensor b = x.flatten().narrow(0, 50, gates * 8);
      if (name == "LSTM") return std::get<0>(torch::lstm_cell(input, {hidden, hidden}, w, r, b, b));
      if (name == "GRU") return torch::gru_cell(input, hidden, w, r, b, b);
      return torch::rnn_tanh_cell(input, hidden, w, r, b, b);
    };
  };
  return {{"LSTM cell", cell("LSTM")}, {"GRU cell", cell("GRU")}, {"Elman cell", cell("tanh")}};
}

struct Options {
  std::string device = "cpu";
  torch::Dtype dtype = torch::kFloat32;
  std::string group = "all";
  std::string wrong_op;
  std::int64_t steps = 1;
  int threads = 1;
  bool ops_of_gpu = false;
};

torch::Dtype parse_dtype(const std::string& name) {
  const std::map<std::string, torch::Dtype> dtypes{{"float32", torch::kFloat32},
                                                   {"float64", torch::kFloat64},
                                                   {"bfloat16", torch::kBFloat16},
                                                   {"float16", torch::kFloat16}};
  if (!dtypes.contains(name)) throw std::invalid_argument("no such dtype: " + name);
  return dtypes.at(name);
}

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
    else if (flag == "--dtype")
      options.dtype = parse_dtype(value());
    else if (flag == "--group")
      options.group = value();
    else if (flag == "--steps")
      options.steps = std::stoll(value());
    else if (flag == "--threads")
      options.threads = std::stoi(value());
    else if (flag == "--ops-of-gpu")
      options.ops_of_gpu = true;
    else if (flag == "--wrong-op")
      options.wrong_op = value();
    else
      throw std::invalid_argument("no such flag: " + flag);
  }
  return options;
}

struct NetImpl : nn::Module {
  NetImpl() : fc(register_module("fc", nn::Linear(64, 1152))) {
    const torch::NoGradGuard no_grad;
    fc->weight.copy_(device_test::numbers({1152, 64}, 1) * 0.2);
    fc->bias.zero_();
  }

  /// images: [4, 64]
  Tensor forward(const Tensor& images, const Calls& calls, torch::Dtype dtype) {
    const Tensor made = fc(images).reshape({4, 8, 12, 12});
    Tensor total = torch::zeros({}, images.options());
    for (const auto& [name, call] : calls) {
      const Tensor x = (made * 2).to(dtype);
      const Tensor result = call(x, torch::sigmoid(made).to(dtype));
      total = total + result.to(torch::kFloat32).square().mean();
    }
    return total;
  }

  nn::Linear fc;
};
TORCH_MODULE(Net);

/// Whether there is such an op for this dtype, forward and backward.
bool exists(const std::string& name, const Call& call, const torch::TensorOptions& kind) {
  try {
    const Tensor numbers = device_test::numbers({4, 8, 12, 12}, 3).to(kind);
    const Tensor x = numbers.detach().requires_grad_();
    const Tensor u = torch::sigmoid(numbers).detach().requires_grad_();
    call(x, u).sum().backward();
    return true;
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "left out: %s (%s)\n", name.c_str(), error.what_without_backtrace());
    return false;
  }
}

void run(const Options& options) {
  if (options.device == "cuda" && dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    throw std::runtime_error(dlerror());
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  if (options.ops_of_gpu) gpu_ops::register_all(options.wrong_op);
  at::set_num_threads(options.threads);
  torch::manual_seed(1);
  std::map<std::string, Calls> groups{{"normalisations", normalisations()},
                                      {"pads_and_pools", pads_and_pools()},
                                      {"functions", functions()},
                                      {"reductions", reductions()},
                                      {"losses", losses()},
                                      {"products", products()},
                                      {"indexing", indexing()},
                                      {"recurrent", recurrent()}};
  const torch::Device device(options.device);
  if (options.dtype != torch::kFloat32)
    for (auto& [name, calls] : groups)
      std::erase_if(calls, [&](const auto& call) {
        return !exists(call.first, call.second, torch::device(device).dtype(options.dtype));
      });
  Net model;
  model->to(device);
  torch::optim::SGD optimizer(model->parameters(), 1e-7);
  for (std::int64_t step = 0; step < options.steps; ++step)
    for (const auto& [name, calls] : groups) {
      if (options.group != "all" && options.group != name) continue;
      const auto seed = 100 + static_cast<std::uint64_t>(step);
      const Tensor images = device_test::numbers({4, 64}, seed).to(device);
      optimizer.zero_grad();
      const Tensor loss = model->forward(images, calls, options.dtype);
      loss.backward();
      optimizer.step();
      std::printf("%s: loss %.9g\n", name.c_str(), loss.item<double>());
    }
  std::printf("final digest %016llx\n",
              static_cast<unsigned long long>(device_test::digest(*model)));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_ops: %s\n", error.what());
    return 1;
  }
  return 0;
}
