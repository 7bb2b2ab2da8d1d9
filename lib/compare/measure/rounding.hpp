#pragma once

#include "ulpscope/dtype.hpp"

/// What rounding is in each dtype, and how far it can lead.
namespace ulpscope::comparison {

/// The finite numbers of a dtype; zeros and infinity for one that is not rounded.
struct Grain {
  double eps = 0;       ///< from 1 to the next number
  double smallest = 0;  ///< above 0
  double largest = 0;   ///< of all
};
[[nodiscard]] Grain grain_of(Dtype dtype) noexcept;

/// False for integers and bool, and for eight-bit floats, which are stored and not computed in.
[[nodiscard]] bool is_rounded(Dtype dtype) noexcept;

/// Of the dtype that an op computes in: results of 16 bits are rounded from float32.
[[nodiscard]] double computing_eps(Dtype dtype) noexcept;

/// How many roundings lie between two numbers and the same ones computed in a different order. A
/// sum of n numbers is off by at most n u of the sum of their sizes, u being half of eps (Higham,
/// "Accuracy and Stability of Numerical Algorithms", 2nd edition, section 4.2); two of them are
/// apart by at most n eps.
namespace roundings {
inline constexpr double kOneOp = 8;            ///< an op of a few numbers
inline constexpr double kFewTerms = 64;        ///< a sum of what falls on one place
inline constexpr double kOneBatch = 1024;      ///< a sum over the samples of a batch
inline constexpr double kWholeProgram = 8192;  ///< what later code makes of such sums
}  // namespace roundings

/// How far two values of a dtype may be apart after so many roundings, relative to the largest
/// number. A dtype that is not rounded holds what was computed in float32.
[[nodiscard]] double rounding_distance(Dtype dtype, double times) noexcept;

}  // namespace ulpscope::comparison
