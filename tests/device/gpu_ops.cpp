#include "gpu_ops.hpp"

#include <ATen/record_function.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace gpu_ops {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

std::string wrong_op;

Tensor result_of(const char* op, const Tensor& exact, const Tensor& like) {
  return (wrong_op == op ? exact * 1.01 : exact).to(like.scalar_type());
}

Tensor exact(const OptionalTensor& tensor) {
  return tensor && tensor->defined() ? tensor->to(at::kDouble) : Tensor();
}

/// What a kernel does inside is not the program's.
class Kernel {
  const at::RecordFunctionGuard unseen_{false};
};

std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm(const Tensor& input, const Tensor& weight,
                                                      const OptionalTensor& bias,
                                                      const OptionalTensor& running_mean,
                                                      const OptionalTensor& running_var,
                                                      bool training, double momentum, double eps) {
  const Kernel kernel;
  const Tensor mean = exact(running_mean);
  const Tensor var = exact(running_var);
  auto [output, save_mean, save_invstd] = at::native_batch_norm(
      exact(input), exact(weight), exact(bias), mean, var, training, momentum, eps);
  if (training && running_mean) running_mean->copy_(mean);
  if (training && running_var) running_var->copy_(var);
  return {result_of("cudnn_batch_norm", output, input), save_mean.to(at::kFloat),
          save_invstd.to(at::kFloat), at::empty({0}, input.options().dtype(at::kByte))};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& input, const Tensor& gradient,
                                                       const Tensor& weight,
                                                       const OptionalTensor& running_mean,
                                                       const OptionalTensor& running_var,
                                                       const OptionalTensor& save_mean,
                                                       const OptionalTensor& save_invstd,
                                                       double eps, const Tensor& /*reserve*/) {
  const Kernel kernel;
  const auto [of_input, of_weight, of_bias] = at::native_batch_norm_backward(
      exact(gradient), exact(input), exact(weight), exact(running_mean), exact(running_var),
      exact(save_mean), exact(save_invstd), true, eps, {true, true, true});
  return {result_of("cudnn_batch_norm_backward", of_input, input), of_weight.to(at::kFloat),
          of_bias.to(at::kFloat)};
}

/// The composite op, as it chooses on a GPU: cuDNN's has weights.
std::tuple<Tensor, Tensor, Tensor, Tensor, std::int64_t> choose_batch_norm(
    const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    const OptionalTensor& running_mean, const OptionalTensor& running_var, bool training,
    double momentum, double eps, bool /*cudnn*/) {
  if (!weight || !weight->defined())
    return std::tuple_cat(at::native_batch_norm(input, weight, bias, running_mean, running_var,
                                                training, momentum, eps),
                          std::tuple(at::empty({0}, at::kByte), std::int64_t{0}));
  return std::tuple_cat(at::cudnn_batch_norm(input, *weight, bias, running_mean, running_var,
                                             training, momentum, eps),
                        std::tuple<std::int64_t>(1));
}

struct Attention {
  Tensor weights;
  Tensor output;
  Tensor log_sums;
};

double scale_of(const Tensor& query, std::optional<double> scale) {
  return scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

Attention attend(const Tensor& query, const Tensor& key, const Tensor& value,
                 const OptionalTensor& bias, bool causal, double scale) {
  Tensor scores = at::matmul(query, key.transpose(-2, -1)) * scale;
  if (bias && bias->defined()) scores = scores + *bias;
  if (causal) {
    const Tensor later = at::ones({query.size(-2), key.size(-2)}, at::kBool).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  const Tensor weights = at::softmax(scores, -1);
  return {weights, at::matmul(weights, value), at::logsumexp(scores, -1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attention(const Tensor& query, const Tensor& key,
                                                     const Tensor& value,
                                                     const OptionalTensor& bias, bool /*log_sums*/,
                                                     double /*dropout*/, bool causal,
                                                     std::optional<double> scale) {
  const Kernel kernel;
  const Attention found =
      attend(exact(query), exact(key), exact(value), exact(bias), causal, scale_of(query, scale));
  const Tensor number = at::zeros({}, at::kLong);
  return {result_of("_scaled_dot_product_efficient_attention", found.output, query),
          found.log_sums.to(at::kFloat), number, number.clone()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& gradient, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& bias, const Tensor& /*out*/, const Tensor& /*log_sums*/, const Tensor& /*seed*/,
    const Tensor& /*offset*/, double /*dropout*/, std::array<bool, 4> /*mask*/, bool causal,
    std::optional<double> scale) {
  const Kernel kernel;
  const Tensor q = exact(query), k = exact(key), v = exact(value), g = exact(gradient);
  const double factor = scale_of(query, scale);
  const Attention found = attend(q, k, v, exact(bias), causal, factor);
  const Tensor of_weights = at::matmul(g, v.transpose(-2, -1));
  const Tensor of_scores =
      found.weights * (of_weights - (of_weights * found.weights).sum(-1, true));
  return {result_of("_scaled_dot_product_efficient_attention_backward",
                    at::matmul(of_scores, k) * factor, query),
          (at::matmul(of_scores.transpose(-2, -1), q) * factor).to(key.scalar_type()),
          at::matmul(found.weights.transpose(-2, -1), g).to(value.scalar_type()), Tensor()};
}

Tensor choose_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                        const OptionalTensor& mask, double dropout, bool causal,
                        std::optional<double> scale, bool /*grouped*/) {
  return std::get<0>(at::_scaled_dot_product_efficient_attention(query, key, value, mask, true,
                                                                 dropout, causal, scale));
}

/// One layer in one direction, the batch first.
struct Lstm {
  std::vector<std::array<Tensor, 4>> gates;  // input, forget, cell, output
  std::vector<Tensor> h;                     // before each step and after the last
  std::vector<Tensor> c;

  [[nodiscard]] Tensor outputs() const { return at::stack(at::TensorList(h).slice(1), 1); }
};

Lstm run_lstm(const Tensor& input, at::TensorList weights, const Tensor& hx, const Tensor& cx) {
  Lstm run{{}, {hx}, {cx}};
  for (std::int64_t t = 0; t < input.size(1); ++t) {
    const auto sums = (at::linear(input.select(1, t), weights[0], weights[2]) +
                       at::linear(run.h.back(), weights[1], weights[3]))
                          .chunk(4, 1);
    const auto& [i, f, g, o] = run.gates.emplace_back(std::array{
        at::sigmoid(sums[0]), at::sigmoid(sums[1]), at::tanh(sums[2]), at::sigmoid(sums[3])});
    run.c.push_back(f * run.c.back() + i * g);
    run.h.push_back(o * at::tanh(run.c.back()));
  }
  return run;
}

std::vector<Tensor> all_exact(at::TensorList tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.to(at::kDouble));
  return result;
}

constexpr std::int64_t kLstm = 2;  // CUDNN_LSTM

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> recurrent(
    const Tensor& input, at::TensorList weights, std::int64_t /*stride*/,
    const OptionalTensor& /*weight_buffer*/, const Tensor& hx, const OptionalTensor& cx,
    std::int64_t mode, std::int64_t /*hidden*/, std::int64_t /*projected*/, std::int64_t layers,
    bool batch_first, double /*dropout*/, bool /*train*/, bool both_ways, at::IntArrayRef /*sizes*/,
    const OptionalTensor& /*state*/) {
  const Kernel kernel;
  TORCH_CHECK(mode == kLstm && layers == 1 && batch_first && !both_ways, "not this one");
  const Lstm run = run_lstm(exact(input), all_exact(weights), exact(hx)[0], exact(*cx)[0]);
  return {result_of("_cudnn_rnn", run.outputs(), input),
          run.h.back().unsqueeze(0).to(input.scalar_type()),
          run.c.back().unsqueeze(0).to(input.scalar_type()), at::zeros({8}, at::kByte),
          at::zeros({4}, input.options())};
}

std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>> recurrent_backward(
    const Tensor& input, at::TensorList weights, std::int64_t /*stride*/,
    const Tensor& /*weight_buffer*/, const Tensor& hx, const OptionalTensor& cx,
    const Tensor& /*output*/, const OptionalTensor& of_output, const OptionalTensor& of_hy,
    const OptionalTensor& of_cy, std::int64_t /*mode*/, std::int64_t /*hidden*/,
    std::int64_t /*projected*/, std::int64_t /*layers*/, bool /*batch_first*/, double /*dropout*/,
    bool /*train*/, bool /*both_ways*/, at::IntArrayRef /*sizes*/, const OptionalTensor& /*state*/,
    const Tensor& /*reserve*/, std::array<bool, 4> /*mask*/) {
  const Kernel kernel;
  const Tensor x = exact(input);
  const std::vector<Tensor> w = all_exact(weights);
  const std::int64_t steps = x.size(1);
  const Lstm run = run_lstm(x, w, exact(hx)[0], exact(*cx)[0]);
  const auto or_zeros = [](const OptionalTensor& gradient, const Tensor& like) {
    return gradient && gradient->defined() ? exact(gradient) : at::zeros_like(like);
  };
  const Tensor of_outputs = or_zeros(of_output, run.outputs());
  Tensor of_h = or_zeros(of_hy, exact(hx))[0];
  Tensor of_c = or_zeros(of_cy, exact(hx))[0];
  Tensor of_x = at::zeros_like(x);
  std::vector<Tensor> of_weights;
  for (const Tensor& weight : w) of_weights.push_back(at::zeros_like(weight));
  for (std::int64_t t = steps; t-- > 0;) {
    const auto at_step = static_cast<std::size_t>(t);
    const auto& [i, f, g, o] = run.gates[at_step];
    const Tensor squashed = at::tanh(run.c[at_step + 1]);
    of_h = of_h + of_outputs.select(1, t);
    of_c = of_c + of_h * o * (1 - squashed * squashed);
    const Tensor of_gates = at::cat({of_c * g * i * (1 - i), of_c * run.c[at_step] * f * (1 - f),
                                     of_c * i * (1 - g * g), of_h * squashed * o * (1 - o)},
                                    1);
    of_x.select(1, t).copy_(at::matmul(of_gates, w[0]));
    of_weights[0] += at::matmul(of_gates.t(), x.select(1, t));
    of_weights[1] += at::matmul(of_gates.t(), run.h[at_step]);
    of_weights[2] += of_gates.sum(0);
    of_weights[3] += of_gates.sum(0);
    of_h = at::matmul(of_gates, w[1]);
    of_c = of_c * f;
  }
  for (Tensor& weight : of_weights) weight = weight.to(input.scalar_type());
  return {result_of("_cudnn_rnn_backward", of_x, input), of_h.unsqueeze(0).to(input.scalar_type()),
          of_c.unsqueeze(0).to(input.scalar_type()), of_weights};
}

std::tuple<Tensor, Tensor, Tensor> choose_lstm(const Tensor& input, at::TensorList hx,
                                               at::TensorList weights, bool /*biases*/,
                                               std::int64_t layers, double dropout, bool train,
                                               bool both_ways, bool batch_first) {
  const auto found =
      at::_cudnn_rnn(input, weights, 4, std::nullopt, hx[0], hx[1], kLstm, hx[0].size(-1), 0,
                     layers, batch_first, dropout, train, both_ways, {}, std::nullopt);
  return {std::get<0>(found), std::get<1>(found), std::get<2>(found)};
}

/// A cell's gates are inputs before their functions; what it saves for backward has them after.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& of_input, const Tensor& of_hidden,
                                             const Tensor& cx, const OptionalTensor& input_bias,
                                             const OptionalTensor& hidden_bias) {
  const Kernel kernel;
  Tensor sums = exact(of_input) + exact(of_hidden);
  if (input_bias && input_bias->defined()) sums = sums + exact(input_bias) + exact(hidden_bias);
  const auto gates = sums.chunk(4, 1);
  const Tensor i = at::sigmoid(gates[0]), f = at::sigmoid(gates[1]), g = at::tanh(gates[2]),
               o = at::sigmoid(gates[3]);
  const Tensor c = f * exact(cx) + i * g;
  return {result_of("_thnn_fused_lstm_cell", o * at::tanh(c), cx), c.to(cx.scalar_type()),
          at::cat({i, f, g, o}, 1).to(cx.scalar_type())};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const OptionalTensor& of_hy,
                                                      const OptionalTensor& of_cy, const Tensor& cx,
                                                      const Tensor& cy, const Tensor& workspace,
                                                      bool has_bias) {
  const Kernel kernel;
  const auto gates = exact(workspace).chunk(4, 1);
  const Tensor &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  const Tensor squashed = at::tanh(exact(cy));
  const Tensor of_h = of_hy && of_hy->defined() ? exact(of_hy) : at::zeros_like(squashed);
  Tensor of_c = of_h * o * (1 - squashed * squashed);
  if (of_cy && of_cy->defined()) of_c = of_c + exact(of_cy);
  const Tensor of_gates = at::cat({of_c * g * i * (1 - i), of_c * exact(cx) * f * (1 - f),
                                   of_c * i * (1 - g * g), of_h * squashed * o * (1 - o)},
                                  1);
  return {result_of("_thnn_fused_lstm_cell_backward_impl", of_gates, cx),
          (of_c * f).to(cx.scalar_type()),
          has_bias ? of_gates.sum(0).to(cx.scalar_type()) : Tensor()};
}

std::tuple<Tensor, Tensor> choose_lstm_cell(const Tensor& input, at::TensorList hx,
                                            const Tensor& w_ih, const Tensor& w_hh,
                                            const OptionalTensor& b_ih,
                                            const OptionalTensor& b_hh) {
  const auto [h, c, workspace] = at::_thnn_fused_lstm_cell(
      at::matmul(input, w_ih.t()), at::matmul(hx[0], w_hh.t()), hx[1], b_ih, b_hh);
  return {h, c};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& of_input, const Tensor& of_hidden,
                                    const Tensor& hx, const OptionalTensor& input_bias,
                                    const OptionalTensor& hidden_bias) {
  const Kernel kernel;
  Tensor from_input = exact(of_input);
  Tensor from_hidden = exact(of_hidden);
  if (input_bias && input_bias->defined()) {
    from_input = from_input + exact(input_bias);
    from_hidden = from_hidden + exact(hidden_bias);
  }
  const auto a = from_input.chunk(3, 1);
  const auto b = from_hidden.chunk(3, 1);
  const Tensor r = at::sigmoid(a[0] + b[0]), z = at::sigmoid(a[1] + b[1]),
               n = at::tanh(a[2] + r * b[2]), h = exact(hx);
  return {result_of("_thnn_fused_gru_cell", n + z * (h - n), hx),
          at::cat({r, z, n, h, b[2]}, 1).to(hx.scalar_type())};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& gradient,
                                                                     const Tensor& workspace,
                                                                     bool has_bias) {
  const Kernel kernel;
  const auto kept = exact(workspace).chunk(5, 1);
  const Tensor &r = kept[0], &z = kept[1], &n = kept[2], &h = kept[3], &m = kept[4];
  const Tensor g = exact(gradient);
  const Tensor of_n = g * (1 - z) * (1 - n * n);
  const Tensor of_z = g * (h - n) * z * (1 - z);
  const Tensor of_r = of_n * m * r * (1 - r);
  const Tensor of_input = at::cat({of_r, of_z, of_n}, 1);
  const Tensor of_hidden = at::cat({of_r, of_z, of_n * r}, 1);
  const auto type = gradient.scalar_type();
  return {result_of("_thnn_fused_gru_cell_backward", of_input, gradient), of_hidden.to(type),
          (g * z).to(type), has_bias ? of_input.sum(0).to(type) : Tensor(),
          has_bias ? of_hidden.sum(0).to(type) : Tensor()};
}

Tensor choose_gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih,
                       const Tensor& w_hh, const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  return std::get<0>(at::_thnn_fused_gru_cell(at::matmul(input, w_ih.t()), at::matmul(hx, w_hh.t()),
                                              hx, b_ih, b_hh));
}

/// Keeps nothing for backward.
std::tuple<Tensor, Tensor> log_sigmoid(const Tensor& self) {
  const Kernel kernel;
  return {result_of("log_sigmoid_forward", -at::softplus(-exact(self)), self),
          at::empty({0}, self.options())};
}

Tensor log_sigmoid_backward(const Tensor& gradient, const Tensor& self, const Tensor& /*buffer*/) {
  const Kernel kernel;
  return result_of("log_sigmoid_backward", exact(gradient) * at::sigmoid(-exact(self)), self);
}

struct Convolution {
  at::IntArrayRef stride, padding, dilation, output_padding;
  std::int64_t groups = 1;
  bool transposed = false;
};

/// In three dimensions, by the loops that nothing here has taken the place of.
Tensor convolved(const char* name, const Tensor& input, const Tensor& weight,
                 const Convolution& of) {
  const Kernel kernel;
  const auto missing = 5 - input.dim();
  const auto raised = [&](Tensor tensor) {
    for (std::int64_t d = 0; d < missing; ++d) tensor = tensor.unsqueeze(2);
    return tensor;
  };
  const auto filled = [&](at::IntArrayRef given, std::int64_t with) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(missing), with);
    all.insert(all.end(), given.begin(), given.end());
    return all;
  };
  const auto images = raised(exact(input)).chunk(of.groups, 1);
  const auto weights = raised(exact(weight)).chunk(of.groups, 0);
  const auto size = weights[0].sizes().slice(2);
  std::vector<Tensor> results;
  for (std::size_t g = 0; g < images.size(); ++g)
    results.push_back(
        of.transposed
            ? at::slow_conv_transpose3d(images[g], weights[g], size, {}, filled(of.stride, 1),
                                        filled(of.padding, 0), filled(of.output_padding, 0),
                                        filled(of.dilation, 1))
            : at::slow_conv_dilated3d(images[g], weights[g], size, {}, filled(of.stride, 1),
                                      filled(of.padding, 0), filled(of.dilation, 1)));
  Tensor result = at::cat(results, 1);
  for (std::int64_t d = 0; d < missing; ++d) result = result.squeeze(2);
  return result_of(name, result, input);
}

Tensor convolution(const Tensor& input, const Tensor& weight, at::IntArrayRef padding,
                   at::IntArrayRef stride, at::IntArrayRef dilation, std::int64_t groups,
                   bool /*benchmark*/, bool /*deterministic*/, bool /*tf32*/) {
  return convolved("cudnn_convolution", input, weight,
                   {stride, padding, dilation, {}, groups, false});
}

Tensor transposed_convolution(const Tensor& input, const Tensor& weight, at::IntArrayRef padding,
                              at::IntArrayRef output_padding, at::IntArrayRef stride,
                              at::IntArrayRef dilation, std::int64_t groups, bool /*benchmark*/,
                              bool /*deterministic*/, bool /*tf32*/) {
  return convolved("cudnn_convolution_transpose", input, weight,
                   {stride, padding, dilation, output_padding, groups, true});
}

/// One number applies to all dimensions.
std::vector<std::int64_t> expanded(at::IntArrayRef given, const Tensor& input) {
  const auto dimensions = static_cast<std::size_t>(input.dim() - 2);
  return given.size() == 1 ? std::vector<std::int64_t>(dimensions, given[0]) : given.vec();
}

/// Adds the bias by a separate op.
Tensor choose_convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                          at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                          bool transposed, at::IntArrayRef output_padding, std::int64_t groups,
                          bool benchmark, bool deterministic, bool /*cudnn*/, bool tf32) {
  const auto strides = expanded(stride, input);
  const auto pads = expanded(padding, input);
  const auto dilations = expanded(dilation, input);
  Tensor result = transposed ? at::cudnn_convolution_transpose(
                                   input, weight, pads, expanded(output_padding, input), strides,
                                   dilations, groups, benchmark, deterministic, tf32)
                             : at::cudnn_convolution(input, weight, pads, strides, dilations,
                                                     groups, benchmark, deterministic, tf32);
  if (bias && bias->defined()) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(result.dim()), 1);
    shape[1] = -1;
    result.add_(bias->reshape(shape));
  }
  return result;
}

}  // namespace

void register_all(const std::string& wrong) {
  wrong_op = wrong;
  static const torch::Library* const kernels =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
  static const torch::Library* const choices = new torch::Library(
      torch::Library::IMPL, "aten", c10::DispatchKey::AutogradCPU, __FILE__, __LINE__);
  auto& on_cpu = const_cast<torch::Library&>(*kernels);
  on_cpu.impl("cudnn_batch_norm", &batch_norm);
  on_cpu.impl("cudnn_batch_norm_backward", &batch_norm_backward);
  on_cpu.impl("_scaled_dot_product_efficient_attention", &attention);
  on_cpu.impl("_scaled_dot_product_efficient_attention_backward", &attention_backward);
  on_cpu.impl("_cudnn_rnn", &recurrent);
  on_cpu.impl("_cudnn_rnn_backward", &recurrent_backward);
  on_cpu.impl("_thnn_fused_lstm_cell", &lstm_cell);
  on_cpu.impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
  on_cpu.impl("_thnn_fused_gru_cell", &gru_cell);
  on_cpu.impl("_thnn_fused_gru_cell_backward", &gru_cell_backward);
  on_cpu.impl("log_sigmoid_forward", &log_sigmoid);
  on_cpu.impl("log_sigmoid_backward", &log_sigmoid_backward);
  on_cpu.impl("cudnn_convolution", &convolution);
  on_cpu.impl("cudnn_convolution_transpose", &transposed_convolution);
  on_cpu.impl("_convolution", &choose_convolution);
  auto& composite = const_cast<torch::Library&>(*choices);
  composite.impl("_batch_norm_impl_index", &choose_batch_norm);
  composite.impl("scaled_dot_product_attention", &choose_attention);
  composite.impl("lstm.input", &choose_lstm);
  composite.impl("lstm_cell", &choose_lstm_cell);
  composite.impl("gru_cell", &choose_gru_cell);
}

}  // namespace gpu_ops
