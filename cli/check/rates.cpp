#include "cli/check/rates.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>

namespace ulpscope::cli {
namespace {

constexpr double kConfidence = 0.95;
constexpr std::size_t kFewestRuns = 4;

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

Distribution distribution(const std::vector<std::size_t>& runs) {
  if (std::accumulate(runs.begin(), runs.end(), std::size_t{0}) < kFewestRuns || runs.size() < 2)
    return Distribution::unclear;
  const double alone = new_result(runs);
  if (alone > 0.5) return Distribution::spread;
  if (alone > 0) return Distribution::unclear;
  return runs.size() == 2 ? Distribution::bimodal : Distribution::multimodal;
}

std::string_view name(Distribution distribution) noexcept {
  switch (distribution) {
    case Distribution::unclear:
      return "unclear";
    case Distribution::bimodal:
      return "bimodal";
    case Distribution::multimodal:
      return "multimodal";
    case Distribution::spread:
      return "spread";
  }
  return {};
}

double new_result(const std::vector<std::size_t>& runs) {
  const auto once = std::count(runs.begin(), runs.end(), std::size_t{1});
  const auto all = std::accumulate(runs.begin(), runs.end(), std::size_t{0});
  return static_cast<double>(once) / static_cast<double>(all);
}

}  // namespace ulpscope::cli
