#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// What a few runs say about all runs. The intervals are exact (C. J. Clopper and E. S. Pearson,
/// "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika
/// 26, 1934), computed by Boost.Math.
namespace ulpscope::cli {

/// The share of runs in which something happens, with its 95 % confidence interval.
struct Rate {
  std::uint64_t seen = 0;
  std::uint64_t runs = 0;
  double low = 0;   ///< of 1
  double high = 1;  ///< of 1
};
/// @param runs at least 1.
[[nodiscard]] Rate rate(std::uint64_t seen, std::uint64_t runs);

/// The probability that something that happens in one run of `one_in` happens in none of `runs`.
[[nodiscard]] double missed(std::uint64_t one_in, std::uint64_t runs);

/// How many runs it takes to see something at least once with a probability of 95 %.
/// @param share of the runs in which it happens, more than 0 and at most 1.
[[nodiscard]] std::uint64_t runs_to_see(double share);

/// How runs are distributed over their results.
enum class Distribution : std::uint8_t {
  unclear,     ///< too few runs, or neither of these
  bimodal,     ///< two results, and each came back
  multimodal,  ///< a few results, and each came back
  spread,      ///< more than half of the runs have a result of their own
};
/// @param runs how many runs gave each result.
[[nodiscard]] Distribution distribution(const std::vector<std::size_t>& runs);
[[nodiscard]] std::string_view name(Distribution distribution) noexcept;

/// An estimate of the probability that one more run gives a result that none has given: the share
/// of results that came once (I. J. Good, "The population frequencies of species and the estimation
/// of population parameters", Biometrika 40, 1953).
/// @param runs how many runs gave each result, at least one of them.
[[nodiscard]] double new_result(const std::vector<std::size_t>& runs);

}  // namespace ulpscope::cli
