#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ulpscope/dtype.hpp"

namespace ulpscope {

/// Counts of one kind of element in both values.
struct ClassCount {
  std::uint64_t reference = 0;
  std::uint64_t candidate = 0;
};

/// One bin of the ULP histogram: `count` elements whose distance is at least `lower_bound` and
/// below the next bin (0, 1, 2, 4, 8, ... as powers of two).
struct HistogramBin {
  std::uint64_t lower_bound = 0;
  std::uint64_t count = 0;
};

/// The element with the largest |difference| (a NaN against a number first), the lowest index on
/// ties. Numbers as float64; `bits` are the elements' bytes as unsigned integers, most significant
/// first, for complex the larger part's.
struct WorstElement {
  std::vector<std::int64_t> index;
  std::string reference;  ///< shortest decimal that reads back in the value's dtype; "nan", "inf"
  std::string candidate;
  std::array<std::uint64_t, 2> bits{};
  std::size_t bit_width = 0;
};

/// One run's result against the op replayed in float64 on the inputs that this run had.
struct OwnBudget {
  bool inside = false;
  std::optional<double> used;  ///< as in Budget
};

/// What the order of additions, fused operations and the choice of a library's functions can change
/// (lib/compare/measure/BUDGET.md). Judged by |d| relative to the size of the sum's terms, not by
/// ULP, which mean nothing if a sum cancels.
struct Budget {
  double ulp = 0;  ///< of the size of the sum's terms; 0: no bit may differ
  bool inside = false;
  std::string why;             ///< "sum of 4608 float32 products"
  std::optional<double> used;  ///< the largest share of it that an element takes; empty if it
                               ///< has no share: the budget is 0, or a NaN or infinity differs
  std::optional<std::array<OwnBudget, 2>> own;  ///< reference and candidate, if the op was replayed
};

/// On which indices of one dimension elements differ in their bits: of samples, channels, rows.
struct AxisDifference {
  std::uint64_t size = 0;              ///< of the dimension; 1 of an expanded one
  std::uint64_t differing = 0;         ///< indices with at least one element that differs
  std::vector<std::uint64_t> indices;  ///< the first 8 of them
};

/// How far two values of one dtype and shape are apart, exactly as shared by every renderer.
///
/// ULP distance counts steps on the dtype's lattice with -0 and +0 the same point; a NaN has no
/// distance; integers and bool use |a-b|; complex the larger part, for |d| as well. `ulp_mean` is
/// over differing elements that have a distance, `absolute_rms` over all elements that are finite
/// in both. `scaled_max` is max|d| / max|reference|, the latter over finite numbers, empty if that
/// is 0. A complex element is NaN, infinite or subnormal if one of its parts is.
struct Difference {
  std::uint64_t elements = 0;
  std::uint64_t differing = 0;  ///< elements whose bits differ
  std::uint64_t ulp_max = 0;
  double ulp_mean = 0;
  std::vector<HistogramBin> histogram;  ///< empty bins left out
  double absolute_max = 0;              ///< over elements that are finite in both
  double absolute_rms = 0;
  std::optional<double> scaled_max;
  std::optional<WorstElement> worst;  ///< empty if no bit differs
  ClassCount nan;
  ClassCount inf;
  ClassCount subnormal;
  std::uint64_t signed_zero = 0;  ///< elements that are zero in both with different signs
  /// The bits of all numbers have the same sum, as they do if one value has the other's numbers in
  /// a different order.
  bool sums_equal = true;
  std::optional<Budget> budget;  ///< empty if none was requested or none is known
  /// A dimension each; empty if that was not asked for, or for more than 256 MiB.
  std::vector<AxisDifference> axes;
};

/// Compares two packed values of `dtype` element by element. `strides` gives for each logical
/// dimension of `shape` its step in the packed bytes, in elements (so that channels-last values
/// report logical indices): see packed_strides(); none mean row-major order. Both values use the
/// same order. Elements of an expanded dimension (stride 0) count once. A dtype without a rule is
/// compared byte by byte.
///
/// @throws Error with ErrorCode::usage if the sizes do not fit shape and dtype.
[[nodiscard]] Difference difference(Dtype dtype, std::span<const std::int64_t> shape,
                                    std::span<const std::int64_t> strides,
                                    std::span<const std::byte> reference,
                                    std::span<const std::byte> candidate);

/// difference() of values that are not in memory as a whole: the same result, from pieces in their
/// packed order.
///
///   DifferenceStream stream(dtype, shape, strides);
///   do
///     for (...) stream.update(piece of the reference, piece of the candidate);
///   while (stream.again());
///   use(stream.finish());
class DifferenceStream {
 public:
  /// Pieces are multiples of this many bytes, the last one aside.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 14;

  /// @throws Error with ErrorCode::usage if strides and shape do not fit.
  DifferenceStream(Dtype dtype, std::span<const std::int64_t> shape,
                   std::span<const std::int64_t> strides);
  DifferenceStream(const DifferenceStream&) = delete;
  DifferenceStream& operator=(const DifferenceStream&) = delete;
  ~DifferenceStream();

  /// @throws Error with ErrorCode::usage if the pieces are not of one size or go beyond the shape.
  void update(std::span<const std::byte> reference, std::span<const std::byte> candidate);
  /// Call after all bytes. True if they are needed once more, for squares that exceed float64's
  /// range.
  [[nodiscard]] bool again();
  /// @throws Error with ErrorCode::usage if bytes are missing.
  [[nodiscard]] Difference finish() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace ulpscope
