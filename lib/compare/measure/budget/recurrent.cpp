#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "compare/measure/budget/models.hpp"

namespace ulpscope::comparison::budget {
namespace {

/// The weights of all gates and layers, whatever the op calls them.
constexpr auto kWeights = std::to_array<std::string_view>(
    {"params", "weight", "w_ih", "w_hh", "weight0", "weight1", "weight2", "weight3", "weight4"});

struct CellSizes {
  double steps = 1;     ///< of the sequence, a cell has one
  double products = 1;  ///< that a gate adds up
  double sum = 0;       ///< the size of a gate's input
  double gate = 0;      ///< ULP of 1 that it can move
};

[[nodiscard]] CellSizes cell_sizes(const OpView& op) {
  CellSizes sizes;
  const auto& input = op.shape(op.has_tensor("data") ? "data" : "input");
  const auto& hidden = op.shape(op.has_tensor("hx_") ? "hx_" : "hx");
  if (input.empty() || hidden.empty()) return sizes;
  // oneDNN's backward takes the forward's call arguments, with the sequence first.
  const bool batch_first = op.is_true("batch_first") && op.name() != "mkldnn_rnn_layer_backward";
  if (input.size() == 3)
    sizes.steps = static_cast<double>(input[batch_first ? 1 : 0]);
  else if (op.has_tensor("batch_sizes"))
    sizes.steps = op.elements("batch_sizes");
  sizes.products = static_cast<double>(input.back() + hidden.back());
  double largest_weight = 0;
  for (const std::string_view weights : kWeights)
    largest_weight = std::max(largest_weight, op.largest(weights));
  const double largest_input =
      std::max({1.0, op.largest("input"), op.largest("data"), op.largest("hx"), op.largest("hx_")});
  sizes.sum = largest_weight * largest_input * std::sqrt(sizes.products);
  sizes.gate = ulp_of_sum(sizes.products) * sizes.sum + 8;
  return sizes;
}

/// Each step adds its own error and passes on the previous one, multiplied by a gate.
[[nodiscard]] double ulp_of_steps(const CellSizes& sizes) {
  return ulp_of_sum(sizes.steps) * sizes.gate;
}

[[nodiscard]] std::string cell_words(const OpView& op, const CellSizes& sizes) {
  return fmt::format("{:.0f} recurrent steps of {:.0f} {} products", sizes.steps, sizes.products,
                     op.dtype_name());
}

/// Gates of 16 bits may be kept as such, and so may their products.
[[nodiscard]] Allowance with_gates_kept(Allowance allowance, const CellSizes& sizes) {
  allowance.kept_size = (1 + std::sqrt(sizes.steps)) / 2 * (1 + sizes.sum) * allowance.scale;
  return allowance;
}

}  // namespace

/// States are bounded by 1, but for those of a net without gates whose function is a ReLU.
Allowance recurrent(const OpView& op, std::size_t) {
  const CellSizes sizes = cell_sizes(op);
  return with_gates_kept(
      {4, ulp_of_steps(sizes), std::max(1.0, op.largest_result()), cell_words(op, sizes)}, sizes);
}

Allowance recurrent_backward(const OpView& op, std::size_t) {
  const CellSizes sizes = cell_sizes(op);
  const auto& input = op.shape("input");
  const double rows = op.elements("input") / static_cast<double>(input.empty() ? 1 : input.back());
  return with_gates_kept(
      {4, ulp_of_steps(sizes) + ulp_of_sum(rows), op.largest_result(), cell_words(op, sizes)},
      sizes);
}

/// What gates keep aside is multiplied, element by element; biases get the sum over the batch.
Allowance cell_backward(const OpView& op, std::size_t) {
  const auto& states = op.shape("workspace");
  const double rows = states.empty() ? 1 : static_cast<double>(states.front());
  const double gradient = op.largest("grad_hy") + op.largest("grad_cy");
  const double state = std::max({1.0, op.largest("cx"), op.largest("workspace")});
  return kept_sums({8, 8 + ulp_of_sum(rows), gradient * state * std::sqrt(rows),
                    fmt::format("gradients of a cell, of {:.0f} {} rows", rows, op.dtype_name())},
                   1);
}

}  // namespace ulpscope::comparison::budget
