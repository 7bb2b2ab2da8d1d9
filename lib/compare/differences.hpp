#pragma once

#include <cstdint>
#include <optional>

#include "compare/evidence.hpp"
#include "compare/side.hpp"
#include "compare/tensor_bytes.hpp"
#include "compare/tolerance.hpp"

namespace ulpscope::comparison {

/// Reads the bytes behind the differing tensors of a finding and enters how far they are apart and
/// what the numbers show, and whether that is inside the tolerance. Gives the number of tensors
/// whose bytes are not in both dumps.
std::uint64_t measure(Record& record, const Both<const Run*>& runs, const Tolerance& tolerance);

/// How far sums of the same numbers in another order may be apart, relative to the largest.
inline constexpr double kAccumulated = 1e-4;

/// candidate / reference where that is one number for all elements, and not 1, give or take
/// `tolerance` of the largest.
[[nodiscard]] std::optional<double> constant_ratio(const TensorBytes& tensor, double tolerance);

}  // namespace ulpscope::comparison
