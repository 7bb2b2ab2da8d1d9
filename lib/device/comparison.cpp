#include "device/comparison.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "device/numbers.hpp"

namespace ulpscope::device {
namespace {

/// Dimensions of an element's index that are walked, outermost first.
[[nodiscard]] bool find_order(const Value& value, LogicalOrder& order) noexcept {
  const auto& [data, element_size, sizes, strides] = value.bytes;
  std::array<std::size_t, LogicalOrder::kDimensions> walked;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!core::is_walked(sizes[i], strides[i])) continue;
    if (count == walked.size()) return false;
    walked[count++] = i;
  }
  std::array<std::size_t, LogicalOrder::kDimensions> packed = walked;
  if (value.order == core::Order::memory)  // stable, as core::Walk sorts them
    for (std::size_t i = 1; i < count; ++i)
      for (std::size_t j = i; j > 0; --j) {
        if (std::abs(strides[packed[j - 1]]) >= std::abs(strides[packed[j]])) break;
        std::swap(packed[j - 1], packed[j]);
      }
  if (std::equal(walked.begin(), walked.begin() + count, packed.begin())) return true;

  std::uint64_t stride = 1;
  for (std::uint32_t i = count; i-- > 0;) {
    order.dimensions[i].logical_stride = stride;
    order.dimensions[i].size = Divisor(static_cast<std::uint64_t>(sizes[walked[i]]));
    stride *= static_cast<std::uint64_t>(sizes[walked[i]]);
  }
  stride = 1;
  for (std::uint32_t i = count; i-- > 0;) {
    const auto place = std::find(walked.begin(), walked.begin() + count, packed[i]);
    order.dimensions[static_cast<std::size_t>(place - walked.begin())].packed_stride =
        Divisor(stride);
    stride *= static_cast<std::uint64_t>(sizes[packed[i]]);
  }
  order.count = count;
  return true;
}

[[nodiscard]] constexpr std::size_t rounded_up(std::size_t bytes) noexcept {
  return (bytes + 15) / 16 * 16;
}

constexpr std::size_t kFixedScratch =
    16 + rounded_up(sizeof(DifferenceRecord)) + rounded_up(kMostBlocks * sizeof(Worst));

[[nodiscard]] std::uint64_t tiles_of(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kTileBytes = kTilePieces * sizeof(Piece);
  return (bytes + kTileBytes - 1) / kTileBytes;
}

}  // namespace

std::size_t ComparisonScratch::bytes_for(std::uint64_t packed_bytes) noexcept {
  return kFixedScratch + tiles_of(packed_bytes) * sizeof(SquareSum);
}

ComparisonScratch ComparisonScratch::in(std::span<std::byte> memory) noexcept {
  ComparisonScratch scratch;
  if (memory.size() < kFixedScratch) return scratch;
  std::byte* at = memory.data();
  scratch.arrivals = reinterpret_cast<std::uint32_t*>(at);
  at += 16;
  scratch.record = reinterpret_cast<DifferenceRecord*>(at);
  at += rounded_up(sizeof(DifferenceRecord));
  scratch.worst = reinterpret_cast<Worst*>(at);
  at += rounded_up(kMostBlocks * sizeof(Worst));
  scratch.squares = reinterpret_cast<SquareSum*>(at);
  scratch.tiles = (memory.size() - kFixedScratch) / sizeof(SquareSum);
  return scratch;
}

bool plan(const Value& reference, const Value& candidate, Comparison& comparison) noexcept {
  const Value* const values[] = {&reference, &candidate};
  for (std::size_t side = 0; side < 2; ++side) {
    const std::optional<Needs> needs = needs_of({values[side], 1});
    if (!needs || needs->loops > Comparison::kLoops) return false;
    plan({values[side], 1}, &comparison.items[side], comparison.loops[side].data());
  }
  comparison.dtype = reference.dtype;
  comparison.bytes = comparison.items[0].bytes;
  comparison.tiles = tiles_of(comparison.bytes);
  const std::size_t size = element_size(reference.dtype);
  // Values of a dtype without a rule are compared byte by byte.
  const bool has_order = size != 0 || reference.bytes.element_size == 1;
  return comparison.items[1].bytes == comparison.bytes && candidate.dtype == reference.dtype &&
         comparison.bytes % std::max<std::size_t>(size, 1) == 0 &&
         (size == 0 || size == reference.bytes.element_size) &&
         (!has_order || find_order(reference, comparison.order));
}

std::uint32_t blocks_for(const Comparison& comparison) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(comparison.tiles, 1, kMostBlocks));
}

Difference difference_from(const DifferenceRecord& record, Dtype dtype,
                           std::span<const std::int64_t> shape,
                           std::span<const std::int64_t> strides, std::uint64_t packed_bytes) {
  const core::IndexMap map = core::difference_map(dtype, shape, strides, packed_bytes);
  const auto& counts = record.counts;
  core::DifferenceTotals totals;
  for (std::size_t side = 0; side < 2; ++side) {
    totals.nan[side] = counts[kNanReference + side];
    totals.infinite[side] = counts[kInfiniteReference + side];
    totals.subnormal[side] = counts[kSubnormalReference + side];
  }
  totals.signed_zero = counts[kSignedZero];
  totals.bits_sum = counts[kBitsSum];
  totals.differing = counts[kDiffering];
  totals.differing_with_distance = counts[kDifferingWithDistance];
  totals.distance_max = record.maxima[kDistanceMax];
  totals.distance_sum = counts[kDistanceLow] + (core::WideCount{counts[kDistanceHigh]} << 32);
  totals.histogram[0] = map.elements() - counts[kWithoutDistance];
  for (std::size_t width = 1; width < kWidths; ++width) {
    totals.histogram[width] = record.widths[width];
    totals.histogram[0] -= record.widths[width];
  }
  totals.finite = map.elements() - counts[kNotFinite];
  totals.absolute_max = std::bit_cast<double>(record.maxima[kAbsoluteMax]);
  with_numbers(dtype, [&](auto numbers) {
    using Bits = typename decltype(numbers)::Bits;
    const auto largest = static_cast<Bits>(record.maxima[kReferenceMax]);
    if constexpr (decltype(numbers)::kIsFloat)
      totals.reference_max = numbers.value(largest);
    else
      totals.reference_max = static_cast<double>(largest);
  });
  totals.worst = record.worst.severity;
  totals.worst_size = record.worst.size;
  totals.worst_packed = record.worst.packed;
  totals.worst_logical = record.worst.logical;
  totals.worst_part = record.worst.part;
  core::WorstBytes worst;
  std::memcpy(worst[0].data(), &record.worst_reference, worst[0].size());
  std::memcpy(worst[1].data(), &record.worst_candidate, worst[1].size());
  const double root = totals.finite == 0 || totals.absolute_max == 0
                          ? 0
                          : record.squares.root(static_cast<double>(totals.finite));
  return core::difference_from(totals, dtype, map, worst, root);
}

}  // namespace ulpscope::device
