#include "cli/check/rates.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <cmath>

namespace ulpscope::cli {
namespace {

constexpr double kConfidence = 0.95;

}  // namespace

Rate rate(std::uint64_t seen, std::uint64_t runs) {
  using Binomial = boost::math::binomial_distribution<>;
  const auto n = static_cast<double>(runs);
  const auto k = static_cast<double>(seen);
  constexpr double kEachSide = (1 - kConfidence) / 2;
  return {seen, runs, Binomial::find_lower_bound_on_p(n, k, kEachSide),
          Binomial::find_upper_bound_on_p(n, k, kEachSide)};
}

double missed(std::uint64_t one_in, std::uint64_t runs) {
  return std::pow(1 - 1 / static_cast<double>(one_in), static_cast<double>(runs));
}

std::uint64_t runs_to_see(double share) {
  if (share >= 1) return 1;
  return static_cast<std::uint64_t>(std::ceil(std::log1p(-kConfidence) / std::log1p(-share)));
}

}  // namespace ulpscope::cli
