#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compare/measure/budget/models.hpp"

namespace ulpscope::comparison::budget {
namespace {

constexpr double kLayerNormEps = 1e-5;

/// What a normalization works on: its input, the dimensions that distinguish slices, and how many
/// numbers a slice has. With groups, dimension 1 counts as two.
struct Slices {
  std::string_view input;
  std::vector<std::size_t> kept;
  double size = 1;
  std::int64_t groups = 0;
};

[[nodiscard]] double slice_size(const OpView& op, const Slices& slices) {
  double count = 1;
  for (const std::size_t d : slices.kept)
    count *= static_cast<double>(op.shape(slices.input).at(d));
  return op.elements(slices.input) / std::max(count, 1.0);
}

[[nodiscard]] Slices layers(const OpView& op) {
  Slices slices{"input", {}};
  const std::size_t rank = op.shape(slices.input).size();
  const std::size_t normalised = op.list("normalized_shape").size();
  for (std::size_t d = 0; d + normalised < rank; ++d) slices.kept.push_back(d);
  slices.size = slice_size(op, slices);
  return slices;
}

/// Those that weights have, too.
[[nodiscard]] std::vector<std::size_t> normalised_dimensions(const OpView& op,
                                                             const Slices& layers) {
  std::vector<std::size_t> dimensions;
  for (std::size_t d = layers.kept.size(); d < op.shape(layers.input).size(); ++d)
    dimensions.push_back(d);
  return dimensions;
}

[[nodiscard]] Slices channels(const OpView& op) {
  Slices slices{op.has_tensor("input") ? "input" : "self", {}};
  if (op.shape(slices.input).size() > 1) slices.kept = {1};
  slices.size = slice_size(op, slices);
  return slices;
}

[[nodiscard]] Slices groups(const OpView& op) {
  Slices slices{"input", {0, 1}, 1, 0};
  const std::string_view count = op.text("num_groups") ? "num_groups" : "group";
  slices.groups = std::max<std::int64_t>(op.integer(count, 1), 1);
  const auto& shape = op.shape(slices.input);
  const double samples =
      shape.empty() ? 1 : static_cast<double>(std::max<std::int64_t>(shape[0], 1));
  slices.size = op.elements(slices.input) / samples / static_cast<double>(slices.groups);
  return slices;
}

[[nodiscard]] double largest_weight(const OpView& op) {
  return op.has_tensor("weight") ? op.largest("weight") : 1;
}

/// ULP of 1 / sqrt(variance), which is half as sensitive as the variance, and of what follows.
[[nodiscard]] double ulp_of_statistics(double size) { return 4 + std::sqrt(size) / 2; }

[[nodiscard]] std::string slice_words(const OpView& op, double size) {
  return fmt::format("normalized over {:.0f} {} numbers", size, op.dtype_name());
}

/// (x - mean) * rstd * weight + bias: what cancels has the size of x * rstd * weight.
[[nodiscard]] Allowance normalised_result(const OpView& op, const Slices& slices, double eps) {
  const double ulp = ulp_of_statistics(slices.size);
  const double rms = op.normalised(slices.input, slices.kept, eps, slices.groups).rms;
  return {ulp, ulp, rms * largest_weight(op) + op.largest("bias"), slice_words(op, slices.size)};
}

[[nodiscard]] Allowance mean_of(const OpView& op, const Slices& slices) {
  const double ulp = ulp_of_sum(slices.size);
  return {ulp, ulp, op.size_of_sum(slices.input, slices.kept, slices.groups) / slices.size,
          sum_words(op, slices.size, "numbers")};
}

/// rstd * (g - mean(g) - x^ * mean(g * x^)) with g = gradient * weight.
[[nodiscard]] Allowance gradient_of_input(const OpView& op, std::string_view gradient,
                                          const Slices& slices, double eps) {
  const Normalised known = op.normalised(slices.input, slices.kept, eps, slices.groups);
  const double ulp = 2 + ulp_of_sum(slices.size);
  const double g = op.largest(gradient) * largest_weight(op);
  return {4, ulp, known.largest_rstd * g * (1 + known.largest), slice_words(op, slices.size)};
}

/// Sums of the gradient, or of its products with x^.
[[nodiscard]] Allowance gradient_of_parameter(const OpView& op, std::string_view gradient,
                                              const std::vector<std::size_t>& kept,
                                              const Slices& slices, double eps, bool of_weight) {
  double terms = op.elements(gradient);
  for (const std::size_t d : kept) {
    if (d >= op.shape(gradient).size()) return {};
    terms /= std::max(static_cast<double>(op.shape(gradient)[d]), 1.0);
  }
  const double ulp = 2 + ulp_of_sum(terms);
  if (!of_weight)
    return {ulp, ulp, op.size_of_sum(gradient, kept), sum_words(op, terms, "numbers")};
  return {ulp, ulp,
          op.largest_norm(gradient, kept) *
              op.normalised(slices.input, slices.kept, eps, slices.groups).largest,
          sum_words(op, terms, "products")};
}

[[nodiscard]] double terms_along(const OpView& op, std::string_view argument) {
  const auto& shape = op.shape(argument);
  std::int64_t dimension = op.integer("dim", -1);
  if (dimension < 0) dimension += static_cast<std::int64_t>(shape.size());
  return dimension < 0 || static_cast<std::size_t>(dimension) >= shape.size()
             ? 1
             : static_cast<double>(shape[static_cast<std::size_t>(dimension)]);
}

[[nodiscard]] std::vector<std::size_t> all_but_dim(const OpView& op, std::string_view argument) {
  return all_but({op.integer("dim", -1)}, op.shape(argument).size());
}

[[nodiscard]] std::string_view softmax_input(const OpView& op) {
  return op.has_tensor("self") ? "self" : "input";
}

[[nodiscard]] std::string softmax_words(const OpView& op, double terms) {
  return fmt::format("softmax over {:.0f} {} numbers", terms, op.dtype_name());
}

}  // namespace

Allowance layer_norm(const OpView& op, std::size_t result) {
  const Slices slices = layers(op);
  const double eps = op.number("eps", kLayerNormEps);
  if (result == 1) return mean_of(op, slices);
  if (result == 2) return {ulp_of_statistics(slices.size), 0, 0, slice_words(op, slices.size)};
  return normalised_result(op, slices, eps);
}

Allowance layer_norm_backward(const OpView& op, std::size_t result) {
  const Slices slices = layers(op);
  constexpr std::string_view kGradient = "grad_out";
  if (result == 0) return gradient_of_input(op, kGradient, slices, kLayerNormEps);
  const std::vector<std::size_t> kept = normalised_dimensions(op, slices);
  // Each thread adds up its rows in a buffer of the dtype.
  return kept_sums(gradient_of_parameter(op, kGradient, kept, slices, kLayerNormEps, result == 1),
                   op.elements(kGradient) / std::max(slices.size, 1.0));
}

Allowance batch_norm(const OpView& op, std::size_t result) {
  const Slices slices = channels(op);
  const double eps = op.number("eps", op.number("epsilon", kLayerNormEps));
  const bool running = result == 3 || result == 4;  // arguments that it updates
  if (running) {
    const double ulp = 2 + ulp_of_sum(slices.size);
    const double scale = result == 3 ? mean_of(op, slices).scale + op.largest("running_mean") : 0;
    return {ulp, ulp, scale, slice_words(op, slices.size)};
  }
  if (result == 1) return mean_of(op, slices);
  if (result == 2) return {ulp_of_statistics(slices.size), 0, 0, slice_words(op, slices.size)};
  if (op.is_true("training") || op.is_true("train") || !op.has_tensor("running_var"))
    return kept_sums(normalised_result(op, slices, eps), 1);  // the mean, as it is saved
  const double shift = op.largest(slices.input) + op.largest("running_mean");
  const double variance = std::max(op.smallest("running_var"), 0.0) + eps;
  return {4, 4, shift * largest_weight(op) / std::sqrt(variance) + op.largest("bias"),
          "normalized by running statistics"};
}

Allowance batch_norm_backward(const OpView& op, std::size_t result) {
  const Slices slices = channels(op);
  const double eps = op.number("eps", op.number("epsilon", kLayerNormEps));
  const std::string_view gradient = op.has_tensor("grad_out") ? "grad_out" : "grad_output";
  if (result == 0) return kept_sums(gradient_of_input(op, gradient, slices, eps), 1);
  return gradient_of_parameter(op, gradient, slices.kept, slices, eps, result == 1);
}

Allowance group_norm(const OpView& op, std::size_t result) {
  const Slices slices = groups(op);
  if (result == 1) return mean_of(op, slices);
  if (result == 2) return {ulp_of_statistics(slices.size), 0, 0, slice_words(op, slices.size)};
  // The mean and the deviation, as they are saved.
  return kept_sums(normalised_result(op, slices, op.number("eps", kLayerNormEps)), 1);
}

Allowance group_norm_backward(const OpView& op, std::size_t result) {
  const Slices slices = groups(op);
  constexpr std::string_view kGradient = "grad_out";
  if (result == 0) return gradient_of_input(op, kGradient, slices, kLayerNormEps);
  return gradient_of_parameter(op, kGradient, {1}, slices, kLayerNormEps, result == 1);
}

/// x / sqrt(mean(x^2) + eps) * weight: nothing cancels.
Allowance rms_norm(const OpView& op, std::size_t) {
  const Slices slices = layers(op);
  return {ulp_of_statistics(slices.size), 0, 0, slice_words(op, slices.size)};
}

Allowance rms_norm_backward(const OpView& op, std::size_t result) {
  const Slices slices = layers(op);
  constexpr std::string_view kGradient = "grad_out";
  const double rstd = op.largest("rstd");
  const double normalised = op.largest(slices.input) * rstd;
  if (result == 0)
    return {4, 2 + ulp_of_sum(slices.size),
            rstd * op.largest(kGradient) * largest_weight(op) * (1 + normalised),
            slice_words(op, slices.size)};
  const double terms = op.elements(kGradient) / std::max(slices.size, 1.0);
  const std::vector<std::size_t> kept = normalised_dimensions(op, slices);
  const double ulp = 2 + ulp_of_sum(terms);
  return {ulp, ulp, op.largest_norm(kGradient, kept) * normalised,
          sum_words(op, terms, "products")};
}

/// v * (g / |v|), and the norms.
Allowance weight_norm(const OpView& op, std::size_t) {
  const double terms = op.elements("v") / std::max(op.elements("g"), 1.0);
  return {4 + ulp_of_sum(terms) / 2, 0, 0, slice_words(op, terms)};
}

/// For v: g / |v| * (w - v * sum(w * v) / |v|^2); for g: sum(w * v) / |v|.
Allowance weight_norm_backward(const OpView& op, std::size_t result) {
  const double terms = op.elements("saved_v") / std::max(op.elements("saved_g"), 1.0);
  const double ulp = 2 + ulp_of_sum(terms);
  const std::vector<std::size_t> row{static_cast<std::size_t>(op.integer("dim", 0))};
  const double gradient = op.largest_norm("grad_w", row);
  if (result != 0) return {4, ulp, gradient, slice_words(op, terms)};
  return {4, ulp, gradient * op.largest("saved_g") / op.smallest("saved_norms"),
          slice_words(op, terms)};
}

/// exp(x - max) / sum: the exponent's own rounding moves y by at most 0.4 ULP of the largest y.
Allowance softmax(const OpView& op, std::size_t) {
  const double terms = terms_along(op, softmax_input(op));
  return {4 + ulp_of_sum(terms), 1, op.largest_result(), softmax_words(op, terms)};
}

/// x - max - log(sum): a relative error of the sum is an absolute one of its logarithm.
Allowance log_softmax(const OpView& op, std::size_t) {
  const double terms = terms_along(op, softmax_input(op));
  return {4, 2 + ulp_of_sum(terms), 1 + op.largest(softmax_input(op)) / ulp_of_sum(terms),
          softmax_words(op, terms)};
}

/// y * (g - sum(g * y)), where the y add up to 1.
Allowance softmax_backward(const OpView& op, std::size_t) {
  const double terms = terms_along(op, "output");
  const double ulp = 2 + ulp_of_sum(terms);
  return kept_sums(
      {4, ulp, op.largest("output") * op.largest("grad_output"), softmax_words(op, terms)}, 1);
}

/// g - exp(y) * sum(g).
Allowance log_softmax_backward(const OpView& op, std::size_t) {
  const double terms = terms_along(op, "output");
  const double ulp = 4 + ulp_of_sum(terms);
  return {4, ulp, op.largest_norm("grad_output", all_but_dim(op, "output")),
          softmax_words(op, terms)};
}

}  // namespace ulpscope::comparison::budget
