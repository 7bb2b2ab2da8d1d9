#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "compare/measure/budget/models.hpp"

namespace ulpscope::comparison::budget {
namespace {

constexpr double kArithmetic = 4;  ///< a few operations, each rounded or fused with its neighbor
constexpr double kFunction = 8;    ///< of any vector or GPU library for functions such as exp

/// The gradient that a backward function is given.
[[nodiscard]] double largest_gradient(const OpView& op) {
  return std::max({op.largest("grad_output"), op.largest("grad"), op.largest("out_grad")});
}

[[nodiscard]] std::string_view image_of(const OpView& op) {
  return op.has_tensor("input") ? "input" : "self";
}

/// The largest dimension after samples and channels.
[[nodiscard]] double longest_row(const std::vector<std::int64_t>& shape) {
  double longest = 1;
  for (std::size_t d = 2; d < shape.size(); ++d)
    longest = std::max(longest, static_cast<double>(shape[d]));
  return longest;
}

/// A CPU rounds numbers beside tensors of 16 bits to those, a GPU to float32.
constexpr const char* kNumberBeside = "a number that is rounded to 16 bits first, or not";
[[nodiscard]] double number_beside(const OpView& op) {
  const Dtype dtype = op.result_dtype();
  return dtype == Dtype::bfloat16 || dtype == Dtype::float16 ? op.largest_number() : 0;
}

}  // namespace

Allowance exact(const OpView&, std::size_t) {
  return {0, 0, 0, "nothing is rounded, or once, as IEEE 754 has it"};
}

/// Of complex numbers each part of a result is a sum of products.
Allowance exact_unless_complex(const OpView& op, std::size_t result) {
  if (number_beside(op) != 0) return {1, 0, 0, kNumberBeside, 1, 0};
  if (!op.reads_complex()) return exact(op, result);
  return {kArithmetic, kArithmetic, op.largest_result(), "arithmetic of complex numbers"};
}

/// a + alpha * b may be fused.
Allowance exact_unless_scaled(const OpView& op, std::size_t result) {
  const double alpha = op.number("alpha", 1);
  if (alpha == 1 || alpha == -1) {
    const double number = number_beside(op);
    return number == 0 ? exact(op, result) : Allowance{1, 1, number, kNumberBeside, 0, number};
  }
  const double scaled = std::abs(alpha) * op.largest("other");
  return kept_sums({2, 2, std::max(op.largest("self"), scaled), "a scaled sum, fused or not"}, 1);
}

/// MKL's vector functions return the next number at times.
Allowance square_root(const OpView& op, std::size_t result) {
  if (op.reads_complex()) return exact_unless_complex(op, result);
  return {2, 0, 0, "a square root, or its neighbour"};
}

Allowance quotient(const OpView&, std::size_t) {
  return {2, 0, 0, "a quotient, or a product with the reciprocal"};
}

Allowance function(const OpView& op, std::size_t) {
  return {kFunction, 0, 0, fmt::format("{} of each element", op.name())};
}

/// x times a gate that vanishes for negative x: the gate's error has the size of 1.
Allowance gated_function(const OpView& op, std::size_t) {
  return {kFunction, kArithmetic, op.largest("self"), fmt::format("{} of each element", op.name())};
}

/// Series whose terms have the size of 1 and more where the function has its zeros.
Allowance gamma_function(const OpView& op, std::size_t) {
  return {4 * kFunction, kFunction, std::max(op.largest("self"), 1.0),
          fmt::format("{} of each element", op.name())};
}

/// The odds that it takes the logarithm of may be rounded to 16 bits first.
Allowance log_odds(const OpView& op, std::size_t result) {
  Allowance allowance = gated_function(op, result);
  allowance.kept_size = 1;
  return allowance;
}

/// A few products, each of which may be rounded to 16 bits.
Allowance function_backward(const OpView& op, std::size_t) {
  return {kFunction, kArithmetic, largest_gradient(op),
          fmt::format("{} of each element", op.name()), 1};
}

/// The gradient times one minus a square, which may be rounded to 16 bits before it is subtracted.
Allowance difference_from_one(const OpView& op, std::size_t result) {
  Allowance allowance = function_backward(op, result);
  allowance.kept_size = allowance.scale;
  return allowance;
}

/// One half of the input multiplies the gradient of the other half's gate.
Allowance halves_backward(const OpView& op, std::size_t result) {
  Allowance allowance = function_backward(op, result);
  allowance.scale *= std::max(op.largest("self"), 1.0);
  allowance.kept_size = allowance.scale / 2;
  return allowance;
}

Allowance difference_of_products(const OpView& op, std::size_t) {
  return kept_sums({kArithmetic, kArithmetic, op.largest(image_of(op)) * op.largest("other"),
                    "differences of products, fused or not"},
                   1);
}

Allowance fused_arithmetic(const OpView& op, std::size_t) {
  return kept_sums(
      {kArithmetic, kArithmetic,
       std::max({op.largest("self"), op.largest("end"), op.largest("vec1") * op.largest("vec2")}),
       "arithmetic of each element, fused or not"},
      1);
}

/// A weighted sum of neighbors; for gradients, of as many as points came from one. The weights
/// follow from a position, which is rounded as a number of the size of a row.
Allowance interpolation(const OpView& op, std::size_t) {
  const double gradient = largest_gradient(op);
  const double terms = gradient > 0 ? 4 * op.elements("grad_output") / op.result_elements() : 1;
  const std::string_view image = image_of(op);
  const double extent =
      std::max(longest_row(op.shape(image)), longest_row(op.shape("grad_output")));
  return kept_sums({kArithmetic, (kArithmetic + extent) * (1 + std::sqrt(terms)),
                    std::max(op.largest(image), gradient), "interpolated between neighbours"},
                   terms);
}

/// As above, at points that are computed: one that moves by its own rounding moves between the
/// numbers around it, by as many units as there are positions in a row. Gradients of several points
/// may be summed. The points' own gradient has no budget: it jumps at points on a pixel, as all
/// points of an identity are.
Allowance sampling(const OpView& op, std::size_t result) {
  if (result != 0) return {};
  const std::string_view image = image_of(op);
  const double extent = longest_row(op.shape(image));
  const double gradient = largest_gradient(op);
  const double points = gradient > 0 ? op.elements("grad_output") / op.result_elements() : 0;
  const double positions = extent * (1 + std::sqrt(points));
  const double scale = gradient > 0 ? gradient : op.largest(image);
  return {kArithmetic, kArithmetic * positions, scale, "interpolated at computed points",
          0.5,         2 * positions * scale};
}

/// From either end.
Allowance evenly_spaced(const OpView& op, std::size_t) {
  return {kArithmetic, kArithmetic, op.largest_result(), "numbers between two bounds"};
}

/// A number near 0 may be the difference of bounds that are not.
Allowance random_numbers(const OpView& op, std::size_t) {
  double scale = op.largest_result();
  for (const std::string_view bound : {"from", "to", "mean", "std"})
    scale = std::max(scale, std::abs(op.number(bound, 0)));
  return {kFunction, kFunction, scale, "functions of equal random bits"};
}

}  // namespace ulpscope::comparison::budget
