#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/cpu_level.hpp"
#include "core/index_map.hpp"
#include "ulpscope/difference.hpp"
#include "ulpscope/dtype.hpp"

/// Counting how far two values are apart, compiled once per instruction set. All levels give the
/// same bits, sums of doubles included: they are added up in a fixed number of columns.
namespace ulpscope::core {

__extension__ typedef unsigned __int128 WideCount;

/// How bad a differing element is, mildest first.
enum class Severity : std::uint8_t {
  none,          ///< no element differs
  nan_payload,   ///< NaN in both, with different bits
  finite,        ///< both finite: `size` orders them
  infinite,      ///< an infinity on one side, or two with different signs
  nan_appeared,  ///< NaN on one side only
};

inline constexpr std::size_t kColumns = 32;

struct DifferenceTotals {
  std::uint64_t nan[2] = {0, 0};  // reference, candidate; elements of which a part is
  std::uint64_t infinite[2] = {0, 0};
  std::uint64_t subnormal[2] = {0, 0};
  std::uint64_t signed_zero = 0;
  std::uint64_t bits_sum = 0;  // of the reference less the candidate, modulo the numbers of a part
  std::uint64_t differing = 0;
  std::uint64_t differing_with_distance = 0;
  std::uint64_t distance_max = 0;
  WideCount distance_sum = 0;
  std::array<std::uint64_t, 65> histogram{};  // by bit width of the distance
  std::uint64_t finite = 0;                   // elements whose parts are finite in both
  double absolute_max = 0;
  double reference_max = 0;
  alignas(64) std::array<double, kColumns> square_sum{};

  Severity worst = Severity::none;
  std::uint64_t worst_size = 0;    // grows with |d| among elements of one severity
  std::uint64_t worst_packed = 0;  // where it is
  std::uint64_t worst_logical = 0;
  std::uint8_t worst_part = 0;  // complex: 1 for the imaginary part
};

/// Adds `elements` of two values, from the packed element `first` on. A value may be added in
/// pieces of whole kPieceElements, the last one aside.
using DifferenceKernel = void (*)(const std::byte* reference, const std::byte* candidate,
                                  std::uint64_t first, std::uint64_t elements, const IndexMap& map,
                                  DifferenceTotals& totals) noexcept;
inline constexpr std::size_t kPieceElements = 1024;

/// The kernel for `dtype` among those of one source file; null if it has none.
#define ULPSCOPE_DECLARE_KERNELS(level)                              \
  DifferenceKernel float_kernel_##level(Dtype dtype) noexcept;       \
  DifferenceKernel small_float_kernel_##level(Dtype dtype) noexcept; \
  DifferenceKernel integer_kernel_##level(Dtype dtype) noexcept;
ULPSCOPE_DECLARE_KERNELS(Baseline)
ULPSCOPE_DECLARE_KERNELS(Avx2)
ULPSCOPE_DECLARE_KERNELS(Avx512)
#undef ULPSCOPE_DECLARE_KERNELS

/// The kernel of one level, which must be supported, for a dtype.
[[nodiscard]] DifferenceKernel difference_kernel(CpuLevel level, Dtype dtype) noexcept;

/// Shape for walking the bytes: a dtype without a rule is compared byte by byte if an element is
/// not a whole number of bytes.
///
/// @throws Error with ErrorCode::usage if the sizes do not fit shape and dtype.
[[nodiscard]] IndexMap difference_map(Dtype dtype, std::span<const std::int64_t> shape,
                                      std::span<const std::int64_t> strides, std::uint64_t bytes);

/// The worst element's bytes in the reference and in the candidate.
using WorstBytes = std::array<std::array<std::byte, 16>, 2>;

/// What totals of all elements say.
[[nodiscard]] Difference difference_from(const DifferenceTotals& totals, Dtype dtype,
                                         const IndexMap& map, const WorstBytes& worst,
                                         double root_mean_square);

/// difference() with the kernels of one level, which must be supported.
[[nodiscard]] Difference difference_at(CpuLevel level, Dtype dtype,
                                       std::span<const std::int64_t> shape,
                                       std::span<const std::int64_t> strides,
                                       std::span<const std::byte> reference,
                                       std::span<const std::byte> candidate);

}  // namespace ulpscope::core
