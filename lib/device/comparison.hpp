#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/difference_kernel.hpp"
#include "device/batch.hpp"

/// Two values to compare as kernels read them, and the results.
namespace ulpscope::device {

/// Where packed elements are in logical order: see core::IndexMap.
struct LogicalOrder {
  struct Dimension {
    Divisor packed_stride;
    Divisor size;
    std::uint64_t logical_stride = 0;
  };
  static constexpr std::size_t kDimensions = 16;

  std::array<Dimension, kDimensions> dimensions;
  std::uint32_t count = 0;  // 0: packed order is logical order
};

/// The worst element so far: of the highest severity, then of the largest size, then the first in
/// logical order.
struct Worst {
  core::Severity severity = core::Severity::none;
  std::uint8_t part = 0;  // complex: 1 for the imaginary one
  std::uint64_t size = 0;
  std::uint64_t packed = 0;
  std::uint64_t logical = 0;
};

/// Counts of elements, and sums modulo 2^64.
enum Count : std::uint8_t {
  kNanReference,
  kNanCandidate,
  kInfiniteReference,
  kInfiniteCandidate,
  kSubnormalReference,
  kSubnormalCandidate,
  kSignedZero,
  kDiffering,
  kDifferingWithDistance,
  kWithoutDistance,
  kNotFinite,
  kBitsSum,
  kDistanceLow,   // of the lower 32 bits of distances
  kDistanceHigh,  // of the upper ones
  kCounts,
};

/// Largest of all elements, as bits that are in order.
enum Maximum : std::uint8_t { kDistanceMax, kAbsoluteMax, kReferenceMax, kMaxima };

inline constexpr unsigned kWidths = 65;  // bit widths of distances; bin 0 is not counted

/// The results for all elements. Numbers that do not depend on the order of additions equal core's.
struct DifferenceRecord {
  std::array<std::uint64_t, kCounts> counts;
  std::array<std::uint64_t, kMaxima> maxima;
  std::array<std::uint64_t, kWidths> widths;
  SquareSum squares;
  Worst worst;
  Piece worst_reference;  // its bytes
  Piece worst_candidate;
};

inline constexpr unsigned kCompareThreads = 256;
inline constexpr unsigned kTilePieces = 2048;  // of each value; one sum of squares per tile
inline constexpr unsigned kMostBlocks = 1056;

/// Scratch memory of a comparison, all 0 between two of them.
struct ComparisonScratch {
  std::uint32_t* arrivals = nullptr;
  DifferenceRecord* record = nullptr;
  Worst* worst = nullptr;        // of each block
  SquareSum* squares = nullptr;  // of each tile
  std::uint64_t tiles = 0;       // that there is space for

  [[nodiscard]] static std::size_t bytes_for(std::uint64_t packed_bytes) noexcept;
  [[nodiscard]] static ComparisonScratch in(std::span<std::byte> scratch) noexcept;
};

/// The kernel's parameter.
struct Comparison {
  static constexpr std::size_t kLoops = LogicalOrder::kDimensions;

  std::array<Item, 2> items;  // reference, candidate
  std::array<std::array<Loop, kLoops>, 2> loops;
  Dtype dtype = Dtype::undefined;
  std::uint64_t bytes = 0;  // of each value, packed
  std::uint64_t tiles = 0;
  LogicalOrder order;
  ComparisonScratch scratch;
  DifferenceRecord* result = nullptr;
};

/// Plans the comparison of two values whose packed elements correspond: of the same layout in
/// memory order, or of any layout in logical order. False if their sizes differ or exceed all
/// memory, if the bytes are not whole elements, or if a value has more than 16 dimensions that
/// matter.
[[nodiscard]] bool plan(const Value& reference, const Value& candidate,
                        Comparison& comparison) noexcept;

/// Blocks to share the tiles among; their number changes no result.
[[nodiscard]] std::uint32_t blocks_for(const Comparison& comparison) noexcept;

/// The result of a record for two values of that shape: see ulpscope::difference() for `strides`.
///
/// @throws Error with ErrorCode::usage if the sizes do not fit shape and dtype.
[[nodiscard]] Difference difference_from(const DifferenceRecord& record, Dtype dtype,
                                         std::span<const std::int64_t> shape,
                                         std::span<const std::int64_t> strides,
                                         std::uint64_t packed_bytes);

}  // namespace ulpscope::device
