#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "compare/measure/budget/models.hpp"

namespace ulpscope::comparison::budget {
namespace {

/// Steps of a sequence that an alignment goes through.
[[nodiscard]] double steps(const OpView& op) {
  const auto& shape = op.shape("log_probs");
  return shape.empty() ? 1 : static_cast<double>(shape.front());
}

[[nodiscard]] std::string alignment_words(const OpView& op) {
  return fmt::format("alignments of {:.0f} steps, as logarithms", steps(op));
}

}  // namespace

/// max + log(sum), where the sum is one of positive numbers; cumulative ones go through a whole
/// dimension.
Allowance log_sum(const OpView& op, std::size_t) {
  const auto& shape = op.shape("self");
  std::int64_t dimension = op.integer("dim", -1);
  if (dimension < 0) dimension += static_cast<std::int64_t>(shape.size());
  const bool cumulative = op.result_elements() == op.elements("self");
  const bool known = dimension >= 0 && dimension < static_cast<std::int64_t>(shape.size());
  const double terms = cumulative && known
                           ? static_cast<double>(shape[static_cast<std::size_t>(dimension)])
                           : op.elements("self") / std::max(op.result_elements(), 1.0);
  Allowance allowance{
      4, 2 + ulp_of_sum(terms), 1,
      fmt::format("log of a sum of {:.0f} {} exponentials", terms, op.dtype_name())};
  if (!cumulative) return allowance;
  allowance = kept_sums(std::move(allowance), terms);
  allowance.kept_size *= std::max(op.largest("self"), 1.0);  // as large as a sum may have been
  return allowance;
}

/// Each step adds a log probability to the log of a sum of three: their roundings have the size of
/// what has been added up so far, at most the loss of the worst alignment.
Allowance ctc_loss(const OpView& op, std::size_t) {
  const double ulp = ulp_of_sum(3 * steps(op));
  return {ulp, ulp, op.largest("log_probs") * std::sqrt(steps(op)), alignment_words(op)};
}

/// exp of differences of such sums: their error is a relative error of the exponential.
Allowance ctc_loss_backward(const OpView& op, std::size_t) {
  const double loss = std::max(op.largest("neg_log_likelihood"), 1.0);
  return {8, ulp_of_sum(3 * steps(op)), op.largest("grad") * loss, alignment_words(op)};
}

}  // namespace ulpscope::comparison::budget
