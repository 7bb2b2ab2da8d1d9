#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ulpscope/replay.hpp"
#include "ulpscope/replay_report.hpp"

namespace ulpscope::comparison::experiment {

/// An op's results in row-major order.
using Results = std::vector<ReplayTensor>;

[[nodiscard]] bool same_bits(const Results& a, const Results& b);

/// The first rows of those whose flag has_rows is set, without the others.
[[nodiscard]] Results first_rows(Results results, std::int64_t rows);

/// How far floating-point results are from `truth`, the same in float64; empty if there are none,
/// or if they cannot be compared.
[[nodiscard]] std::optional<TrueDistance> true_distance(const Results& results,
                                                        const Results& truth);

/// "2,326 of 73,728 elements, by up to 118 ULP": how results differ; empty if dtypes or shapes do.
[[nodiscard]] std::string difference_words(const Results& a, const Results& b);

}  // namespace ulpscope::comparison::experiment
