#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/cpu_level.hpp"
#include "ulpscope/dtype.hpp"
#include "ulpscope/statistics.hpp"

/// Counting and summing over a value, compiled once per instruction set. All levels produce the
/// same bits: element i is added to column i modulo kStatisticsColumns of its block, blocks follow
/// each other, and the columns are summed in order at the end.
namespace ulpscope::core {

inline constexpr std::size_t kStatisticsColumns = 32;  // fewer would not be vectorized
inline constexpr std::size_t kStatisticsBlock = 1024;  // elements

struct StatisticsTotals {
  alignas(64) std::array<double, kStatisticsColumns> sum{};     // of the finite elements
  alignas(64) std::array<double, kStatisticsColumns> square{};  // likewise
  double min = std::numeric_limits<double>::infinity();         // of those that are not NaN
  double max = -std::numeric_limits<double>::infinity();
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t zero = 0;
  std::uint64_t subnormal = 0;
};

using StatisticsKernel = void (*)(const std::byte* bytes, std::size_t numbers,
                                  StatisticsTotals& totals) noexcept;

/// The kernel for the numbers of `dtype`: its elements, or the parts of a complex one. Dtypes
/// without whole-byte elements are counted by their bytes.
[[nodiscard]] StatisticsKernel statistics_kernel_Baseline(Dtype dtype) noexcept;
[[nodiscard]] StatisticsKernel statistics_kernel_Avx2(Dtype dtype) noexcept;
[[nodiscard]] StatisticsKernel statistics_kernel_Avx512(Dtype dtype) noexcept;

/// statistics_of() with the kernels of one level, which must be supported.
[[nodiscard]] Statistics statistics_at(CpuLevel level, Dtype dtype,
                                       std::span<const std::byte> bytes);

}  // namespace ulpscope::core
