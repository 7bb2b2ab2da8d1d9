#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "compare/measure/budget/models.hpp"

namespace ulpscope::comparison::budget {
namespace {

using Shape = std::vector<std::int64_t>;

[[nodiscard]] double product(const Shape& sizes, std::size_t from = 0) {
  double result = 1;
  for (std::size_t d = from; d < sizes.size(); ++d) result *= static_cast<double>(sizes[d]);
  return result;
}

/// The 2-norm of the terms a*b of one sum is at most max|a| * |b|_2, and at most |a|_2 * max|b|.
[[nodiscard]] double norm_of_products(double largest_a, double norm_a, double largest_b,
                                      double norm_b) {
  return std::min(largest_a * norm_b, norm_a * largest_b);
}

/// What is multiplied: two arguments, and which of their dimensions are not summed over.
struct Factors {
  std::string_view left, right;
  std::vector<std::size_t> left_kept, right_kept;
  std::string_view added = {};  ///< what the sum is added to
};

[[nodiscard]] std::vector<std::size_t> leading(std::size_t count) {
  std::vector<std::size_t> dimensions(count);
  std::iota(dimensions.begin(), dimensions.end(), std::size_t{0});
  return dimensions;
}

[[nodiscard]] Factors factors_of(const OpView& op) {
  if (op.has_tensor("mat2"))
    return op.shape("mat2").size() == 3 ? Factors{"self", "mat2", {0, 1}, {0, 2}}
           : op.has_tensor("mat1")      ? Factors{"mat1", "mat2", {0}, {1}, "self"}
                                        : Factors{"self", "mat2", {0}, {1}};
  if (op.name() == "addbmm") return {"batch1", "batch2", {1}, {2}, "self"};
  if (op.has_tensor("batch2")) return {"batch1", "batch2", {0, 1}, {0, 2}, "self"};
  if (op.has_tensor("mat")) return {"mat", "vec", {0}, {}, "self"};
  if (op.has_tensor("vec")) return {"self", "vec", {0}, {}};
  if (op.has_tensor("weight")) {
    const std::size_t rank = op.shape("input").size();
    return {"input", "weight", leading(rank == 0 ? 0 : rank - 1), {0}, "bias"};
  }
  const std::string_view right = op.has_tensor("other") ? "other" : "tensor";
  const std::size_t left_rank = op.shape("self").size();
  const std::size_t right_rank = op.shape(right).size();
  return {"self", right, leading(left_rank == 0 ? 0 : left_rank - 1),
          right_rank < 2 ? std::vector<std::size_t>{} : all_but({-2}, right_rank)};
}

/// The largest 2-norm of what one window of a convolution covers.
[[nodiscard]] double window_norm(const OpView& op, std::string_view image, double taps,
                                 double terms, bool grouped) {
  const double by_largest = op.largest(image) * std::sqrt(terms);
  if (grouped) return by_largest;
  const std::vector<std::size_t> positions = all_but({1}, op.shape(image).size());
  return std::min(by_largest, std::sqrt(taps) * op.largest_norm(image, positions));
}

[[nodiscard]] bool is_transposed(const OpView& op) {
  return op.is_true("transposed") || op.name().find("transpose") != std::string_view::npos;
}

[[nodiscard]] std::string_view convolved_image(const OpView& op) {
  return op.has_tensor("input") ? "input" : "self";
}

/// Where a kernel of several taps moves by one, libraries may compute by Winograd's or Fourier's
/// transform. Their errors are a small multiple of the direct sum's.
[[nodiscard]] Allowance maybe_by_transform(const OpView& op, Allowance allowance) {
  constexpr double kTransform = 8;
  const auto all_one = [](const Shape& list) {
    return std::all_of(list.begin(), list.end(), [](std::int64_t one) { return one == 1; });
  };
  const Shape& weight = op.shape("weight");
  if (product(weight, std::min<std::size_t>(2, weight.size())) == 1 ||
      !all_one(op.list("stride")) || !all_one(op.list("dilation")))
    return allowance;
  allowance.relative *= kTransform;
  allowance.absolute *= kTransform;
  allowance.why += ", or a transform";
  return allowance;
}

/// Image times weights, as the forward pass and the gradient of the image have it.
[[nodiscard]] Allowance windowed(const OpView& op, std::string_view image, bool by_output) {
  const Shape& weight = op.shape("weight");
  if (weight.size() < 2) return {};
  const double taps = product(weight, 2);
  const double groups = std::max(op.number("groups", 1), 1.0);
  const double channels =
      by_output ? static_cast<double>(weight[1]) : static_cast<double>(weight[0]) / groups;
  const double terms = taps * channels;
  const double ulp = ulp_of_sum(terms);
  const std::vector<std::size_t> kept{by_output ? std::size_t{0} : std::size_t{1}};
  const double scale = norm_of_products(
      op.largest(image), window_norm(op, image, taps, terms, groups > 1), op.largest("weight"),
      op.largest_norm("weight", groups > 1 && !by_output ? std::vector<std::size_t>{} : kept));
  return maybe_by_transform(op, {ulp, ulp, scale, sum_words(op, terms, "products")});
}

/// A bias may be added to a sum that is already rounded to 16 bits.
[[nodiscard]] Allowance added_late(Allowance allowance, double bias) {
  if (bias == 0) return allowance;
  allowance.kept_relative = 0.5;
  allowance.kept_size = bias / 2;
  return allowance;
}

/// The number of partial sums that LibTorch's own kernels for the CPU round to 16 bits before they
/// add them: for the image one for each tap, for the weight one for each image of a batch.
[[nodiscard]] Allowance kept_between(const OpView& op, Allowance allowance, double sums) {
  return op.on_cpu() ? kept_sums(std::move(allowance), sums) : allowance;
}

}  // namespace

Allowance matrix_product(const OpView& op, std::size_t) {
  const Factors factors = factors_of(op);
  const Shape& left = op.shape(factors.left);
  if (left.empty() || !op.has_tensor(factors.right)) return {};
  // Only one adds up over the batch too.
  const double batch = op.name() == "addbmm" ? static_cast<double>(left.front()) : 1;
  const double terms = batch * static_cast<double>(left.back());
  const double ulp = ulp_of_sum(terms);
  const double products =
      norm_of_products(op.largest(factors.left), op.largest_norm(factors.left, factors.left_kept),
                       op.largest(factors.right),
                       op.largest_norm(factors.right, factors.right_kept)) *
      std::abs(op.number("alpha", 1));
  const double added =
      factors.added.empty() ? 0 : op.largest(factors.added) * std::abs(op.number("beta", 1));
  const Allowance allowance{ulp, ulp, std::hypot(products, added),
                            sum_words(op, terms, "products")};
  if (op.name() == "addbmm") return kept_sums(allowance, batch);
  if (op.on_gpu()) return kept_sums(allowance, 1);  // products and what they are added to
  return op.name() == "linear" ? added_late(allowance, added) : allowance;
}

Allowance convolution(const OpView& op, std::size_t) {
  Allowance allowance = windowed(op, convolved_image(op), !is_transposed(op));
  const double bias = op.largest("bias");
  allowance.scale = std::hypot(allowance.scale, bias);
  return added_late(allowance, bias);
}

Allowance convolution_backward(const OpView& op, std::size_t result) {
  constexpr std::string_view kGradient = "grad_output";
  if (result == 0)
    return kept_between(op, windowed(op, kGradient, is_transposed(op)),
                        product(op.shape("weight"), 2));
  const Shape& gradient = op.shape(kGradient);
  if (gradient.size() < 2) return {};
  const bool of_weight = result == 1;
  // Every place of the image that the weights were laid on; of a transposed one, its input's.
  const Shape& places = of_weight && is_transposed(op) ? op.shape(convolved_image(op)) : gradient;
  const double batch = static_cast<double>(places[0]);
  const double terms = batch * product(places, 2);
  const double ulp = ulp_of_sum(terms);
  if (!of_weight)
    return {ulp, ulp, op.size_of_sum(kGradient, {1}), sum_words(op, terms, "numbers")};
  const std::string_view image = convolved_image(op);
  const double scale = norm_of_products(op.largest(image), op.largest_norm(image, {1}),
                                        op.largest(kGradient), op.largest_norm(kGradient, {1}));
  return kept_between(
      op, maybe_by_transform(op, {ulp, ulp, scale, sum_words(op, terms, "products")}), batch);
}

/// Sums of products of three numbers, each of which is expanded (`expand1` and so on) before they
/// are summed over `sumdim`.
Allowance trilinear(const OpView& op, std::size_t) {
  struct Factor {
    std::string_view name;
    std::string_view expanded;
  };
  double largest = 1;
  std::vector<double> sizes;
  for (const Factor& factor : {Factor{"i1", "expand1"}, {"i2", "expand2"}, {"i3", "expand3"}}) {
    largest *= op.largest(factor.name);
    const std::vector<std::int64_t> added = op.list(factor.expanded);
    const Shape& shape = op.shape(factor.name);
    sizes.resize(std::max(sizes.size(), shape.size() + added.size()), 1);
    std::size_t own = 0;
    for (std::size_t d = 0; d < sizes.size() && own < shape.size(); ++d)
      if (std::find(added.begin(), added.end(), static_cast<std::int64_t>(d)) == added.end())
        sizes[d] = std::max(sizes[d], static_cast<double>(shape[own++]));
  }
  double terms = 1;
  for (const std::int64_t d : op.list("sumdim"))
    if (d >= 0 && static_cast<std::size_t>(d) < sizes.size())
      terms *= sizes[static_cast<std::size_t>(d)];
  const double ulp = ulp_of_sum(terms);
  return kept_sums({ulp, ulp, largest * std::sqrt(terms), sum_words(op, terms, "products")}, 1);
}

}  // namespace ulpscope::comparison::budget
