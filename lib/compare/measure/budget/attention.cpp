#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare/measure/budget/models.hpp"

namespace ulpscope::comparison::budget {
namespace {

/// Scores are sums over the width of a head, results sums over the keys.
struct AttentionSizes {
  double width = 1;
  double keys = 1;
  double queries = 1;
  double score_scale = 1;  ///< what the products are multiplied by
  double score_error = 0;  ///< ULP of 1 that a score, and so the exponent of a weight, can move
  std::vector<std::size_t> rows;  ///< all dimensions but the width
};

[[nodiscard]] AttentionSizes attention_sizes(const OpView& op) {
  AttentionSizes sizes;
  const auto& query = op.shape("query");
  const auto& key = op.shape("key");
  if (query.size() < 2 || key.size() < 2) return sizes;
  sizes.width = static_cast<double>(query.back());
  sizes.keys = static_cast<double>(key[key.size() - 2]);
  sizes.queries = static_cast<double>(query[query.size() - 2]);
  sizes.score_scale = op.number("scale", 1 / std::sqrt(sizes.width));
  sizes.rows = all_but({-1}, query.size());
  const double query_norm = op.largest_norm("query", sizes.rows);
  const double key_norm = op.largest_norm("key", sizes.rows);
  const double largest_score = query_norm * key_norm * sizes.score_scale;
  const double products =
      std::min(op.largest("query") * key_norm, query_norm * op.largest("key")) * sizes.score_scale;
  sizes.score_error = ulp_of_sum(sizes.width) * std::hypot(largest_score, products) + largest_score;
  return sizes;
}

[[nodiscard]] std::string attention_words(const OpView& op, const AttentionSizes& sizes) {
  return fmt::format("attention over {:.0f} keys of {:.0f} {} products", sizes.keys, sizes.width,
                     op.dtype_name());
}

/// ULP of the weighted values, relative to their largest size: the weights' and the sums'.
[[nodiscard]] double ulp_of_weighted(const AttentionSizes& sizes) {
  return 2 * sizes.score_error + 2 + ulp_of_sum(sizes.keys);
}

[[nodiscard]] bool reads_16_bits(const OpView& op) {
  const Dtype dtype = op.dtype("query");
  return dtype == Dtype::bfloat16 || dtype == Dtype::float16;
}

/// Of 16 bits, weights and gradients of scores are rounded to the dtype before they are multiplied.
[[nodiscard]] Allowance weighted(const OpView& op, const AttentionSizes& sizes, double ulp,
                                 double scale) {
  return {4, ulp, scale, attention_words(op, sizes), 0, scale};
}

}  // namespace

Allowance attention(const OpView& op, std::size_t result) {
  const AttentionSizes sizes = attention_sizes(op);
  if (result == 0) return weighted(op, sizes, ulp_of_weighted(sizes), op.largest("value"));
  // The logarithm of the sum of weights, which kernels for 16 bits sum in float32, but with an
  // exponential function that has 14 bits (LibTorch's fexp_u20).
  constexpr double kShortExponential = 0x1p-12 / 0x1p-23;
  const double ulp = sizes.score_error + ulp_of_sum(sizes.keys);
  return {4, ulp + (reads_16_bits(op) ? kShortExponential : 0), 1, attention_words(op, sizes)};
}

Allowance attention_backward(const OpView& op, std::size_t result) {
  const AttentionSizes sizes = attention_sizes(op);
  const std::string_view gradient = op.has_tensor("grad_out") ? "grad_out" : "grad_out_";
  const double ulp = ulp_of_weighted(sizes) + ulp_of_sum(sizes.width) + ulp_of_sum(sizes.queries);
  if (result == 2) return weighted(op, sizes, ulp, op.largest(gradient) * std::sqrt(sizes.queries));
  if (result == 3) {  // of the bias, which is added to the scores, in all rows that share it
    const double scores = op.elements("query") / sizes.width * sizes.keys;
    return weighted(op, sizes, ulp,
                    2 * op.largest_norm(gradient, sizes.rows) *
                        op.largest_norm("value", sizes.rows) *
                        std::sqrt(std::max(1.0, scores / std::max(1.0, op.result_elements()))));
  }
  const double score_gradient = 2 * op.largest_norm(gradient, sizes.rows) *
                                op.largest_norm("value", sizes.rows) * sizes.score_scale;
  const double scale = result == 0
                           ? score_gradient * op.largest("key")
                           : score_gradient * op.largest("query") * std::sqrt(sizes.queries);
  return weighted(op, sizes, ulp, scale);
}

}  // namespace ulpscope::comparison::budget
