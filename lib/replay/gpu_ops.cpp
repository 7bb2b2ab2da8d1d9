#include "replay/gpu_ops.hpp"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/List.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "replay/refuse.hpp"
namespace ulpscope::replay {
namespace {

using at::Tensor;
using torch::jit::Stack;
using Tensors = std::vector<Tensor>;

Tensor tensor(const c10::IValue& value) { return value.isNone() ? Tensor() : value.toTensor(); }

std::optional<Tensor> optional(const c10::IValue& value) {
  const Tensor given = tensor(value);
  return given.defined() ? std::optional(given) : std::nullopt;
}

std::optional<double> optional_number(const c10::IValue& value) {
  return value.isNone() ? std::nullopt : std::optional(value.toDouble());
}

Tensor leaf(const Tensor& value) {
  return value.defined() ? value.detach().clone().requires_grad_() : value;
}

/// Gradients with respect to leaves, given those with respect to results; undefined if none reaches
/// a leaf.
Tensors gradients(const Tensors& results, const Tensors& given, const Tensors& leaves) {
  Tensors roots;
  Tensors of_roots;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!given[i].defined() || !results[i].requires_grad()) continue;
    roots.push_back(results[i]);
    of_roots.push_back(given[i]);
  }
  Tensors wanted;
  for (const Tensor& one : leaves)
    if (one.defined()) wanted.push_back(one);
  const Tensors found = torch::autograd::grad(roots, wanted, of_roots, false, false, true);
  Tensors all;
  std::size_t next = 0;
  for (const Tensor& one : leaves) all.push_back(one.defined() ? found[next++] : Tensor());
  return all;
}

void put(Stack& stack, const Tensors& results) {
  stack.clear();
  for (const Tensor& result : results) stack.emplace_back(result);
}

/// cudnn_batch_norm_backward(input, grad_output, weight, running_mean, running_var, save_mean,
/// save_var, epsilon, reserve): what cuDNN saves are the mean and the inverse deviation.
void batch_norm_backward(Stack& stack) {
  const auto [of_input, of_weight, of_bias] = at::native_batch_norm_backward(
      tensor(stack[1]), tensor(stack[0]), optional(stack[2]), optional(stack[3]),
      optional(stack[4]), optional(stack[5]), optional(stack[6]), /*train=*/true,
      stack[7].toDouble(), {true, true, true});
  put(stack, {of_input, of_weight, of_bias});
}

/// How a backward of attention was called.
struct AttentionCall {
  Tensor gradient, query, key, value, bias;
  double dropout = 0;
  bool causal = false;
  std::optional<double> scale;
};

void attention_backward(Stack& stack, const AttentionCall& call) {
  if (call.dropout != 0) refuse("it draws random numbers");
  const at::AutoGradMode with_gradients(true);
  const Tensors leaves{leaf(call.query), leaf(call.key), leaf(call.value), leaf(call.bias)};
  const std::optional<Tensor> bias = leaves[3].defined() ? std::optional(leaves[3]) : std::nullopt;
  const Tensor result = std::get<0>(at::_scaled_dot_product_attention_math(
      leaves[0], leaves[1], leaves[2], bias, 0.0, call.causal, std::nullopt, call.scale));
  put(stack, gradients({result}, {call.gradient}, leaves));
}

/// (grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
/// is_causal, philox_seed, philox_offset, scale)
void flash_attention_backward(Stack& stack) {
  attention_backward(
      stack, {tensor(stack[0]), tensor(stack[1]), tensor(stack[2]), tensor(stack[3]), Tensor(),
              stack[10].toDouble(), stack[11].toBool(), optional_number(stack[14])});
}

/// (grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
/// grad_input_mask, is_causal, scale)
void efficient_attention_backward(Stack& stack) {
  attention_backward(stack, {tensor(stack[0]), tensor(stack[1]), tensor(stack[2]), tensor(stack[3]),
                             tensor(stack[4]), stack[9].toDouble(), stack[11].toBool(),
                             optional_number(stack[12])});
}

/// (grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q,
/// cum_seq_k, max_q, max_k, dropout_p, is_causal, scale)
void cudnn_attention_backward(Stack& stack) {
  attention_backward(stack, {tensor(stack[0]), tensor(stack[1]), tensor(stack[2]), tensor(stack[3]),
                             tensor(stack[8]), stack[13].toDouble(), stack[14].toBool(),
                             optional_number(stack[15])});
}

/// How a recurrent net is run; cuDNN and oneDNN number its kinds alike.
struct Recurrent {
  std::int64_t mode = 2;  ///< 0: RNN with ReLU, 1: with tanh, 2: LSTM, 3: GRU
  bool biases = true;
  std::int64_t layers = 1;
  bool both_ways = false;
  bool batch_first = false;
};

/// The output and the last states.
Tensors run(const Recurrent& net, const Tensor& input, const Tensor& hx, const Tensor& cx,
            const Tensors& weights) {
  constexpr double kNoDropout = 0;
  const auto both = [](std::tuple<Tensor, Tensor> pair) {
    return Tensors{std::get<0>(pair), std::get<1>(pair)};
  };
  switch (net.mode) {
    case 0:
      return both(at::rnn_relu(input, hx, weights, net.biases, net.layers, kNoDropout, true,
                               net.both_ways, net.batch_first));
    case 1:
      return both(at::rnn_tanh(input, hx, weights, net.biases, net.layers, kNoDropout, true,
                               net.both_ways, net.batch_first));
    case 2: {
      auto [output, h, c] = at::lstm(input, {hx, cx}, weights, net.biases, net.layers, kNoDropout,
                                     true, net.both_ways, net.batch_first);
      return {output, h, c};
    }
    case 3:
      return both(at::gru(input, hx, weights, net.biases, net.layers, kNoDropout, true,
                          net.both_ways, net.batch_first));
    default:
      refuse("a recurrent net of an unknown kind");
  }
}

/// Gradients of input, hx, cx and each weight.
Tensors run_backward(const Recurrent& net, const Tensor& input, const Tensor& hx, const Tensor& cx,
                     const Tensors& weights, const Tensors& given) {
  const at::AutoGradMode with_gradients(true);
  Tensors leaves{leaf(input), leaf(hx), leaf(cx)};
  for (const Tensor& weight : weights) leaves.push_back(leaf(weight));
  const Tensors results =
      run(net, leaves[0], leaves[1], leaves[2], Tensors(leaves.begin() + 3, leaves.end()));
  Tensors found =
      gradients(results, {given[0], given[1], results.size() > 2 ? given[2] : Tensor()}, leaves);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (leaves[i].defined() && !found[i].defined()) found[i] = at::zeros_like(leaves[i]);
  return found;
}

/// (input, weight, weight_stride0, weight_buf, hx, cx, output, grad_output, grad_hy, grad_cy, mode,
/// hidden_size, proj_size, num_layers, batch_first, dropout, train, bidirectional, batch_sizes,
/// dropout_state, reserve, output_mask)
void cudnn_rnn_backward(Stack& stack) {
  if (stack[15].toDouble() != 0) refuse("it draws random numbers");
  if (!stack[18].toIntVector().empty()) refuse("its sequences are packed");
  if (stack[12].toInt() != 0) refuse("its states are projected");
  Recurrent net;
  net.mode = stack[10].toInt();
  net.layers = stack[13].toInt();
  net.batch_first = stack[14].toBool();
  net.both_ways = stack[17].toBool();
  net.biases = stack[2].toInt() == 4;
  const Tensors found = run_backward(net, tensor(stack[0]), tensor(stack[4]), tensor(stack[5]),
                                     stack[1].toTensorVector(),
                                     {tensor(stack[7]), tensor(stack[8]), tensor(stack[9])});
  put(stack, Tensors(found.begin(), found.begin() + 3));
  stack.emplace_back(c10::List<Tensor>(Tensors(found.begin() + 3, found.end())));
}

/// (input, weight1, weight2, weight3, weight4, hx_, cx_tmp, output, hy_, cy_, grad_output, grad_hy,
/// grad_cy, reverse, mode, hidden_size, num_layers, has_biases, train, bidirectional, batch_sizes,
/// batch_first, workspace): one layer in one direction, the sequence first.
void onednn_rnn_backward(Stack& stack) {
  if (!stack[20].toIntVector().empty()) refuse("its sequences are packed");
  if (!stack[17].toBool()) refuse("it has no biases");
  const bool reverse = stack[13].toBool();
  const auto turned = [reverse](const Tensor& sequence) {
    return reverse && sequence.defined() ? at::flip(sequence, {0}) : sequence;
  };
  Recurrent net;
  net.mode = stack[14].toInt();
  const auto state = [](const Tensor& given) {
    return given.dim() == 2 ? given.unsqueeze(0) : given;
  };
  const Tensor hx = tensor(stack[5]);
  const Tensors given{turned(tensor(stack[10])), state(tensor(stack[11])),
                      state(tensor(stack[12]))};
  Tensors found =
      run_backward(net, turned(tensor(stack[0])), state(hx), state(tensor(stack[6])),
                   {tensor(stack[1]), tensor(stack[2]), tensor(stack[3]), tensor(stack[4])}, given);
  put(stack, {turned(found[0]), found[3], found[4], found[5], found[6], found[1].reshape_as(hx),
              found[2].reshape_as(hx)});
}

/// What a cell keeps, side by side.
std::vector<Tensor> parts_of(const Tensor& workspace, std::int64_t count) {
  if (workspace.dim() != 2 || workspace.size(1) == 0 || workspace.size(1) % count != 0)
    refuse("what a cell has kept is no row of gates");
  return workspace.chunk(count, 1);
}

/// (grad_hy, grad_cy, cx, cy, workspace, has_bias): the workspace holds the four gates after their
/// functions (ATen/native/cuda/RNN.cu upstream).
void lstm_cell_backward(Stack& stack) {
  const Tensor cx = tensor(stack[2]);
  const Tensor squashed = at::tanh(tensor(stack[3]));
  const std::vector<Tensor> gates = parts_of(tensor(stack[4]), 4);
  const Tensor &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  const Tensor of_h = optional(stack[0]).value_or(at::zeros_like(squashed));
  const Tensor of_c =
      optional(stack[1]).value_or(at::zeros_like(squashed)) + of_h * o * (1 - squashed * squashed);
  const Tensor of_gates = at::cat({of_c * g * i * (1 - i), of_c * cx * f * (1 - f),
                                   of_c * i * (1 - g * g), of_h * squashed * o * (1 - o)},
                                  1);
  const Tensor of_bias = stack[5].toBool() ? of_gates.sum(0) : Tensor();
  put(stack, {of_gates, of_gates, of_c * f, of_bias, of_bias});
}

/// (grad_hy, workspace, has_bias): the workspace holds the gates after their functions, the state
/// before, and what the state adds to the new one.
void gru_cell_backward(Stack& stack) {
  const Tensor gradient = tensor(stack[0]);
  const std::vector<Tensor> kept = parts_of(tensor(stack[1]), 5);
  const Tensor &r = kept[0], &z = kept[1], &n = kept[2], &h = kept[3], &added = kept[4];
  const Tensor of_n = gradient * (1 - z) * (1 - n * n);
  const Tensor of_z = gradient * (h - n) * z * (1 - z);
  const Tensor of_r = of_n * added * r * (1 - r);
  const Tensor of_input = at::cat({of_r, of_z, of_n}, 1);
  const Tensor of_hidden = at::cat({of_r, of_z, of_n * r}, 1);
  const bool biases = stack[2].toBool();
  put(stack, {of_input, of_hidden, gradient * z, biases ? of_input.sum(0) : Tensor(),
              biases ? of_hidden.sum(0) : Tensor()});
}

/// (grad_output, self, buffer): a GPU's forward keeps nothing in the buffer.
void log_sigmoid_backward(Stack& stack) {
  put(stack, {tensor(stack[0]) * at::sigmoid(-tensor(stack[1]))});
}

struct Entry {
  std::string_view op;
  StandIn stand_in;
};

constexpr std::array kStandIns{
    Entry{"aten::cudnn_batch_norm_backward", &batch_norm_backward},
    Entry{"aten::_scaled_dot_product_flash_attention_backward", &flash_attention_backward},
    Entry{"aten::_scaled_dot_product_efficient_attention_backward", &efficient_attention_backward},
    Entry{"aten::_scaled_dot_product_cudnn_attention_backward", &cudnn_attention_backward},
    Entry{"aten::_cudnn_rnn_backward", &cudnn_rnn_backward},
    Entry{"aten::mkldnn_rnn_layer_backward", &onednn_rnn_backward},
    Entry{"aten::_thnn_fused_lstm_cell_backward", &lstm_cell_backward},
    Entry{"aten::_thnn_fused_gru_cell_backward", &gru_cell_backward},
    Entry{"aten::log_sigmoid_backward", &log_sigmoid_backward}};

}  // namespace

StandIn stand_in(std::string_view op) {
  for (const Entry& entry : kStandIns)
    if (entry.op == op) return entry.stand_in;
  return nullptr;
}

}  // namespace ulpscope::replay
