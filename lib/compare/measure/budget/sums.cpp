#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compare/measure/budget/models.hpp"

namespace ulpscope::comparison::budget {
namespace {

/// How many elements of `argument` go into one of the result.
[[nodiscard]] double terms_of(const OpView& op, std::string_view argument) {
  return std::max(op.elements(argument) / std::max(op.result_elements(), 1.0), 1.0);
}

[[nodiscard]] std::vector<std::size_t> kept_by_reduction(const OpView& op,
                                                         std::string_view argument) {
  const std::vector<std::int64_t> dimensions = op.list("dim");
  if (dimensions.empty()) return {};
  return all_but(dimensions, op.shape(argument).size());
}

/// Whose partial sums of 16 bits may be rounded to their dtype.
[[nodiscard]] Allowance summed(const OpView& op, double terms, double scale) {
  const double ulp = ulp_of_sum(terms);
  return kept_sums({ulp, ulp, scale, sum_words(op, terms, "numbers")}, terms);
}

[[nodiscard]] std::string_view first_tensor(const OpView& op) {
  return op.has_tensor("self") ? "self" : "input";
}

}  // namespace

Allowance kept_sums(Allowance allowance, double sums) {
  // A sum that has grown large swallows its terms, and equal terms are rounded alike: many of its
  // roundings may then have one direction.
  allowance.kept_relative = (1 + std::sqrt(sums) + sums / 4) / 2;
  allowance.kept_size = allowance.kept_relative * allowance.scale;
  return allowance;
}

double ulp_of_sum(double terms) { return 2 * (2 + std::sqrt(std::max(terms, 1.0))); }

std::vector<std::size_t> all_but(const std::vector<std::int64_t>& dimensions, std::size_t rank) {
  std::vector<std::size_t> kept;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto from_end = static_cast<std::int64_t>(d) - static_cast<std::int64_t>(rank);
    const bool reduced = std::any_of(dimensions.begin(), dimensions.end(), [&](std::int64_t one) {
      return one == static_cast<std::int64_t>(d) || one == from_end;
    });
    if (!reduced) kept.push_back(d);
  }
  return kept;
}

std::string sum_words(const OpView& op, double terms, std::string_view what) {
  return fmt::format("sum of {:.0f} {} {}", terms, op.dtype_name(), what);
}

Allowance sum(const OpView& op, std::size_t) {
  const std::string_view argument = first_tensor(op);
  const double terms = terms_of(op, argument);
  const double ulp = ulp_of_sum(terms);
  return {ulp, ulp, op.size_of_sum(argument, kept_by_reduction(op, argument)),
          sum_words(op, terms, "numbers")};
}

Allowance mean(const OpView& op, std::size_t result) {
  Allowance allowance = sum(op, result);
  allowance.scale /= terms_of(op, first_tensor(op));
  return allowance;
}

Allowance cumulative_sum(const OpView& op, std::size_t) {
  const auto& shape = op.shape("self");
  const auto dimension = static_cast<std::int64_t>(op.number("dim", 0));
  const std::vector<std::size_t> kept = all_but({dimension}, shape.size());
  double terms = 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (std::find(kept.begin(), kept.end(), d) == kept.end()) terms = static_cast<double>(shape[d]);
  const double ulp = ulp_of_sum(terms);
  return kept_sums({ulp, ulp, op.size_of_sum("self", kept), sum_words(op, terms, "numbers")},
                   terms);
}

/// Terms of one sign do not cancel: the error follows the result.
Allowance positive_sum(const OpView& op, std::size_t) {
  const double terms = terms_of(op, first_tensor(op));
  return {2 + ulp_of_sum(terms), 0, 0, sum_words(op, terms, "numbers of one sign")};
}

/// The same, of terms that are themselves differences of numbers of the size of the input.
Allowance margin_loss(const OpView& op, std::size_t result) {
  Allowance allowance = positive_sum(op, result);
  allowance.absolute = 4;
  allowance.scale = op.largest(first_tensor(op));
  return allowance;
}

Allowance nll_loss(const OpView& op, std::size_t result) {
  if (result != 0) return {4, 0, 0, "sum of weights"};
  const double terms = std::max(op.elements("target") / std::max(op.result_elements(), 1.0), 1.0);
  return summed(op, terms, op.largest("self") / std::sqrt(terms));
}

Allowance pooling(const OpView& op, std::size_t) {
  const auto kernel = op.list("kernel_size");
  const double of_kernel = std::accumulate(
      kernel.begin(), kernel.end(), 1.0,
      [](double product, std::int64_t size) { return product * static_cast<double>(size); });
  const double terms = kernel.empty() ? terms_of(op, first_tensor(op)) : of_kernel;
  return summed(op, terms, op.largest(first_tensor(op)) / std::sqrt(terms));
}

/// What overlapping windows give to one element is added up.
Allowance pooling_backward(const OpView& op, std::size_t) {
  const auto kernel = op.list("kernel_size");
  const double terms = std::accumulate(
      kernel.begin(), kernel.end(), 1.0,
      [](double product, std::int64_t size) { return product * static_cast<double>(size); });
  return summed(op, terms, op.largest("grad_output") * std::sqrt(terms));
}

/// Sums, means or largest of as many rows as a bag holds: all of them at most.
Allowance bag_of_rows(const OpView& op, std::size_t) {
  const double rows = op.elements("indices");
  const double ulp = ulp_of_sum(rows);
  const double weight = op.has_tensor("per_sample_weights") ? op.largest("per_sample_weights") : 1;
  return {ulp, ulp, op.largest("weight") * weight * std::sqrt(rows), sum_words(op, rows, "rows")};
}

/// A fast transform sums in log2(n) stages, each of which rounds numbers of the size of the 2-norm
/// of its input (Higham, Accuracy and Stability of Numerical Algorithms, 24.1). Normalization is 0:
/// none, 1: by the root of n, 2: by n.
Allowance fourier(const OpView& op, std::size_t) {
  const auto& shape = op.shape("self");
  const std::vector<std::int64_t> dimensions = op.list("dim");
  double n = 1;
  for (const std::int64_t dimension : dimensions)
    if (dimension >= 0 && static_cast<std::size_t>(dimension) < shape.size())
      n *= static_cast<double>(shape[static_cast<std::size_t>(dimension)]);
  const bool half = op.name() == "_fft_c2r";  // of the spectrum; the other half is its mirror
  if (half) n *= 2;
  const double mode = op.number("normalization", 0);
  const double by = mode == 2 ? n : mode == 1 ? std::sqrt(n) : 1;
  const double norm = op.largest_norm("self", all_but(dimensions, shape.size()));
  return {4, 4 + 2 * std::log2(std::max(n, 2.0)), (half ? std::sqrt(2.0) : 1) * norm / by,
          fmt::format("Fourier transform of {:.0f} {} numbers", n, op.dtype_name())};
}

/// Numbers that are added up where they came from one: as many as all of them over those, rounded
/// up in each dimension.
Allowance gathered_rows(const OpView& op, std::size_t) {
  const std::string_view gradient = op.has_tensor("grad_output") ? "grad_output"
                                    : op.has_tensor("grad_in")   ? "grad_in"
                                                                 : "self";
  const double terms = 4 * std::ceil(op.elements(gradient) / std::max(op.result_elements(), 1.0));
  return summed(op, terms, op.largest(gradient) * std::sqrt(terms));
}

/// A corner gets what all sides next to it were padded with.
Allowance padding_backward(const OpView& op, std::size_t) {
  double terms = 1;
  const std::vector<std::int64_t> sides = op.list("padding");
  for (std::size_t side = 0; side + 1 < sides.size(); side += 2)
    terms *= 1 + static_cast<double>(std::max({sides[side], sides[side + 1], std::int64_t{0}}));
  return summed(op, terms, op.largest("grad_output") * std::sqrt(terms));
}

/// Each factor rounds the product once; a cumulative one has a whole dimension of them.
Allowance product(const OpView& op, std::size_t) {
  const auto& shape = op.shape("self");
  const bool cumulative = op.result_elements() == op.elements("self") && !shape.empty();
  const double factors = cumulative
                             ? static_cast<double>(*std::max_element(shape.begin(), shape.end()))
                             : terms_of(op, "self");
  return kept_sums({2 + ulp_of_sum(factors), 0, 0,
                    fmt::format("product of {:.0f} {} numbers", factors, op.dtype_name())},
                   factors);
}

/// Rows that are added to the rows of a result by an index; how many go to one row is unknown.
Allowance accumulated_rows(const OpView& op, std::size_t) {
  if (op.text("accumulate") == "False") return exact(op, 0);
  for (const std::string_view rows : {"grad_output", "grad", "source", "src", "values"}) {
    if (!op.has_tensor(rows)) continue;
    const double terms = std::max(op.elements("indices") + op.elements("index"), 2.0);
    const auto& shape = op.shape(rows);
    const std::vector<std::size_t> kept = rows.starts_with("grad") && !shape.empty()
                                              ? std::vector{shape.size() - 1}
                                              : std::vector<std::size_t>{};
    const double ulp = ulp_of_sum(terms);
    const double weight =
        op.has_tensor("per_sample_weights") ? op.largest("per_sample_weights") : 1;
    return kept_sums({ulp, ulp, op.largest_norm(rows, kept) * weight + op.largest("self"),
                      fmt::format("sum of up to {:.0f} {} rows", terms, op.dtype_name())},
                     terms);
  }
  return {};
}

}  // namespace ulpscope::comparison::budget
