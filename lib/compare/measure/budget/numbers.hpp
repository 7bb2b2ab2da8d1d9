#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison::budget {

/// The numbers of one recorded tensor; of a complex one the moduli. Expanded dimensions are one
/// element, which counts `copies` times.
struct Numbers {
  std::vector<double> values;         ///< in packed memory order
  std::vector<std::int64_t> shape;    ///< expanded dimensions as size 1
  std::vector<std::int64_t> strides;  ///< in `values`
  double copies = 1;
};

/// Empty if the run does not hold the bytes.
[[nodiscard]] std::optional<Numbers> numbers_of(const Run& run, std::uint32_t rank,
                                                const Slot& slot);

/// The same numbers with a dimension split in two: `parts` of it, and the elements of each;
/// unchanged if that leaves a remainder.
[[nodiscard]] Numbers split(Numbers numbers, std::size_t dimension, std::int64_t parts);

/// max |x| over finite numbers.
[[nodiscard]] double largest(const Numbers& numbers);

/// The largest 2-norm among the slices that have one index in each of the `kept` dimensions: with
/// {0} of a matrix its rows, with none the tensor as a whole.
[[nodiscard]] double largest_norm(const Numbers& numbers, const std::vector<std::size_t>& kept);

/// The largest |sum| of consecutive numbers in one such slice, in row-major order: how large a
/// partial sum gets if terms that finally cancel are far apart.
[[nodiscard]] double largest_run(const Numbers& numbers, const std::vector<std::size_t>& kept);

/// How a normalization sees its input, over all slices as above: with mean m and variance v, the
/// largest |x - m| / sqrt(v + eps) and the largest rms(x) / sqrt(v + eps).
struct Normalised {
  double largest = 0;
  double rms = 0;
  double largest_rstd = 0;  ///< 1 / sqrt(v + eps)
};
[[nodiscard]] Normalised normalised(const Numbers& numbers, const std::vector<std::size_t>& kept,
                                    double eps);

}  // namespace ulpscope::comparison::budget
