#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "device/comparison.hpp"
#include "device/gather.hpp"
#include "device/numbers.hpp"

namespace ulpscope::device {

ULPSCOPE_HOST_DEVICE inline std::uint64_t logical_place(const LogicalOrder& order,
                                                        std::uint64_t packed) {
  if (order.count == 0) return packed;
  std::uint64_t place = 0;
  for (std::uint32_t i = 0; i < order.count; ++i) {
    const LogicalOrder::Dimension& dimension = order.dimensions[i];
    const std::uint64_t steps = dimension.packed_stride.quotient(packed);
    const std::uint64_t turns = dimension.size.quotient(steps);
    place += (steps - turns * dimension.size.value()) * dimension.logical_stride;
  }
  return place;
}

/// -1, 0, 1: whether `a` is less bad, as bad or worse, regardless of their positions.
ULPSCOPE_HOST_DEVICE inline int compare_badness(const Worst& a, const Worst& b) {
  if (a.severity != b.severity) return a.severity < b.severity ? -1 : 1;
  if (a.size != b.size) return a.size < b.size ? -1 : 1;
  return 0;
}

/// Keeps the worse of two elements.
ULPSCOPE_HOST_DEVICE inline void keep_worse(Worst& worst, const Worst& other) {
  const int badness = compare_badness(other, worst);
  if (badness > 0 || (badness == 0 && other.logical < worst.logical)) worst = other;
}

ULPSCOPE_HOST_DEVICE inline unsigned bit_width(std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  return 64U - static_cast<unsigned>(__clzll(static_cast<long long>(value)));
#else
  return static_cast<unsigned>(std::bit_width(value));
#endif
}

ULPSCOPE_HOST_DEVICE inline std::uint64_t bits_of(double value) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint64_t>(__double_as_longlong(value));
#else
  return std::bit_cast<std::uint64_t>(value);
#endif
}

/// What one thread finds in pairs of elements.
struct PairSums {
  std::uint64_t counts[kCounts] = {};
  std::uint64_t maxima[kMaxima] = {};
  SquareSum squares;  // of the current tile
  Worst worst;
};

/// Adds elements of `kParts` numbers to a thread's sums, and to histograms of the widths of
/// distances.
template <class Numbers, unsigned kParts>
class PairAdder {
 public:
  using Bits = typename Numbers::Bits;

  ULPSCOPE_HOST_DEVICE PairAdder(const Numbers& numbers, const LogicalOrder& order, PairSums& sums,
                                 std::uint32_t* widths)
      : numbers_(numbers), order_(order), sums_(sums), widths_(widths) {}

  /// The elements in the first `size` bytes of a pair of pieces, of which the first is at `packed`.
  ULPSCOPE_HOST_DEVICE void add_pieces(const Piece& reference, const Piece& candidate,
                                       unsigned size, std::uint64_t packed) {
    const unsigned count = size / (numbers_.size() * kParts);
    ULPSCOPE_KEEP_LOOP
    for (unsigned i = 0; i < count; ++i) {
      Element element;
      ULPSCOPE_UNROLL
      for (unsigned part = 0; part < kParts; ++part) {
        element.reference[part] = number_in(reference, i * kParts + part, numbers_);
        element.candidate[part] = number_in(candidate, i * kParts + part, numbers_);
      }
      add(element, packed + i);
    }
  }

 private:
  struct Element {
    Bits reference[kParts];
    Bits candidate[kParts];
  };

  ULPSCOPE_HOST_DEVICE void add(const Element& element, std::uint64_t packed) {
    bool differs = false;
    ULPSCOPE_UNROLL
    for (unsigned part = 0; part < kParts; ++part)
      differs = differs || element.reference[part] != element.candidate[part];
    bool nan = false;
    bool infinite = false;
    if constexpr (Numbers::kIsFloat) {
      classify(element.reference, 0, nan, infinite);
      if (differs) {
        classify(element.candidate, 1, nan, infinite);
      } else {
        copy_classes(element.reference);
      }
    }
    find_reference_max(element.reference);
    sums_.counts[kWithoutDistance] += nan ? 1 : 0;
    sums_.counts[kNotFinite] += nan || infinite ? 1 : 0;
    if (!differs) return;

    sums_.counts[kDiffering] += 1;
    ULPSCOPE_UNROLL
    for (unsigned part = 0; part < kParts; ++part)
      sums_.counts[kBitsSum] +=
          std::uint64_t{element.reference[part]} - std::uint64_t{element.candidate[part]};
    if (!nan) add_distance(element, infinite);
    find_worst(element, packed);
  }

  /// Counts the classes of one side's element.
  ULPSCOPE_HOST_DEVICE void classify(const Bits (&parts)[kParts], unsigned side, bool& nan,
                                     bool& infinite) {
    const Classes classes = classes_of(parts);
    sums_.counts[kNanReference + side] += classes.nan ? 1 : 0;
    sums_.counts[kInfiniteReference + side] += classes.infinite ? 1 : 0;
    sums_.counts[kSubnormalReference + side] += classes.subnormal ? 1 : 0;
    nan = nan || classes.nan;
    infinite = infinite || classes.infinite;
  }
  /// Of a candidate that is the reference.
  ULPSCOPE_HOST_DEVICE void copy_classes(const Bits (&parts)[kParts]) {
    const Classes classes = classes_of(parts);
    sums_.counts[kNanCandidate] += classes.nan ? 1 : 0;
    sums_.counts[kInfiniteCandidate] += classes.infinite ? 1 : 0;
    sums_.counts[kSubnormalCandidate] += classes.subnormal ? 1 : 0;
  }

  struct Classes {
    bool nan = false;
    bool infinite = false;
    bool subnormal = false;
  };
  ULPSCOPE_HOST_DEVICE Classes classes_of(const Bits (&parts)[kParts]) const {
    Classes classes;
    ULPSCOPE_UNROLL
    for (unsigned part = 0; part < kParts; ++part) {
      classes.nan = classes.nan || numbers_.is_nan(parts[part]);
      classes.infinite = classes.infinite || numbers_.is_infinite(parts[part]);
      classes.subnormal = classes.subnormal || numbers_.is_subnormal(parts[part]);
    }
    return classes;
  }

  ULPSCOPE_HOST_DEVICE void find_reference_max(const Bits (&parts)[kParts]) {
    ULPSCOPE_UNROLL
    for (unsigned part = 0; part < kParts; ++part) {
      if (!numbers_.is_finite(parts[part])) continue;
      const std::uint64_t size = numbers_.magnitude(parts[part]);
      if (size > sums_.maxima[kReferenceMax]) sums_.maxima[kReferenceMax] = size;
    }
  }

  ULPSCOPE_HOST_DEVICE double size_of_difference(Bits reference, Bits candidate) const {
    if constexpr (Numbers::kIsFloat) {
      const double difference = numbers_.value(reference) - numbers_.value(candidate);
      return difference < 0 ? -difference : difference;
    } else {
      return static_cast<double>(numbers_.distance(reference, candidate));
    }
  }

  ULPSCOPE_HOST_DEVICE void add_distance(const Element& element, bool infinite) {
    std::uint64_t furthest = 0;
    double size = 0;
    bool flipped = false;
    ULPSCOPE_UNROLL
    for (unsigned part = 0; part < kParts; ++part) {
      const Bits left = element.reference[part];
      const Bits right = element.candidate[part];
      const std::uint64_t distance = numbers_.distance(left, right);
      furthest = distance > furthest ? distance : furthest;
      flipped = flipped || (distance == 0 && left != right);
      if (infinite) continue;
      const double part_size = size_of_difference(left, right);
      size = part_size > size ? part_size : size;
    }
    sums_.counts[kDifferingWithDistance] += 1;
    sums_.counts[kSignedZero] += flipped ? 1 : 0;
    sums_.counts[kDistanceLow] += furthest & 0xffffffff;
    sums_.counts[kDistanceHigh] += furthest >> 32;
    if (furthest > sums_.maxima[kDistanceMax]) sums_.maxima[kDistanceMax] = furthest;
    if (furthest > 0) add_atomically(widths_ + bit_width(furthest), 1);
    if (infinite) return;
    sums_.squares.template add<Numbers::kIsFloat && Numbers::kSize == 8>(size);
    const std::uint64_t bits = bits_of(size);
    if (bits > sums_.maxima[kAbsoluteMax]) sums_.maxima[kAbsoluteMax] = bits;
  }

  /// How bad the difference of two parts is.
  ULPSCOPE_HOST_DEVICE Worst badness_of(Bits left, Bits right) const {
    Worst part;
    if (left == right) return part;
    if constexpr (Numbers::kIsFloat) {
      const bool left_nan = numbers_.is_nan(left);
      const bool right_nan = numbers_.is_nan(right);
      if (left_nan || right_nan) {
        part.severity =
            left_nan && right_nan ? core::Severity::nan_payload : core::Severity::nan_appeared;
      } else if (numbers_.is_infinite(left) || numbers_.is_infinite(right)) {
        part.severity = core::Severity::infinite;
      } else {
        part.severity = core::Severity::finite;
        part.size = bits_of(size_of_difference(left, right));
      }
    } else {
      part.severity = core::Severity::finite;
      part.size = numbers_.distance(left, right);
    }
    return part;
  }

  ULPSCOPE_HOST_DEVICE void find_worst(const Element& element, std::uint64_t packed) {
    Worst found;
    ULPSCOPE_UNROLL
    for (unsigned part = 0; part < kParts; ++part) {
      Worst of_part = badness_of(element.reference[part], element.candidate[part]);
      of_part.part = static_cast<std::uint8_t>(part);
      if (compare_badness(of_part, found) > 0) found = of_part;
    }
    const int badness = compare_badness(found, sums_.worst);
    // Elements come in packed order, if that is the logical one.
    if (badness < 0 || (badness == 0 && order_.count == 0)) return;
    found.packed = packed;
    found.logical = logical_place(order_, packed);
    if (badness == 0 && found.logical >= sums_.worst.logical) return;
    sums_.worst = found;
  }

  const Numbers& numbers_;
  const LogicalOrder& order_;
  PairSums& sums_;
  std::uint32_t* widths_;
};

}  // namespace ulpscope::device
