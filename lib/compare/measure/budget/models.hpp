#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compare/measure/budget/allowance.hpp"
#include "compare/measure/budget/op_view.hpp"

/// How large a rounding error may be, op by op (BUDGET.md has the derivation of each).
namespace ulpscope::comparison::budget {

/// `result` is the index among the op's returns, or among its arguments for one that it wrote.
using Model = Allowance (*)(const OpView& op, std::size_t result);

/// Null if there is none.
[[nodiscard]] Model model_of(const facts::Op& op);

/// What the model says of a result, on the device that computed it.
[[nodiscard]] Allowance allowance_of(Model model, const OpView& op, std::size_t result);

/// True for an argument of a sum of products that is one of the factors, not the addend.
[[nodiscard]] bool is_factor(const facts::Op& op, std::string_view argument);

/// ULP by which adding `terms` numbers in any order, in both runs, can change a sum whose terms
/// have the size `scale`.
[[nodiscard]] double ulp_of_sum(double terms);

/// Where partial sums or factors of 16 bits are rounded to their dtype before they are summed: so
/// many of them, each as large as `scale`.
[[nodiscard]] Allowance kept_sums(Allowance allowance, double sums);

/// All dimensions of an argument except those given; negative ones count from the end.
[[nodiscard]] std::vector<std::size_t> all_but(const std::vector<std::int64_t>& dimensions,
                                               std::size_t rank);

/// "sum of 4608 float32 products".
[[nodiscard]] std::string sum_words(const OpView& op, double terms, std::string_view what);

// sums of products
[[nodiscard]] Allowance matrix_product(const OpView& op, std::size_t result);
[[nodiscard]] Allowance convolution(const OpView& op, std::size_t result);
[[nodiscard]] Allowance convolution_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance trilinear(const OpView& op, std::size_t result);

// sums
[[nodiscard]] Allowance sum(const OpView& op, std::size_t result);
[[nodiscard]] Allowance mean(const OpView& op, std::size_t result);
[[nodiscard]] Allowance cumulative_sum(const OpView& op, std::size_t result);
[[nodiscard]] Allowance margin_loss(const OpView& op, std::size_t result);
[[nodiscard]] Allowance positive_sum(const OpView& op, std::size_t result);
[[nodiscard]] Allowance nll_loss(const OpView& op, std::size_t result);
[[nodiscard]] Allowance pooling(const OpView& op, std::size_t result);
[[nodiscard]] Allowance pooling_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance accumulated_rows(const OpView& op, std::size_t result);
[[nodiscard]] Allowance bag_of_rows(const OpView& op, std::size_t result);
[[nodiscard]] Allowance fourier(const OpView& op, std::size_t result);
[[nodiscard]] Allowance gathered_rows(const OpView& op, std::size_t result);
[[nodiscard]] Allowance padding_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance product(const OpView& op, std::size_t result);

// normalizations and softmax
[[nodiscard]] Allowance layer_norm(const OpView& op, std::size_t result);
[[nodiscard]] Allowance layer_norm_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance batch_norm(const OpView& op, std::size_t result);
[[nodiscard]] Allowance batch_norm_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance group_norm(const OpView& op, std::size_t result);
[[nodiscard]] Allowance group_norm_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance rms_norm(const OpView& op, std::size_t result);
[[nodiscard]] Allowance rms_norm_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance weight_norm(const OpView& op, std::size_t result);
[[nodiscard]] Allowance weight_norm_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance softmax(const OpView& op, std::size_t result);
[[nodiscard]] Allowance log_softmax(const OpView& op, std::size_t result);
[[nodiscard]] Allowance softmax_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance log_softmax_backward(const OpView& op, std::size_t result);

// sums of exponentials, as their logarithms
[[nodiscard]] Allowance log_sum(const OpView& op, std::size_t result);
[[nodiscard]] Allowance ctc_loss(const OpView& op, std::size_t result);
[[nodiscard]] Allowance ctc_loss_backward(const OpView& op, std::size_t result);

// recurrent nets
[[nodiscard]] Allowance recurrent(const OpView& op, std::size_t result);
[[nodiscard]] Allowance recurrent_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance cell_backward(const OpView& op, std::size_t result);

// attention
[[nodiscard]] Allowance attention(const OpView& op, std::size_t result);
[[nodiscard]] Allowance attention_backward(const OpView& op, std::size_t result);

// element by element
[[nodiscard]] Allowance exact(const OpView& op, std::size_t result);
[[nodiscard]] Allowance exact_unless_complex(const OpView& op, std::size_t result);
[[nodiscard]] Allowance square_root(const OpView& op, std::size_t result);
[[nodiscard]] Allowance exact_unless_scaled(const OpView& op, std::size_t result);
[[nodiscard]] Allowance quotient(const OpView& op, std::size_t result);
[[nodiscard]] Allowance function(const OpView& op, std::size_t result);
[[nodiscard]] Allowance gated_function(const OpView& op, std::size_t result);
[[nodiscard]] Allowance gamma_function(const OpView& op, std::size_t result);
[[nodiscard]] Allowance log_odds(const OpView& op, std::size_t result);
[[nodiscard]] Allowance function_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance difference_from_one(const OpView& op, std::size_t result);
[[nodiscard]] Allowance halves_backward(const OpView& op, std::size_t result);
[[nodiscard]] Allowance difference_of_products(const OpView& op, std::size_t result);
[[nodiscard]] Allowance fused_arithmetic(const OpView& op, std::size_t result);
[[nodiscard]] Allowance interpolation(const OpView& op, std::size_t result);
[[nodiscard]] Allowance evenly_spaced(const OpView& op, std::size_t result);
[[nodiscard]] Allowance sampling(const OpView& op, std::size_t result);
[[nodiscard]] Allowance random_numbers(const OpView& op, std::size_t result);

}  // namespace ulpscope::comparison::budget
